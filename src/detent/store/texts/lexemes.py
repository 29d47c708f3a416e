"""Decoding many texts' lexemes from PostgreSQL: the binary form of its `tsvector`.

A vector is a count, followed for each lexeme by its bytes, a zero, the number of its positions, and the positions,
two bytes each. The end of a lexeme is only known once it is read. So the vectors are read side by side: the first
lexeme of all vectors in one operation, then the second of all that have one, and so on, each as fast in NumPy as a
single one.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

AT_ONCE = 1 << 22
"""Bytes of vectors that are read side by side."""

FEW = 16
"""Number of vectors up to which one after the other is faster than side by side."""

MOST_TIMES = 255
LONGEST = 65_535
"""Cap on the count of a term in a text, and on the length of a text in words."""


@dataclass(frozen=True)
class Occurrences:
    """The number of occurrences of each term in each text: one line per pair, unordered.

    `terms` has each term once; the lines have indexes into it, and the texts' positions in the input.
    """

    terms: list[bytes]
    term: Integers
    text: Integers
    times: Integers


def read(vectors: Sequence[bytes]) -> Occurrences:
    """Return all lexemes of these vectors."""
    numbers: defaultdict[bytes, int] = defaultdict(itertools.count().__next__)
    parts = [(np.zeros(0, np.int64),) * 3]
    for first, some in _portions(vectors):
        buffer = b"".join(some)
        text, start, end, times = _scan(buffer, np.array([len(vector) for vector in some]))
        named = (numbers[buffer[a:b]] for a, b in zip(start.tolist(), end.tolist(), strict=True))
        parts.append((np.fromiter(named, np.int64, len(start)), text + first, times))
    term, text, times = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Occurrences(list(numbers), term, text, times)


def used(terms: Sequence[bytes], term: Integers, text: Integers, times: Integers) -> Occurrences:
    """Return these lines, with only the terms that occur in them."""
    occurs = np.zeros(len(terms), np.bool_)
    occurs[term] = True
    numbers = np.cumsum(occurs) - 1
    return Occurrences([terms[number] for number in np.flatnonzero(occurs).tolist()], numbers[term], text, times)


@dataclass(frozen=True)
class Words:
    """The words of one text: the count of each, and the total."""

    times: Mapping[bytes, int]
    length: int


def words_of(vector: bytes) -> Words:
    """Return the lexemes of one vector."""
    lexemes = int.from_bytes(vector[:4])
    times = {vector[a:b]: min(max(many, 1), MOST_TIMES) for a, b, many in _rest(vector, 4, lexemes)}
    return Words(times, min(sum(times.values()), LONGEST))


def tally(vectors: Sequence[bytes], terms: Sequence[str]) -> tuple[Integers, Integers]:
    """Return the count of each of these terms in each vector's text, and the lengths of the texts."""
    times = np.zeros((len(vectors), len(terms)), np.int64)
    words = np.zeros(len(vectors), np.int64)
    for first, some in _portions(vectors):
        buffer = b"".join(some)
        text, start, end, many = _scan(buffer, np.array([len(vector) for vector in some]))
        for column, term in enumerate(terms):
            found = _that_are(term.encode(), buffer, start, end)
            times[text[found] + first, column] = many[found]
        words[first : first + len(some)] = lengths(text, many, len(some))
    return times, words


def _that_are(term: bytes, buffer: bytes, start: Integers, end: Integers) -> Integers:
    """Return True for each lexeme between these bounds that equals this term."""
    data = np.frombuffer(buffer, np.uint8)
    long = np.flatnonzero(end - start == len(term))
    same: npt.NDArray[np.bool_] = data[start[long][:, None] + np.arange(len(term))] == np.frombuffer(term, np.uint8)
    return long[np.all(same, axis=1)]


def lengths(text: Integers, times: Integers, texts: int) -> Integers:
    """Return the number of words of each text."""
    return np.minimum(np.bincount(text, times, texts), LONGEST).astype(np.int64)


def _portions(vectors: Sequence[bytes]) -> Iterator[tuple[int, Sequence[bytes]]]:
    """Yield the vectors in portions that are read at once, each with the position of its first."""
    first = size = 0
    for place, vector in enumerate(vectors):
        if size and size + len(vector) > AT_ONCE:
            yield first, vectors[first:place]
            first, size = place, 0
        size += len(vector)
    if vectors:
        yield first, vectors[first:]


def _scan(buffer: bytes, sizes: Integers) -> tuple[Integers, Integers, Integers, Integers]:
    """Return for each lexeme the index of its text, the start and end of its bytes, and its count."""
    data = np.frombuffer(buffer, np.uint8)
    begin = np.cumsum(sizes) - sizes
    lexemes = np.frombuffer(data[begin[:, None] + np.arange(4)].tobytes(), ">i4").astype(np.int64)
    order = np.argsort(-lexemes, kind="stable")
    going = np.searchsorted(
        -lexemes[order], -np.arange(lexemes.max(initial=0))
    )  # number of vectors that have an n-th lexeme
    steps = int(np.count_nonzero(going >= FEW))
    zero = _next_zero(data)
    place = begin[order] + 4
    text, start, end, times = (np.empty(int(lexemes.sum()), np.int64) for _ in range(4))
    done = 0
    for many in going[:steps].tolist():
        here = place[:many]
        stop = zero[here]
        positions = data[stop + 1].astype(np.int64) << 8 | data[stop + 2]
        filled = slice(done, done + many)
        text[filled], start[filled], end[filled], times[filled] = order[:many], here, stop, positions
        place[:many] = stop + 3 + 2 * positions
        done += many
    for nth in range(int(going[steps]) if steps < len(going) else 0):
        for line in _rest(buffer, int(place[nth]), int(lexemes[order[nth]]) - steps):
            text[done], (start[done], end[done], times[done]) = order[nth], line
            done += 1
    return text, start, end, np.clip(times, 1, MOST_TIMES)


def _rest(buffer: bytes, place: int, lexemes: int) -> Iterator[tuple[int, int, int]]:
    for _ in range(lexemes):
        end = buffer.index(0, place)
        positions = buffer[end + 1] << 8 | buffer[end + 2]
        yield place, end, positions
        place = end + 3 + 2 * positions


def _next_zero(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    """Return for each position the position of the next zero byte."""
    places = np.where(data == 0, np.arange(len(data), dtype=np.int32), np.int32(len(data)))
    return np.minimum.accumulate(places[::-1])[::-1]
