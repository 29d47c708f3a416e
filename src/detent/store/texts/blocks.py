"""Blocks of the index as values: built from texts, merged from other blocks, and marked where texts are gone.

A block is written once. Its texts are numbered by ordinals, in the order of their ids. For each term it lists the
texts that contain the term, highest weight first, by this block's own average length; so a reader of the beginning
has the best of them, and a bound for the rest. For each text it also lists the text's common terms, so that a term
missing from the beginning of its long posting can be looked up for one text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detent.store.texts import ranking
from detent.store.texts.lexemes import Integers, Occurrences, lengths, used
from detent.store.texts.ranking import saturation

MOST_TEXTS = 65_536
MOST_WORDS = 1 << 23
"""Largest number of words in a block, so that a merge needs no more than a few hundred megabytes."""

ENTRY = np.dtype([("ordinal", "<u2"), ("times", "u1"), ("length", "<u2")])
COMMON = np.dtype([("number", "<u2"), ("times", "u1")])
OFFSET = np.dtype("<u4")
TEXT = np.dtype(">i8")
LENGTH = np.dtype("<u2")

GRADES = 65_535
"""Number of grades by which weights are ordered. An entry may outweigh the one before it by at most one grade."""


@dataclass(frozen=True)
class Contents:
    """The texts of a block, and its postings: `counts` entries for each of `terms`, in a row."""

    texts: Integers
    lengths: Integers
    terms: list[bytes]
    counts: Integers
    entries: bytes

    @property
    def words(self) -> int:
        return int(self.lengths.sum())


@dataclass(frozen=True)
class Block(Contents):
    """Everything written of a block: also the `numbers` of the common terms, -1 for the others; and each text's
    common terms, from its offset on."""

    numbers: Integers
    common: bytes
    offsets: Integers


@dataclass(frozen=True)
class MergeInput:
    """A block as read for a merge."""

    block: Contents
    dead: npt.NDArray[np.bool_]


def build(texts: Sequence[int], found: Occurrences) -> Block:
    """Build a block of these texts, whose ids ascend."""
    return _pack(np.asarray(texts, np.int64), lengths(found.text, found.times, len(texts)), found)


def merge(parts: Sequence[MergeInput]) -> Block | None:
    """Merge the living texts of several blocks into one; None if no text lives."""
    texts = np.concatenate([part.block.texts for part in parts])
    alive = ~np.concatenate([part.dead for part in parts])
    if not alive.any():
        return None
    order = np.argsort(np.where(alive, texts, np.iinfo(np.int64).max), kind="stable")[: np.count_nonzero(alive)]
    ordinals = np.full(len(texts), -1, np.int64)
    ordinals[order] = np.arange(len(order))
    words = np.concatenate([part.block.lengths for part in parts])
    return _pack(texts[order], words[order], _together(parts, ordinals))


def mark(texts: Integers, dead: npt.NDArray[np.bool_], gone: Integers) -> npt.NDArray[np.bool_]:
    """Return the dead flags of a block's texts when these texts are gone as well."""
    return dead | np.isin(texts, gone)


def to_bits(dead: npt.NDArray[np.bool_]) -> bytes:
    return np.packbits(dead, bitorder="little").tobytes()


def from_bits(bits: bytes, count: int) -> npt.NDArray[np.bool_]:
    if not bits:
        return np.zeros(count, np.bool_)
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=count, bitorder="little").astype(np.bool_)


def _together(parts: Sequence[MergeInput], ordinals: Integers) -> Occurrences:
    """Combine the parts' postings under the new ordinals, without the dead."""
    numbers: dict[bytes, int] = {}
    columns = []
    before = 0
    for part in parts:
        terms = [numbers.setdefault(term, len(numbers)) for term in part.block.terms]
        entries = np.frombuffer(part.block.entries, ENTRY)
        ordinal = ordinals[entries["ordinal"].astype(np.int64) + before]
        alive = ordinal >= 0
        term = np.repeat(np.array(terms, np.int64), part.block.counts)
        columns.append((term[alive], ordinal[alive], entries["times"][alive].astype(np.int64)))
        before += len(part.block.texts)
    term, text, times = (np.concatenate(column) for column in zip(*columns, strict=True))
    return used(list(numbers), term, text, times)


def _pack(texts: Integers, words: Integers, found: Occurrences) -> Block:
    """Order the lines by term and weight, in one sort of numbers whose bits contain the whole line."""
    order = sorted(range(len(found.terms)), key=found.terms.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    weight = saturation(found.times, words[found.text], float(words.mean()))
    grade = np.rint((1 - weight) * GRADES).astype(np.int64)
    keys = np.sort(rank[found.term] << 40 | grade << 24 | found.times << 16 | found.text)
    entries = np.empty(len(keys), ENTRY)
    ordinal = keys & 0xFFFF
    entries["ordinal"], entries["times"], entries["length"] = ordinal, keys >> 16 & 0xFF, words[ordinal]
    counts = np.bincount(keys >> 40, minlength=len(order)).astype(np.int64)
    common = counts > ranking.SHORT
    numbers = np.where(common, np.cumsum(common) - 1, -1)
    by_text, offsets = _by_text(numbers[keys >> 40], keys, len(texts))
    terms = [found.terms[number] for number in order]
    return Block(texts, words, terms, counts, entries.tobytes(), numbers, by_text, offsets)


def _by_text(number: Integers, keys: Integers, texts: int) -> tuple[bytes, Integers]:
    """Return the lines of common terms again, text by text, and the offsets of the texts."""
    some = number >= 0
    ordinal = keys[some] & 0xFFFF
    ordered = np.sort(ordinal << 24 | number[some] << 8 | keys[some] >> 16 & 0xFF)
    lines = np.empty(len(ordered), COMMON)
    lines["number"], lines["times"] = ordered >> 8 & 0xFFFF, ordered & 0xFF
    return lines.tobytes(), np.concatenate([[0], np.cumsum(np.bincount(ordinal, minlength=texts))])
