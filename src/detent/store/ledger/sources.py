"""Sources as the database knows them: listed, configured, paused and let go on, and the languages of their texts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from psycopg.types.json import Jsonb

from detent.configuration.masking import masked
from detent.errors import SourceConflict
from detent.store.database import Database, fetch
from detent.store.ledger.kinds import LOCK, refuse_removed, unknown
from detent.store.values import check_key

IMPORTED = "imported"
"""The type of a source that came from a file: nothing is done for it but to embed what waits for that."""

_ADDRESS = "api"

Change = Callable[[Mapping[str, Any] | None], Mapping[str, Any]]


class Origin(NamedTuple):
    """A source, since when it is there, and since when it is paused, if it is."""

    name: str
    added_at: datetime
    paused_at: datetime | None


class Configured(NamedTuple):
    """A source of one of Detent's own types, and its settings."""

    name: str
    type: str
    settings: Mapping[str, Any]

    @property
    def shown(self) -> dict[str, Any]:
        """Its settings as they may be shown: without the password in an address."""
        return {
            name: masked(value) if name == _ADDRESS and isinstance(value, str) else value
            for name, value in self.settings.items()
        }


class Sources:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Origin]:
        """The sources, by name."""
        return [Origin(*row) for row in await self._database.fetch("sources")]

    async def configure(self, source: str, type_: str, settings: Mapping[str, Any]) -> None:
        """Keep what a source of one of Detent's own types is to do, in place of what was kept."""
        await self.reconfigure(source, type_, lambda _: settings)

    async def reconfigure(self, source: str, type_: str, change: Change) -> Mapping[str, Any]:
        """Keep what `change` makes of the settings of a source, None if there are none; returns them. Two who change
        the same do it one after the other."""
        check_key("the source's name", source)
        async with self._database.transaction() as connection:
            await fetch(connection, "lock_lifecycles", {"lock": LOCK})
            await refuse_removed(connection, source)
            kept = {(row.name, row.type): row.settings for row in await fetch(connection, "configured_sources")}
            settings = change(kept.get((source, type_)))
            parameters = {"name": source, "type": type_, "settings": Jsonb(dict(settings))}
            if not await fetch(connection, "configure_source", parameters):
                raise SourceConflict(
                    f"There is a source {source!r} already, and it is none of the type {type_!r}. Choose another name, "
                    f"or remove it first: {shlex.join(['detent', 'remove', source])}"
                )
        return settings

    async def configured(self) -> list[Configured]:
        """The sources of Detent's own types, by name."""
        return [Configured(*row) for row in await self._database.fetch("configured_sources")]

    async def find(self, source: str) -> Configured | None:
        """One of them, also while it is being removed."""
        rows = await self._database.fetch("configured_source", {"name": source})
        return Configured(*rows[0]) if rows else None

    async def pause(self, source: str) -> None:
        """Let nothing more of this source be claimed."""
        await self._set("pause", source)

    async def resume(self, source: str) -> None:
        """Let this source be worked on again; one that is being removed stays as it is."""
        async with self._database.connection() as connection:
            await refuse_removed(connection, source)
        await self._set("resume", source)

    async def set_language(self, source: str, language: str) -> int:
        """Say what language a source's texts are in; returns how many have to be indexed anew because of that.

        It happens at once or not at all. Until they are indexed, texts are searched as fresh ones are.
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
        """The languages that the server has rules for."""
        return [row.name for row in await self._database.fetch("languages")]

    async def require_language(self, language: str) -> None:
        """A language that the server has no rules for is an error."""
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
