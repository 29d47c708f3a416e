"""Connections to PostgreSQL: one pool per process, and the beginning of transactions.

The engine's statements are look-ups and short ranges, always through an index. Their best plan does not depend on
the number of items, so its connections do not consider plans that read whole tables: a plan chosen on yesterday's
statistics never scans a million items to claim ten.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime
from typing import Any

import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg.rows import namedtuple_row
from psycopg_pool import AsyncConnectionPool

from detent.errors import DatabaseAway, DatabaseBusy
from detent.store.address import read
from detent.store.statements import SQL

Connection = AsyncConnection[Any]

SESSION = {
    "search_path": "detent,public",
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "default_transaction_isolation": r"read\ committed",
    "jit": "off",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "application_name": "detent",
}


_PRESENCE = {"keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
"""Time until a lost server or network is noticed, unless the connection string sets it."""

PASSING = (
    "25006",  # read only: a standby, or a server under maintenance
    "25P03",  # idle in a transaction for too long
    "25P04",  # a transaction over its timeout
    "40",  # a deadlock, a conflict between transactions
    "53",  # no room on the disk, in memory, for connections
    "55P03",  # a lock held by another session
    "57014",  # a statement that was cancelled, or is over its timeout
    "58",  # an error of the server's machine
)
"""Prefixes of error codes that are not the statement's fault: the same statement may succeed in a moment."""


class Database:
    """A pool of connections to one database."""

    def __init__(self, conninfo: str, *, size: int = 4, wait_seconds: float = 10.0) -> None:
        self.conninfo = conninfo
        self.now: datetime | None = None
        """The time that the database uses instead of its clock, in tests."""
        self._wait_seconds = wait_seconds
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            min_size=0,
            max_size=size,
            open=False,
            timeout=wait_seconds,
            reconnect_timeout=wait_seconds,
            max_idle=60,
            kwargs=connection_options(conninfo),
            check=None,
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Open a connection in autocommit, for single statements."""
        with passing_told():
            async with self._pool.connection() as connection:
                yield connection

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a connection in a transaction that commits at the end of the block."""
        async with self.connection() as connection, connection.transaction():
            if self.now is not None:
                await connection.execute("SELECT set_config('detent.now', %s, true)", [self.now.isoformat()])
            yield connection

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connection]:
        """Open a connection that sees the database at one moment, whatever is written meanwhile."""
        async with self.connection() as connection:
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            try:
                async with connection.transaction():
                    yield connection
            finally:
                await connection.set_isolation_level(None)
                await connection.set_read_only(None)

    async def fetch(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Run one named statement in its own transaction."""
        if self.now is None:
            async with self.connection() as connection:
                return await fetch(connection, name, parameters)
        async with self.transaction() as connection:
            return await fetch(connection, name, parameters)


def connection_options(conninfo: str = "") -> dict[str, Any]:
    """Return the engine's connection options; the user's own apply too, unless they contradict these."""
    given = read(conninfo)
    own = given.get("options", os.environ.get("PGOPTIONS", ""))
    options = " ".join([own, *(f"-c {name}={value}" for name, value in SESSION.items())]).strip()
    return {
        **{name: value for name, value in _PRESENCE.items() if name not in given},
        "client_encoding": "UTF8",
        "options": options,
        "autocommit": True,
        "row_factory": namedtuple_row,
        "prepare_threshold": 1,
    }


async def fetch(connection: Connection, name: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
    """Run a named statement and return its rows, if it has any."""
    cursor = await connection.execute(SQL[name], parameters)
    return await cursor.fetchall() if cursor.description else []


async def fetch_together(connection: Connection, *statements: tuple[str, Mapping[str, Any]]) -> list[list[Any]]:
    """Run named statements that do not depend on each other in one round trip, and return the rows of each."""
    async with connection.pipeline():
        cursors = [await connection.execute(SQL[name], parameters, binary=True) for name, parameters in statements]
        return [await cursor.fetchall() for cursor in cursors]


@contextlib.contextmanager
def passing_told() -> Iterator[None]:
    """Raise passing errors as DatabaseAway or DatabaseBusy, whatever the driver calls them."""
    try:
        yield
    except psycopg.Error as error:
        if is_away(error):
            raise DatabaseAway(error) from error
        if is_busy(error):
            raise DatabaseBusy(error) from error
        raise


def is_away(error: psycopg.Error) -> bool:
    """True if the error means that the server is not there, rather than that the statement was wrong."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(("08", "57P"))


def is_busy(error: psycopg.Error) -> bool:
    """True if the error means that the server cannot do it now, rather than that the statement was wrong."""
    return (error.sqlstate or "").startswith(PASSING)
