"""The journal: the moves of items, and their retention."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from psycopg import errors, sql

from detent.errors import DatabaseBusy
from detent.knowledge.value import Value
from detent.store.database import Connection, Database, fetch

LOCK = 0x0DE7E27_03


@dataclass(frozen=True)
class Entry(Value):
    """One move of an item. `took` is the time the worker had it, if the move ended work."""

    at: datetime
    from_state: str
    to_state: str
    attempt: int
    token: int | None
    took: timedelta | None
    owner: str
    reason: str | None


class Journal:
    """Reads histories, and manages the journal's monthly partitions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def history(self, item: int) -> list[Entry]:
        rows = await self._database.fetch("history", {"id": item})
        return [Entry(*row) for row in rows]

    async def extend(self, now: datetime, *, months: int = 3) -> list[str]:
        """Create the partitions of this month and the next ones; return those that were missing.

        Raises DatabaseBusy while a long read of the journal is in progress; moves are recorded even without
        partitions.
        """
        existing = {row.name for row in await self._database.fetch("partitions")}
        made = []
        start = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        for _ in range(months):
            end = (start + timedelta(days=32)).replace(day=1)
            name = f"journal_{start:%Y_%m}"
            if name not in existing:
                await self._make(name, start, end)
                made.append(name)
            start = end
        return made

    async def prune(self, before: datetime) -> list[str]:
        """Drop the partitions that lie wholly before the given time; return their names.

        Raises DatabaseBusy, and drops none, while a long read of the journal is in progress.
        """
        async with self._changing() as connection:
            rows = await fetch(connection, "partitions")
            old = [row.name for row in rows if row.until is not None and row.until <= before]
            for name in old:
                await connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
            await connection.execute("DELETE FROM journal_other WHERE at < %s", [before])
        return old

    @contextlib.asynccontextmanager
    async def _changing(self) -> AsyncIterator[Connection]:
        """Open a transaction that changes the partitions.

        Workers queue behind its locks, so it does not wait for a long reader of the journal, such as a backup or a
        report.
        """
        try:
            async with self._database.transaction() as connection:
                await fetch(connection, "lock_partitions", {"lock": LOCK})
                await fetch(connection, "wait_briefly")
                yield connection
        except DatabaseBusy as busy:
            if isinstance(busy.__cause__, errors.LockNotAvailable):
                raise DatabaseBusy("the journal's partitions cannot be changed while it is read") from busy
            raise

    async def _make(self, name: str, start: datetime, end: datetime) -> None:
        """Create one partition. Rows of that month that were written elsewhere meanwhile are moved into it."""
        table = sql.Identifier(name)
        async with self._changing() as connection:
            exists = await (await connection.execute("SELECT to_regclass(%s) AS name", [name])).fetchone()
            if exists and exists.name:
                return
            await connection.execute(sql.SQL("CREATE TABLE {} (LIKE journal INCLUDING DEFAULTS)").format(table))
            await connection.execute(
                sql.SQL(
                    "WITH moved AS (DELETE FROM journal_other WHERE at >= {} AND at < {} RETURNING *) "
                    "INSERT INTO {} SELECT * FROM moved"
                ).format(sql.Literal(start), sql.Literal(end), table)
            )
            await connection.execute(
                sql.SQL("ALTER TABLE journal ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})").format(
                    table, sql.Literal(start), sql.Literal(end)
                )
            )
