"""Sources in the database: listing, configuring, pausing and resuming them, and the languages of their texts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from psycopg.types.json import Jsonb

from detent.errors import SourceConflict
from detent.store.database import Database, fetch
from detent.store.ledger.kinds import LOCK, refuse_removed, unknown
from detent.store.values import check_key

IMPORTED = "imported"
"""The type of a source that came from a file: its only work is embedding."""

Change = Callable[[Mapping[str, Any] | None], Mapping[str, Any]]


class Origin(NamedTuple):
    """A source, the time it was added, and the time it was paused, if it is."""

    name: str
    added_at: datetime
    paused_at: datetime | None


class Configured(NamedTuple):
    """A source of a registered type, and its settings. No secret is among them."""

    name: str
    type: str
    settings: Mapping[str, Any]


class Sources:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Origin]:
        """Return the sources, by name."""
        return [Origin(*row) for row in await self._database.fetch("sources")]

    async def configure(self, source: str, type_: str, settings: Mapping[str, Any]) -> None:
        """Store the settings of a source of a registered type, replacing earlier ones."""
        await self.reconfigure(source, type_, lambda _: settings)

    async def reconfigure(self, source: str, type_: str, change: Change) -> Mapping[str, Any]:
        """Replace the settings of a source by the result of `change`, which gets None if there are none; return
        them. Concurrent changes are applied one after the other."""
        check_key("the source's name", source)
        async with self._database.transaction() as connection:
            await fetch(connection, "lock_lifecycles", {"lock": LOCK})
            await refuse_removed(connection, source)
            kept = {(row.name, row.type): row.settings for row in await fetch(connection, "configured_sources")}
            settings = change(kept.get((source, type_)))
            parameters = {"name": source, "type": type_, "settings": Jsonb(dict(settings))}
            if not await fetch(connection, "configure_source", parameters):
                raise SourceConflict(
                    f"There is a source {source!r} already, and its type is not {type_!r}. Choose another name, "
                    f"or remove it first: {shlex.join(['detent', 'remove', source])}"
                )
        return settings

    async def configured(self) -> list[Configured]:
        """Return the sources of registered types, by name."""
        return [Configured(*row) for row in await self._database.fetch("configured_sources")]

    async def find(self, source: str) -> Configured | None:
        """Return one source of a registered type, also while it is being removed."""
        rows = await self._database.fetch("configured_source", {"name": source})
        return Configured(*rows[0]) if rows else None

    async def pause(self, source: str) -> None:
        """Pause a source: none of its items are claimed."""
        await self._set("pause", source)

    async def resume(self, source: str) -> None:
        """Resume a paused source, unless it is being removed."""
        async with self._database.connection() as connection:
            await refuse_removed(connection, source)
        await self._set("resume", source)

    async def set_language(self, source: str, language: str) -> int:
        """Set the language of a source's texts; return the number of texts to be indexed again.

        The change is atomic. Until they are indexed, the texts are searched like new ones.
        """
        if await self._language(source) == language:
            return 0
        await self.require_language(language)
        async with self._database.transaction() as connection:
            changed = await fetch(connection, "change_language", {"name": source, "language": language})
            if not changed:
                return 0
            await fetch(connection, "hold_nodes")
            rows = await fetch(connection, "index_anew", {"source": changed[0].id})
        return int(rows[0].count)

    async def languages(self) -> list[str]:
        """Return the languages that the server supports."""
        return [row.name for row in await self._database.fetch("languages")]

    async def require_language(self, language: str) -> None:
        """Raise UnknownName for a language that the server does not support."""
        known = await self.languages()
        if language not in known:
            raise unknown("language", language, known)

    async def _language(self, source: str) -> str:
        rows = await self._database.fetch("language", {"name": source})
        if not rows:
            raise unknown("source", source, [origin.name for origin in await self.all()])
        return str(rows[0].language)

    async def _set(self, statement: str, source: str) -> None:
        if not await self._database.fetch(statement, {"name": source}):
            raise unknown("source", source, [origin.name for origin in await self.all()])
