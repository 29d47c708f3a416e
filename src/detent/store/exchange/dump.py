"""Writing the graph out: JSON records, made by PostgreSQL and passed on one at a time.

Whatever the number of rows, no more than one is in memory. Everything that one dump reads, it reads at one moment,
so what it writes fits together although workers go on meanwhile.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, Self

from detent.store.database import Connection, Database, fetch
from detent.store.ledger.kinds import Kinds
from detent.store.statements import SQL

FORMAT, VERSION = "detent", 1
_PARTS = ("dump_lifecycles", "dump_kinds", "dump_items", "dump_aliases")


class Dump:
    """The content of a database, or of one source, at one moment."""

    def __init__(self, connection: Connection, kinds: list[Any], referred: list[Any]) -> None:
        self._connection = connection
        self._kinds = kinds
        self._referred = referred

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, database: Database, kinds: Kinds, source: str | None = None) -> AsyncIterator[Self]:
        await kinds.select(source)
        async with database.connection() as connection, connection.transaction():
            await fetch(connection, "one_moment")
            every = await fetch(connection, "kinds")
            chosen = [kind for kind in every if source in (None, kind.source)]
            yield cls(connection, chosen, every if source is None else await _referred(connection, every, chosen))

    async def lines(self) -> AsyncIterator[bytes]:
        """Everything, as the lines of a file that `load` reads. The first says what follows."""
        yield json.dumps(await self._header()).encode()
        for part in _PARTS:
            async for line in self._records(part):
                yield line

    async def nodes(self) -> AsyncIterator[dict[str, Any]]:
        """The nodes, for the formats of other programs."""
        async for line in self._records("dump_nodes"):
            yield json.loads(line)

    async def edges(self) -> AsyncIterator[dict[str, Any]]:
        """The edges between these nodes."""
        async for line in self._records("dump_edges"):
            yield json.loads(line)

    async def counts(self) -> tuple[int, int]:
        """How many items and aliases there are."""
        row = (await fetch(self._connection, "dump_counts", self._asked("dump_counts")))[0]
        return row.items, row.aliases

    async def _header(self) -> dict[str, Any]:
        items, aliases = await self.counts()
        sources = sorted({kind.source for kind in self._kinds})
        return {"format": FORMAT, "version": VERSION, "sources": sources, "items": items, "aliases": aliases}

    async def _records(self, part: str) -> AsyncIterator[bytes]:
        """JSON has no line breaks and no tabs of its own, so of what COPY escapes, backslashes alone occur."""
        statement = f"COPY ({SQL[part]}) TO STDOUT"
        async with self._connection.cursor() as cursor, cursor.copy(statement, self._asked(part)) as copy:
            async for row in copy:
                yield bytes(row[:-1]).replace(rb"\\", b"\\")

    def _asked(self, part: str) -> dict[str, Any]:
        """Kinds that are only referred to are named too, so that references to them can be read in again."""
        kinds = self._referred if part in ("dump_lifecycles", "dump_kinds") else self._kinds
        return {"kinds": [kind.id for kind in kinds]}


async def _referred(connection: Connection, every: list[Any], chosen: list[Any]) -> list[Any]:
    """The kinds that are written out, and those that they refer to."""
    rows = await fetch(connection, "dump_referred", {"kinds": [kind.id for kind in chosen]})
    wanted = {row.kind_id for row in rows} | {kind.id for kind in chosen}
    return [kind for kind in every if kind.id in wanted]
