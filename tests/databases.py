"""A database that is used again."""

from __future__ import annotations

from detent.store import Store

_TABLES = """
    SELECT format('%I.%I', nspname, relname) AS name
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = 'detent' AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migration'
    ORDER BY relname <> 'kind', relname"""


async def empty(store: Store) -> None:
    """Take everything out of a database. What the store knows of its kinds is old then."""
    async with store.database.connection() as connection:
        for table in await (await connection.execute(_TABLES)).fetchall():
            await connection.execute(f"DELETE FROM {table.name}".encode())  # noqa: S608  our own tables
