"""Facts about the server, and the migrations that its schema lacks."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

from detent.store.database import Database, fetch
from detent.store.ledger.journal import Journal
from detent.store.migration import Migration, migrations, version
from detent.store.migration import upgrade as apply_missing


@dataclass(frozen=True)
class Facts:
    """A snapshot of a server; `connections` does not count the caller's own."""

    version: str
    size_bytes: int
    connections: int
    schema_version: int


def newest_schema() -> int:
    """Return the number of the newest schema that this program knows."""
    return migrations()[-1].number


async def facts(conninfo: str) -> Facts:
    """Ask the server, and change nothing."""
    async with _opened(conninfo) as database, database.connection() as connection:
        row = (await fetch(connection, "server"))[0]
        return Facts(row.version, row.size_bytes, row.connections, await version(connection))


async def upgrade(conninfo: str) -> list[Migration]:
    """Bring the schema of a server up to date; return the migrations applied."""
    async with _opened(conninfo) as database:
        return await bring_up_to_date(database)


async def bring_up_to_date(database: Database) -> list[Migration]:
    """Apply the missing migrations, and create the journal's next monthly partitions; return the migrations."""
    applied = await apply_missing(database)
    if applied:
        await Journal(database).extend(datetime.now(UTC))
    return applied


@contextlib.asynccontextmanager
async def _opened(conninfo: str) -> AsyncIterator[Database]:
    database = Database(conninfo, size=1)
    await database.open()
    try:
        yield database
    finally:
        await database.close()
