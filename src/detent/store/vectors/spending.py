"""The cost of embedding, stored so that a budget holds across processes and restarts."""

from __future__ import annotations

from detent.store.database import Database


class Spending:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, owner: str, provider: str, tokens: int) -> None:
        """Record the tokens that a worker has spent since it began."""
        await self._database.fetch("note_spending", {"owner": owner, "provider": provider, "tokens": tokens})

    async def add(self, owner: str, provider: str, tokens: int) -> int:
        """Add to the record of a shared owner; return the tokens that all owners have spent, including these."""
        rows = await self._database.fetch("add_spending", {"owner": owner, "provider": provider, "tokens": tokens})
        return int(rows[0].tokens)

    async def elsewhere(self, owner: str, provider: str) -> int:
        """Return the tokens that all other owners have spent, including former ones."""
        rows = await self._database.fetch("spent_elsewhere", {"owner": owner, "provider": provider})
        return int(rows[0].tokens)
