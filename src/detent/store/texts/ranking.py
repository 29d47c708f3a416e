"""BM25, in the variant of Lucene and bm25s: the weight of a word in a text, and the order of texts.

A text's score is the sum over the query's words of the word's rarity in the collection times its saturation in the
text. Of a common word only the best entries are read. A text that is not among these may still have the word, yet
with no more weight than the last entry read: so each text has a bound, which equals its score if every word was
read completely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

K1 = 1.5
B = 0.75

SHORT = 256
"""Number of texts of a block above which a term is common there; fewer than 65,536 terms are. At least this many
entries are read of a common term, and all of any other: a proportional share would leave hardly any for a small
block beside large ones. Commonness is fixed when a block is written."""

ROUNDING = 2 / 65_535
"""Largest weight by which an entry may exceed the one before it."""


@dataclass(frozen=True)
class Collection:
    """The parameters of scores that do not depend on the text: the average length of texts, and the rarity of each
    term of the query."""

    average: float
    rarity: Numbers


@dataclass(frozen=True)
class Slices:
    """The beginnings of some postings, block after block.

    For each: the block's position in the search, the term, the number of entries read, the number of all entries,
    True if the term is common there, and the block's own average length. Then the entries of all, in a row.
    """

    block: Integers
    term: Integers
    read: Integers
    count: Integers
    common: Flags
    average: Numbers
    ordinals: Integers
    times: Integers
    lengths: Integers


@dataclass(frozen=True)
class Candidates:
    """Texts that were found: their places in the search, upper bounds of their scores, the part of each score that
    was read, which is a lower bound, and True where both equal the score."""

    places: Integers
    bounds: Numbers
    floors: Numbers
    exact: Flags

    def order(self, many: int) -> Integers:
        """Return the positions of the best, in order, including all ties with the last; all if there are no more
        than `many`."""
        chosen = np.arange(len(self.places))
        if many < len(chosen):
            last = -np.partition(-self.bounds, many)[many]
            chosen = np.flatnonzero(self.bounds >= last)
        return chosen[np.lexsort((self.places[chosen], -self.bounds[chosen]))]

    def best(self, many: int) -> Candidates:
        order = self.order(many)
        return Candidates(self.places[order], self.bounds[order], self.floors[order], self.exact[order])


def saturation(times: Integers, lengths: Integers, average: float | Numbers) -> Numbers:
    """Return the weight of a word with this count in a text of this length, from 0 to 1."""
    average = np.maximum(average, 1e-9)
    return times / (times + K1 * (1 - B + B * lengths / average))


def rarity(texts: int, containing: int) -> float:
    """Return the weight of a word that `containing` of the texts contain. Dead texts may be counted among them."""
    containing = min(containing, texts)
    return math.log(1 + (texts - containing + 0.5) / (containing + 0.5))


def share(counts: Sequence[int], budget: int) -> list[int]:
    """Return the number of entries to read of each term: all of the rare ones, and an equal number of each common
    one.

    The rest of the budget that rare terms leave is not spent: beside them the others hardly count.
    """
    return [min(count, max(1, budget // len(counts))) for count in counts]


def at_least(counts: Integers, common: Flags) -> Integers:
    """Return the number of entries of these postings that are always read."""
    return np.where(common, np.minimum(counts, SHORT), counts)


def of_short(slices: Slices, collection: Collection, starts: Integers) -> tuple[Integers, Numbers]:
    """Return the scores from the postings that are always read completely: the texts' places, ascending, and their
    sums."""
    some = np.repeat(~slices.common, slices.read)
    every = slices.ordinals + np.repeat(starts[slices.block], slices.read)
    weights = saturation(slices.times[some], slices.lengths[some], collection.average)
    weights = weights * np.repeat(collection.rarity[slices.term], slices.read)[some]
    places, lines = np.unique(every[some], return_inverse=True)
    return places, np.bincount(lines, weights, len(places)).astype(np.float64)


def gather(slices: Slices, collection: Collection, starts: Integers, allowed: Flags | None) -> Candidates:
    """Return the texts in the slices that are allowed.

    `starts` are the places of each block's first text, followed by the place after the last text.
    """
    truncated = slices.read < slices.count
    cuts = np.where(truncated, _cuts(slices, collection), 0.0)
    weights = saturation(slices.times, slices.lengths, collection.average)
    weights = weights * np.repeat(collection.rarity[slices.term], slices.read)
    surplus = weights - np.repeat(cuts, slices.read)
    partial = np.repeat(truncated, slices.read)
    ends = np.concatenate([[0], np.cumsum(slices.read)])
    found = [Candidates(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))]
    for number in np.unique(slices.block).tolist():
        first, last = np.searchsorted(slices.block, [number, number + 1]).tolist()
        some = slice(int(ends[first]), int(ends[last]))
        here = slice(int(starts[number]), int(starts[number + 1]))
        unread = float(cuts[first:last].sum()), int(truncated[first:last].sum())
        block = _Block(here, slices.ordinals[some], weights[some], surplus[some], partial[some], *unread)
        found.append(_candidates(block, None if allowed is None else allowed[here]))
    return Candidates(
        np.concatenate([some.places for some in found]),
        np.concatenate([some.bounds for some in found]),
        np.concatenate([some.floors for some in found]),
        np.concatenate([some.exact for some in found]),
    )


@dataclass(frozen=True)
class _Block:
    """The entries read from one block, the places of its texts, and the number of words that were not read
    completely.

    A text not seen in these words has at most `most` of them. `surplus` is the weight of an entry beyond that.
    """

    here: slice
    ordinals: Integers
    weights: Numbers
    surplus: Numbers
    partial: Flags
    most: float
    unread: int


def _candidates(block: _Block, allowed: Flags | None) -> Candidates:
    size = block.here.stop - block.here.start
    present = np.zeros(size, np.bool_)
    present[block.ordinals] = True
    if allowed is not None:
        present &= allowed
    found = np.flatnonzero(present)
    bounds: Numbers = np.bincount(block.ordinals, block.surplus, size)[found].astype(np.float64) + block.most
    floors: Numbers = np.bincount(block.ordinals, block.weights, size)[found].astype(np.float64)
    seen = np.bincount(block.ordinals[block.partial], minlength=size)[found]
    return Candidates(found + block.here.start, bounds, floors, seen == block.unread)


def _cuts(slices: Slices, collection: Collection) -> Numbers:
    """Return the most that an unread entry can add to a score.

    Entries are ordered by the block's own average length. By the collection's average, an entry weighs more by at
    most the ratio of the whole denominators.
    """
    last = np.cumsum(slices.read) - 1
    weight = np.minimum(saturation(slices.times[last], slices.lengths[last], slices.average) + ROUNDING, 1.0)
    proportion = np.minimum(slices.average / max(collection.average, 1e-9), 1.0)
    cuts: Numbers = collection.rarity[slices.term] / (1 + proportion * (1 - weight) / weight)
    return cuts
