"""Reservations: which texts a process is embedding now, so that no other process embeds the same at the same time.

They are PostgreSQL's own locks, held by one connection: when the process dies, or its connection does, they are gone,
and nothing is left to tidy up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import psycopg

from detent.errors import DatabaseAway
from detent.store import arrays
from detent.store.database import Connection, Database, connection_options, fetch, is_away


class Reservations:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._held: set[UUID] = set()
        self._over: set[UUID] = set()

    async def take(self, hashes: Iterable[UUID]) -> set[UUID]:
        """Reserve texts; returns those that nobody has, not even another call of this process."""
        await self.flush()
        wanted = {_key(number): number for number in set(hashes) - self._held}
        if not wanted:
            return set()
        try:
            rows = await self._fetch("try_reserve", wanted)
        except psycopg.errors.OutOfMemory:  # the server has no room for so many locks: then it is done without
            return set(wanted.values())
        taken = {wanted[row.key] for row in rows if row.taken}
        self._held |= taken
        return taken

    def free(self, hashes: Iterable[UUID]) -> None:
        """What was reserved is done; others are told with the next call."""
        self._over |= self._held.intersection(hashes)

    async def flush(self) -> None:
        """Tell others what is done."""
        over, self._over = self._over, set()
        if over:
            self._held -= over
            await self._fetch("end_reservations", [_key(number) for number in over])

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _fetch(self, statement: str, keys: Iterable[int]) -> list[Any]:
        try:
            return await fetch(await self._own(), statement, {"keys": arrays.integers(keys)})
        except psycopg.Error as error:
            if is_away(error):
                raise DatabaseAway(error) from error
            raise

    async def _own(self) -> Connection:
        """The connection that holds the locks. With another one, nothing is held any more."""
        if self._connection is None or self._connection.closed:
            self._held.clear()
            options = connection_options(self._database.conninfo)
            self._connection = await psycopg.AsyncConnection.connect(self._database.conninfo, **options)
        return self._connection


def _key(number: UUID) -> int:
    return int.from_bytes(number.bytes[:8], signed=True)
