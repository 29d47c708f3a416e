"""Export of the graph: JSON records, made by PostgreSQL and passed on one at a time.

Whatever the number of rows, only one is in memory. Everything that one dump reads is from one moment, so its
output is consistent although workers go on meanwhile.
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
        """Yield the lines of a file that `load` reads. The first line is a header."""
        yield json.dumps(await self._header()).encode()
        for part in _PARTS:
            async for line in self._records(part):
                yield line

    async def nodes(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the nodes, for the formats of other programs."""
        async for line in self._records("dump_nodes"):
            yield json.loads(line)

    async def edges(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the edges between these nodes."""
        async for line in self._records("dump_edges"):
            yield json.loads(line)

    async def counts(self) -> tuple[int, int]:
        """Return the numbers of items and of aliases."""
        row = (await fetch(self._connection, "dump_counts", self._asked("dump_counts")))[0]
        return row.items, row.aliases

    async def _header(self) -> dict[str, Any]:
        items, aliases = await self.counts()
        sources = sorted({kind.source for kind in self._kinds})
        return {"format": FORMAT, "version": VERSION, "sources": sources, "items": items, "aliases": aliases}

    async def _records(self, part: str) -> AsyncIterator[bytes]:
        """Yield the records of one part. JSON contains no raw line breaks or tabs, so backslashes are all that
        COPY escapes."""
        statement = f"COPY ({SQL[part]}) TO STDOUT"
        async with self._connection.cursor() as cursor, cursor.copy(statement, self._asked(part)) as copy:
            async for row in copy:
                yield bytes(row[:-1]).replace(rb"\\", b"\\")

    def _asked(self, part: str) -> dict[str, Any]:
        """Return the statement's parameters. Kinds that are only referred to are included, so that references to
        them can be imported."""
        kinds = self._referred if part in ("dump_lifecycles", "dump_kinds") else self._kinds
        return {"kinds": [kind.id for kind in kinds]}


async def _referred(connection: Connection, every: list[Any], chosen: list[Any]) -> list[Any]:
    """Return the exported kinds, and the kinds that they refer to."""
    rows = await fetch(connection, "dump_referred", {"kinds": [kind.id for kind in chosen]})
    wanted = {row.kind_id for row in rows} | {kind.id for kind in chosen}
    return [kind for kind in every if kind.id in wanted]
