"""One inquiry by meaning: the texts nearest to a vector that meet the filters and the query."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from detent.search.inquiry import Inquiry, Ranking
from detent.store import Store

if TYPE_CHECKING:
    from detent.store.vectors.models import Model

DEEP = 6400
"""Depth up to which the nearest are checked against a wide filter; beyond it, everything that meets the filter is
listed."""
MOST_JUDGED = 10_000
"""Largest number of nearest texts that are compared with phrases and exclusions; more than `DEEP`."""

NO_VECTORS = "Nothing that was asked for has a vector, so nothing was found by meaning."


class Meaning:
    """Finds the nearest texts for one search. Each text is judged once, however often more are asked for."""

    def __init__(self, store: Store, inquiry: Inquiry, model: Model, vector: np.ndarray) -> None:
        self._store = store
        self._inquiry = inquiry
        self._query = inquiry.query
        self._scope = inquiry.scope
        self._conditional = bool(self._query.phrases or self._query.excluded) and not inquiry.met
        self._model = model
        self._vector = vector
        self._judged: set[int] = set()
        self._passed: set[int] = set()

    async def nearest(self, depth: int) -> Ranking:
        """Return up to `depth` of the nearest texts that meet the filters and the query.

        There are fewer only if these are all, or if a note says otherwise.
        """
        asked = depth
        while True:
            ranking = await self._ask(asked)
            kept = await self._meeting(ranking)
            if len(kept) >= depth or len(ranking) < asked:
                if not kept and not (ranking and self._conditional):
                    self._tell_of_no_vectors()
                return kept[:depth]
            if self._scope.wide and asked >= DEEP:
                await self._name_what_meets_the_filters()
                asked = depth
            elif asked >= MOST_JUDGED:
                self._tell_the_end(asked)
                return kept
            else:
                asked = min(_deeper(asked, len(kept), depth), MOST_JUDGED)

    async def _ask(self, asked: int) -> Ranking:
        found = await self._store.vectors.search(
            self._model, self._vector, limit=asked, kinds=self._scope.kinds, allowed=self._scope.allowed
        )
        self._inquiry.notes.update(dict.fromkeys(found.notes))
        return [(hit.item_id, float(hit.similarity)) for hit in found.hits]

    async def _meeting(self, ranking: Ranking) -> Ranking:
        """Keep the entries of a ranking that meet a filter that lists nothing, and the query's phrases and
        exclusions."""
        if not (self._scope.wide or self._conditional):
            return ranking
        unknown = {number for number, _ in ranking} - self._judged
        self._judged |= unknown
        self._passed |= await self._judge(unknown)
        return [(number, score) for number, score in ranking if number in self._passed]

    async def _judge(self, items: Collection[int]) -> set[int]:
        meeting = set(items)
        if meeting and self._scope.wide:
            async with self._store.database.connection() as connection:
                meeting = await self._scope.check(connection, sorted(meeting))
        if meeting and self._conditional:
            meeting = await self._store.texts.meeting(self._query, meeting)
        return meeting

    async def _name_what_meets_the_filters(self) -> None:
        self._scope = await self._store.filtering.named(self._scope)

    def _tell_of_no_vectors(self) -> None:
        """Note that nothing in scope has a vector, if the scope has any items."""
        if self._scope.allowed is None or self._scope.allowed:
            self._inquiry.notes[NO_VECTORS] = None

    def _tell_the_end(self, asked: int) -> None:
        what = "phrases" if self._query.phrases else "exclusions"
        self._inquiry.notes[f"Only the nearest {asked:,} texts were compared with the query's {what}."] = None


def _deeper(asked: int, kept: int, depth: int) -> int:
    """Return the next depth to ask for: enough if the same part of the results is kept again, and some more."""
    return max(2 * asked, min(asked * depth * 5 // (4 * max(kept, 1)), 16 * asked))
