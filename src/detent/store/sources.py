"""Sources as the database knows them: listed, paused and let go on."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from detent.store.database import Database
from detent.store.kinds import unknown


class Origin(NamedTuple):
    """A source, since when it is there, and since when it is paused, if it is."""

    name: str
    added_at: datetime
    paused_at: datetime | None


class Sources:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Origin]:
        """The sources, by name."""
        return [Origin(*row) for row in await self._database.fetch("sources")]

    async def pause(self, source: str) -> None:
        """Let nothing more of this source be claimed."""
        await self._set("pause", source)

    async def resume(self, source: str) -> None:
        """Let this source be worked on again."""
        await self._set("resume", source)

    async def _set(self, statement: str, source: str) -> None:
        if not await self._database.fetch(statement, {"name": source}):
            raise unknown("source", source, [origin.name for origin in await self.all()])
