"""Counting: the exact scores of single texts, looked up in their blocks.

Of a common word only the best entries are read, so that most candidates have only an upper bound. A text's common
words are stored in its block: so the scores of the possible winners are made exact, however common the words.
"""

from __future__ import annotations

import numpy as np

from detent.store.texts.postings import Postings
from detent.store.texts.ranking import Candidates, Collection, Integers, Numbers, Slices, of_short, saturation

LOOKED_UP = 500
"""Number of texts after which counting stops, even if a better one may remain."""

_MARGIN = 12
"""Number of texts counted beyond those wanted, since some of these may be gone."""


class Counting:
    """Computes exact scores, for one reading of the postings."""

    def __init__(self, postings: Postings, slices: Slices, collection: Collection) -> None:
        self._postings = postings
        self._slices = slices
        self._collection = collection
        self._short: tuple[Integers, Numbers] | None = None

    async def scores(self, places: Integers) -> Numbers:
        """Return the exact scores of the texts at these places."""
        times, lengths = await self._postings.common_at(places)
        weights = saturation(times, lengths[:, None], self._collection.average) * self._collection.rarity
        total: Numbers = weights.sum(axis=1) + self._of_short(places)
        return total

    async def sharpened(self, candidates: Candidates, best: int) -> Candidates:
        """Return the candidates, with exact scores for as many as it takes to know the best; the others keep the
        score that was read."""
        order = candidates.order(LOOKED_UP)[:LOOKED_UP]
        scores = candidates.floors.copy()
        wanted = best + _MARGIN
        done, size = 0, wanted
        while done < len(order) and not _are_known(candidates, scores, order, done, wanted):
            some = order[done : done + size]
            unsure = some[~candidates.exact[some]]
            if len(unsure):
                scores[unsure] = await self.scores(candidates.places[unsure])
            done += len(some)
            size *= 2
        return Candidates(candidates.places, scores, scores, np.ones(len(scores), np.bool_))

    def _of_short(self, places: Integers) -> Numbers:
        if self._short is None:
            self._short = of_short(self._slices, self._collection, self._postings.starts)
        known, weights = self._short
        if not len(known):
            return np.zeros(len(places))
        where = np.minimum(np.searchsorted(known, places), len(known) - 1)
        return np.where(known[where] == places, weights[where], 0.0)


def _are_known(candidates: Candidates, scores: Numbers, order: Integers, done: int, wanted: int) -> bool:
    """True if `wanted` of the counted candidates score at least as high as any other can."""
    if done < wanted:
        return False
    last = -np.partition(-scores[order[:done]], wanted - 1)[wanted - 1]
    return bool(last >= candidates.bounds[order[done]])
