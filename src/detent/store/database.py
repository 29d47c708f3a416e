"""Connections to PostgreSQL: one pool per process, and how a transaction begins.

The engine's statements are look-ups and short ranges, always through an index. Their best plan does not
depend on how many items there are today, so its connections are told not to consider plans that read whole
tables: a plan chosen on yesterday's statistics never scans a million items to claim ten.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from detent.errors import DatabaseAway
from detent.store.statements import SQL

Connection = AsyncConnection[Any]

SESSION = {
    "search_path": "detent,public",
    "timezone": "UTC",
    "jit": "off",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "application_name": "detent",
}


class Database:
    """A pool of connections to one database."""

    def __init__(self, conninfo: str, *, size: int = 4, wait_seconds: float = 10.0) -> None:
        self.conninfo = conninfo
        self.now: datetime | None = None
        """In tests, the time that the database shall believe it is."""
        self._wait_seconds = wait_seconds
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            min_size=0,
            max_size=size,
            open=False,
            timeout=wait_seconds,
            reconnect_timeout=wait_seconds,
            max_idle=60,
            kwargs=connection_options(),
            check=None,
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection in autocommit, for single statements."""
        try:
            async with self._pool.connection() as connection:
                yield connection
        except PoolTimeout as error:
            raise DatabaseAway(error) from error
        except psycopg.OperationalError as error:
            if is_away(error):
                raise DatabaseAway(error) from error
            raise

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A connection in a transaction that commits at the end of the block."""
        async with self.connection() as connection, connection.transaction():
            if self.now is not None:
                await connection.execute("SELECT set_config('detent.now', %s, true)", [self.now.isoformat()])
            yield connection

    async def fetch(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Run one named statement in its own transaction."""
        if self.now is None:
            async with self.connection() as connection:
                return await fetch(connection, name, parameters)
        async with self.transaction() as connection:
            return await fetch(connection, name, parameters)


def connection_options() -> dict[str, Any]:
    options = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    return {"autocommit": True, "row_factory": namedtuple_row, "prepare_threshold": 1, "options": options}


async def fetch(connection: Connection, name: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
    """Run a named statement and return its rows, if it gives any."""
    cursor = await connection.execute(SQL[name], parameters)
    return await cursor.fetchall() if cursor.description else []


def is_away(error: psycopg.Error) -> bool:
    """Whether the error says that the server is not there, and not that the statement was wrong."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(("08", "57P"))
