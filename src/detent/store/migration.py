"""Migrations: numbered steps that bring a database to this program's schema.

A step, once shipped, is never edited. Each is applied in a transaction that also records it, and all of it under
one advisory lock: several programs that start at once on an empty database all succeed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import psycopg

from detent.errors import RightsMissing, SchemaTooNew, VectorsMissing
from detent.store.database import Connection, Database

LOCK = 0x0DE7E27_01

_SCHEMA_EXISTS = "SELECT FROM pg_namespace WHERE nspname = 'detent'"
_RECORD = """
CREATE TABLE IF NOT EXISTS detent.migration (
    number      integer PRIMARY KEY,
    name        text NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
);
"""


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    statements: str


def migrations() -> list[Migration]:
    """Return the migrations that this program knows, in order."""
    files = resources.files(__package__).joinpath("migrations").iterdir()
    found = [_read(file.name, file.read_text(encoding="utf-8")) for file in files if file.name.endswith(".sql")]
    return sorted(found, key=lambda migration: migration.number)


async def upgrade(database: Database) -> list[Migration]:
    """Apply the missing migrations, and return them. A database from a newer program is refused."""
    known = migrations()
    async with database.connection() as connection:
        applied = await version(connection)
        _refuse_newer(applied, known)
        if applied == known[-1].number:
            return []
        try:
            return await _apply(connection, known)
        except psycopg.errors.InsufficientPrivilege as error:
            raise RightsMissing(connection.info.user, connection.info.dbname, error) from error
        except psycopg.errors.FeatureNotSupported as error:
            if 'extension "vector"' not in str(error):
                raise
            raise VectorsMissing(connection.info.dbname) from error


async def version(connection: Connection) -> int:
    """Return the number of the last migration applied; 0 for an empty database."""
    exists = await connection.execute("SELECT to_regclass('detent.migration') IS NOT NULL AS exists")
    row = await exists.fetchone()
    if row is None or not row.exists:
        return 0
    latest = await connection.execute("SELECT coalesce(max(number), 0) AS number FROM detent.migration")
    found = await latest.fetchone()
    return int(found.number) if found else 0


async def _apply(connection: Connection, known: list[Migration]) -> list[Migration]:
    applied = []
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        if not (await connection.execute(_SCHEMA_EXISTS)).rowcount:  # an administrator may have created it
            await connection.execute("CREATE SCHEMA detent")
        await connection.execute(_RECORD.encode(), prepare=False)
        present = await version(connection)
        _refuse_newer(present, known)
        for migration in known:
            if migration.number > present:
                await connection.execute(migration.statements.encode(), prepare=False)
                await connection.execute(
                    "INSERT INTO detent.migration (number, name) VALUES (%s, %s)",
                    [migration.number, migration.name],
                )
                applied.append(migration)
    return applied


def _refuse_newer(applied: int, known: list[Migration]) -> None:
    if applied > known[-1].number:
        raise SchemaTooNew(
            f"The database has schema {applied}, and this Detent knows schemas up to {known[-1].number}. "
            "A newer Detent has upgraded it: upgrade this one too."
        )


def _read(filename: str, text: str) -> Migration:
    number, name = filename.removesuffix(".sql").split("_", 1)
    return Migration(int(number), name, text)
