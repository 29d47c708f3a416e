"""The verbs of text search in one place."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from detent.knowledge.query import Query
from detent.store.database import Database
from detent.store.texts import snippets
from detent.store.texts.index import Statistics, TextIndex
from detent.store.texts.merging import TOLERANCE
from detent.store.texts.search import BUDGET, Check, TextHits, TextSearch


class Texts:
    """Indexes and finds texts."""

    def __init__(self, database: Database, *, budget: int = BUDGET) -> None:
        self._database = database
        self._index = TextIndex(database)
        self._search = TextSearch(database, budget=budget)

    async def index(self, limit: int = 20_000) -> int:
        """Index waiting changes; return their number. 0 if there are none, or if another program is indexing."""
        return await self._index.index(limit)

    async def tidy(self, tolerance: float = TOLERANCE) -> bool:
        """Do one step of merging; return True if there was one to do."""
        return await self._index.tidy(tolerance)

    async def pending(self) -> int:
        """Return the number of texts waiting to be indexed, at most 100,000."""
        return await self._index.pending()

    async def statistics(self) -> Statistics:
        """Return the size of the index."""
        return await self._index.statistics()

    async def search(
        self,
        query: Query,
        *,
        limit: int,
        exact: int | None = None,
        kinds: Collection[int] | None = None,
        allowed: Collection[int] | None = None,
        check: Check | None = None,
    ) -> TextHits:
        """Return the best texts for a query: of these kinds, among the allowed items, and of those that pass the
        check.

        The first `exact` hits have exact scores; later ones may be in another order. If the query has only common
        words, a text in which none of them weighs much may be missed. `allowed` suits filters with up to some ten
        thousand items; for a wider filter use `check`.
        """
        return await self._search.search(query, limit=limit, exact=exact, kinds=kinds, allowed=allowed, check=check)

    async def unheeded(self, query: Query, kinds: Collection[int] | None) -> list[str]:
        """Return notes on phrases and exclusions of the query that have no word to search for."""
        return await self._search.unheeded(query, kinds)

    async def meeting(self, query: Query, items: Collection[int]) -> set[int]:
        """Return the items that have the query's phrases, and nothing that it excludes."""
        return await self._search.meeting(query, items)

    async def snippets(self, items: Sequence[int], query: Query, *, start: str = "", stop: str = "") -> dict[int, str]:
        """Return a short piece of each item's text with matches between the marks, for at most 50 items."""
        return await snippets.snippets(self._database, items, query, start=start, stop=stop)
