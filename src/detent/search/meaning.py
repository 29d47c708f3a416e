"""One inquiry by meaning: what is nearest to a vector, of what meets the filters and the query."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from detent.errors import DatabaseAway
from detent.knowledge.query import Query
from detent.search.inquiry import Inquiry, Ranking
from detent.store import Store

if TYPE_CHECKING:
    from detent.store.texts.searching import TextHits
    from detent.store.vectors import Model

log = logging.getLogger("detent.search")

DEEP = 6400
"""Where too few of so many of the nearest meet a wide filter, all that meets it is named after all."""
MOST_JUDGED = 20_000
"""How many of the nearest are compared with phrases and exclusions; more than is deep."""
MOST_HAVING = 2000
"""Where fewer have the phrases of the query, only those are compared by meaning."""


class Meaning:
    """Finds what is nearest, for one search. Each text is judged once, however often more is asked for."""

    def __init__(self, store: Store, inquiry: Inquiry, model: Model, vector: np.ndarray) -> None:
        self._store = store
        self._inquiry = inquiry
        self._query = inquiry.query
        self._scope = inquiry.scope
        self._model = model
        self._vector = vector
        self._judged: set[int] = set()
        self._passed: set[int] = set()
        self._looked_for_phrases = False

    async def nearest(self, depth: int) -> Ranking:
        """So many of the nearest that meet the filters and the query. There are fewer only if these are all, or a note
        says otherwise."""
        await self._name_what_has_the_phrases()
        asked = depth
        while True:
            ranking = await self._ask(asked)
            kept = await self._meeting(ranking)
            if len(kept) >= depth or len(ranking) < asked:
                return kept[:depth]
            if self._scope.wide and asked >= DEEP:
                await self._name_what_meets_the_filters()
                asked = depth
            elif asked >= MOST_JUDGED:
                self._tell_the_end(asked)
                return kept
            else:
                asked = min(4 * asked, MOST_JUDGED)

    async def _ask(self, asked: int) -> Ranking:
        found = await self._store.vectors.search(
            self._model, self._vector, limit=asked, kinds=self._scope.kinds, allowed=self._scope.allowed
        )
        self._inquiry.notes.update(dict.fromkeys(found.notes))
        return [(hit.item_id, float(hit.similarity)) for hit in found.hits]

    async def _meeting(self, ranking: Ranking) -> Ranking:
        """What of a ranking meets a filter that names nothing, and the query's phrases and exclusions."""
        if not (self._scope.wide or self._query.phrases or self._query.excluded):
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
        if meeting and (self._query.phrases or self._query.excluded):
            meeting = await self._store.texts.meeting(self._query, meeting)
        return meeting

    async def _name_what_has_the_phrases(self) -> None:
        """A rare phrase may be far from what the query means: the index of words knows what has it, and to go there by
        way of the nearest would be to read most of the texts."""
        if self._looked_for_phrases or not self._query.phrases:
            return
        self._looked_for_phrases = True
        found = await self._having_the_phrases()
        if found is not None and _are_all(found):
            having = frozenset(hit.item_id for hit in found.hits)
            self._scope = replace(self._scope, allowed=having, wide=False)
            self._judged |= having
            self._passed |= having

    async def _having_the_phrases(self) -> TextHits | None:
        required = Query(phrases=self._query.phrases, excluded=self._query.excluded)
        scope = self._scope
        check = scope.check if scope.wide else None
        try:
            return await self._store.texts.search(
                required, limit=MOST_HAVING, exact=1, kinds=scope.kinds, allowed=scope.allowed, check=check
            )
        except DatabaseAway:
            raise
        except Exception:  # without that index it takes longer, and is found all the same
            log.debug("The index of words could not tell what has the phrases.", exc_info=True)
            return None

    async def _name_what_meets_the_filters(self) -> None:
        self._scope = await self._store.filtering.named(self._scope)

    def _tell_the_end(self, asked: int) -> None:
        what = "phrases" if self._query.phrases else "exclusions"
        self._inquiry.notes[f"Only the nearest {asked:,} texts were compared with the query's {what}."] = None


def _are_all(found: TextHits) -> bool:
    """Whether no other text has the phrases. A note may say that not all were looked at; and in a language where the
    phrases have only words that are not looked for, every text meets them."""
    heeded = all(note.endswith("is not heeded.") for note in found.notes)
    return len(found.hits) < MOST_HAVING and heeded and all(found.lexemes.values())
