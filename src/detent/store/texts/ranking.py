"""BM25, as Lucene and bm25s reckon it: how much a word says about a text, and which texts come first.

A text's score is, summed over the query's words, the word's rarity in the collection times its saturation in the
text. Of a common word only the best entries are read. A text in which it was not seen may still have it, yet not
weigh more than the last entry read: so each text has a bound, which is its score if nothing about it is unknown.
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
"""A term that occurs in more texts of a block is common there; there are fewer than 65,536 of those. Of a common one so
many entries are read at least, of others all: in proportion, those of a small block beside large ones would hardly be.
What is common in a block was decided when it was written."""

ROUNDING = 2 / 65_535
"""By how much an entry may weigh more than the one before it."""


@dataclass(frozen=True)
class Collection:
    """What scores depend on beside the text itself: how long texts are on average, and how rare each term of the query
    is."""

    average: float
    rarity: Numbers


@dataclass(frozen=True)
class Slices:
    """The beginnings of some postings, block after block: of each the block (its place in the search), the term, how
    many of its entries were read, how many there are, whether the term is common there, and the block's own average
    length; and the entries of all, in a row."""

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
    """Texts that were found: their places among all texts of the search, the bounds of their scores, what of these
    was read, which is less, and whether both are the score itself."""

    places: Integers
    bounds: Numbers
    floors: Numbers
    exact: Flags

    def order(self, many: int) -> Integers:
        """Which are the best, in order, and all that are as good as the last of so many; all if there are not more."""
        chosen = np.arange(len(self.places))
        if many < len(chosen):
            last = -np.partition(-self.bounds, many)[many]
            chosen = np.flatnonzero(self.bounds >= last)
        return chosen[np.lexsort((self.places[chosen], -self.bounds[chosen]))]

    def best(self, many: int) -> Candidates:
        order = self.order(many)
        return Candidates(self.places[order], self.bounds[order], self.floors[order], self.exact[order])


def saturation(times: Integers, lengths: Integers, average: float | Numbers) -> Numbers:
    """How much a word that occurs so many times says in a text of that length; from 0 to 1."""
    average = np.maximum(average, 1e-9)
    return times / (times + K1 * (1 - B + B * lengths / average))


def rarity(texts: int, containing: int) -> float:
    """How much a word says that occurs in so many of the texts. Dead texts may be counted as containing it."""
    containing = min(containing, texts)
    return math.log(1 + (texts - containing + 0.5) / (containing + 0.5))


def share(counts: Sequence[int], budget: int) -> list[int]:
    """How many entries of each term are read: all of the rare ones, and of the common ones equally many. What rare ones
    leave of the budget is not spent: beside them, the others hardly count."""
    return [min(count, max(1, budget // len(counts))) for count in counts]


def at_least(counts: Integers, common: Flags) -> Integers:
    """How many entries of these postings are always read."""
    return np.where(common, np.minimum(counts, SHORT), counts)


def of_short(slices: Slices, collection: Collection, starts: Integers) -> tuple[Integers, Numbers]:
    """What the postings that are always read whole add to scores: the texts' places, ascending, and how much each."""
    some = np.repeat(~slices.common, slices.read)
    every = slices.ordinals + np.repeat(starts[slices.block], slices.read)
    weights = saturation(slices.times[some], slices.lengths[some], collection.average)
    weights = weights * np.repeat(collection.rarity[slices.term], slices.read)[some]
    places, lines = np.unique(every[some], return_inverse=True)
    return places, np.bincount(lines, weights, len(places)).astype(np.float64)


def gather(slices: Slices, collection: Collection, starts: Integers, allowed: Flags | None) -> Candidates:
    """The texts that the slices name, of those that are allowed. `starts` are the places of each block's first text,
    and at the end that of the first after them all."""
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
    """The entries that were read of one block, where its texts are, and how many words were not read to the end; a
    text in which they were not seen has `most` of them at most. `surplus` is what an entry weighs beyond that."""

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
    """How much an entry that was not read can add to a score. The order of entries is by the block's own average
    length; by the collection's, one weighs more at most as much as if its whole denominator were in proportion."""
    last = np.cumsum(slices.read) - 1
    weight = np.minimum(saturation(slices.times[last], slices.lengths[last], slices.average) + ROUNDING, 1.0)
    proportion = np.minimum(slices.average / max(collection.average, 1e-9), 1.0)
    cuts: Numbers = collection.rarity[slices.term] / (1 + proportion * (1 - weight) / weight)
    return cuts
