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
    """Indexes texts, and finds them."""

    def __init__(self, database: Database, *, budget: int = BUDGET) -> None:
        self._database = database
        self._index = TextIndex(database)
        self._search = TextSearch(database, budget=budget)

    async def index(self, limit: int = 20_000) -> int:
        """Take waiting changes into the index; returns how many. 0 if there are none, or another program is at it."""
        return await self._index.index(limit)

    async def tidy(self, tolerance: float = TOLERANCE) -> bool:
        """One step of merging; whether there was something to do."""
        return await self._index.tidy(tolerance)

    async def pending(self) -> int:
        """How many texts wait to be indexed; of more than 100,000 it is 100,000."""
        return await self._index.pending()

    async def statistics(self) -> Statistics:
        """What the index holds."""
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
        """The best texts for a query: of these kinds, among the allowed items, and of those that pass the check. So
        many of the best have their true scores; those after them may be told in another order. Where the query has only
        common words, a text may be missed in which none of them weighs much.

        `allowed` suits filters that leave up to some ten thousand items; a wider one is better asked by `check`.
        """
        return await self._search.search(query, limit=limit, exact=exact, kinds=kinds, allowed=allowed, check=check)

    async def unheeded(self, query: Query, kinds: Collection[int] | None) -> list[str]:
        """Notes on phrases and exclusions of the query that have no word to look for."""
        return await self._search.unheeded(query, kinds)

    async def meeting(self, query: Query, items: Collection[int]) -> set[int]:
        """Which of these items have the query's phrases, and nothing of what it excludes."""
        return await self._search.meeting(query, items)

    async def snippets(self, items: Sequence[int], query: Query, *, start: str = "", stop: str = "") -> dict[int, str]:
        """A short piece of each item's text with what was looked for between the marks; for at most 50 items."""
        return await snippets.snippets(self._database, items, query, start=start, stop=stop)
