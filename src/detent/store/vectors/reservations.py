"""Reservations: the texts that a process is embedding now, so that no other process embeds the same at the same
time.

They are PostgreSQL's own locks, held by one connection: when the process or its connection dies, they are gone,
and nothing is left to tidy up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from uuid import UUID

import psycopg

from detent.store import arrays
from detent.store.database import Connection, Database, connection_options, fetch, passing_told


class Reservations:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._one_at_a_time = asyncio.Lock()
        self._held: set[UUID] = set()
        self._over: set[UUID] = set()

    async def take(self, hashes: Iterable[UUID]) -> set[UUID]:
        """Reserve texts; return those that nobody else has reserved, not even another call of this process."""
        async with self._session() as connection:
            await self._end(connection)
            wanted = {_key(number): number for number in set(hashes) - self._held}
            if not wanted:
                return set()
            try:
                rows = await fetch(connection, "try_reserve", {"keys": arrays.integers(wanted)})
            except psycopg.errors.OutOfMemory:  # the server has no room for so many locks: go on without them
                await self.close()
                return set(wanted.values())
            taken = {wanted[row.key] for row in rows if row.taken}
            self._held |= taken
            return taken

    def held(self, hashes: Iterable[UUID]) -> set[UUID]:
        """Return the texts that this process has reserved, by any call."""
        return self._held.intersection(hashes)

    def free(self, hashes: Iterable[UUID]) -> None:
        """Release reservations; other processes see it with the next call."""
        self._over |= self._held.intersection(hashes)

    async def flush(self) -> None:
        """Make released texts available to other processes."""
        if self._over:
            async with self._session() as connection:
                await self._end(connection)

    async def close(self) -> None:
        """Release all reservations."""
        self._held.clear()
        self._over.clear()
        if self._connection is not None:
            await self._connection.close()

    async def _end(self, connection: Connection) -> None:
        over, self._over = self._over, set()
        if over:
            self._held -= over
            await fetch(connection, "end_reservations", {"keys": arrays.integers(map(_key, over))})

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncIterator[Connection]:
        """Open the connection that holds the locks.

        After an error it is unknown which locks were taken or released before it, since they outlive their
        statement. So the connection is closed, which releases all of them.
        """
        async with self._one_at_a_time:
            try:
                with passing_told():
                    yield await self._own()
            except BaseException:
                await self.close()
                raise

    async def _own(self) -> Connection:
        """Return the connection, or a new one, which holds no locks."""
        if self._connection is None or self._connection.closed:
            self._held.clear()
            self._over.clear()
            options = connection_options(self._database.conninfo)
            self._connection = await psycopg.AsyncConnection.connect(self._database.conninfo, **options)
        return self._connection


def _key(number: UUID) -> int:
    return int.from_bytes(number.bytes[:8], signed=True)
