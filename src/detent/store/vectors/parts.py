"""Parts: the list of a model's tables, the announcements of its writers, and the creation and removal of tables.

The rule that keeps every vector: a list is only ever replaced together with the model's generation, in one
transaction; a writer announces the generation first and reads the list then. So, once a list is replaced and every
writer that announced an earlier generation has ended, nobody writes to a table that only the earlier list had, or
relies on a vector there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from psycopg import errors, sql

from detent.errors import DatabaseBusy
from detent.store.database import Connection, Database, fetch
from detent.store.vectors.tables import all_of, compose, run

_WRITERS = 0x0DE70000
"""Added to a model's number, the first half of the lock key under which its writers announce themselves."""

PATIENCE_SECONDS, _PAUSE_SECONDS = 5.0, 0.02
"""Time to wait for writers that use an earlier list, and the pause between two looks. After that, a later step
tries again."""

_FIRST = UUID(int=0)
_TRIES = 10

Found = TypeVar("Found")


@dataclass(frozen=True)
class VectorPart:
    """A table of vectors. `indexed`: it has a usable index; `present`: the table exists."""

    id: int
    name: str
    role: str
    count: int
    present: bool
    indexed: bool


@dataclass(frozen=True)
class Listing:
    """A model's parts at one moment."""

    model: int
    retired: bool
    generation: int
    parts: tuple[VectorPart, ...]

    @property
    def present(self) -> list[VectorPart]:
        return [part for part in self.parts if part.present]

    @property
    def lost(self) -> list[VectorPart]:
        """The parts whose table somebody dropped."""
        return [part for part in self.parts if not part.present]

    @property
    def fresh(self) -> VectorPart | None:
        return next((part for part in self.present if part.role == "fresh"), None)

    @property
    def full(self) -> list[VectorPart]:
        return [part for part in self.present if part.role == "full"]

    @property
    def leaving(self) -> list[VectorPart]:
        return [part for part in self.present if part.role == "leaving"]


async def read(connection: Connection, model: int) -> Listing:
    """Read the list as it is now.

    A missing table may have been dropped since the list was read, by somebody who replaced the list: then the list
    is a new one by now.
    """
    listing = await _read(connection, model)
    while listing.lost:
        again = await _read(connection, model)
        if again.generation == listing.generation:
            return again
        listing = again
    return listing


async def _read(connection: Connection, model: int) -> Listing:
    rows = await fetch(connection, "vector_list", {"model": model})
    if not rows:
        return Listing(model, True, 0, ())
    listed = [VectorPart(r.id, r.name, r.role, r.count, r.present, r.indexed) for r in rows if r.id is not None]
    return Listing(model, rows[0].model_role == "former", rows[0].generation, tuple(listed))


async def reading(database: Database, model: int, find: Callable[[Connection, Listing], Awaitable[Found]]) -> Found:
    """Return what `find` finds with the list of the model's parts: with a newer list if a table was dropped
    meanwhile."""
    tries = _TRIES
    while True:
        try:
            async with database.transaction() as connection:
                return await find(connection, await read(connection, model))
        except errors.UndefinedTable:
            tries -= 1
            if not tries:
                raise


async def announce(connection: Connection, model: int) -> Listing:
    """Announce a writer, and return the list to write by. Until the transaction ends, no vector found by it is
    removed."""
    listing = await read(connection, model)
    while True:
        await fetch(connection, "announce_writer", _writers(model, listing.generation))
        again = await read(connection, model)
        if again.generation == listing.generation:
            return again
        listing = again


async def exclude_writers(connection: Connection, model: int) -> bool:
    """Keep writers away from the model until the transaction ends; return True if that was possible."""
    listing = await read(connection, model)
    await fetch(connection, "exclude_writers", _writers(model, listing.generation))
    again = await read(connection, model)
    return again.generation == listing.generation and not await _earlier(connection, model, again.generation)


async def drained(database: Database, model: int) -> int | None:
    """Wait until every writer of an earlier generation has ended, and return the list's generation; None if that
    takes too long."""
    for _ in range(max(1, int(PATIENCE_SECONDS / _PAUSE_SECONDS))):
        async with database.connection() as connection:
            generation = (await read(connection, model)).generation
            if not await _earlier(connection, model, generation):
                return generation
        await asyncio.sleep(_PAUSE_SECONDS)
    return None


async def make(connection: Connection, model: int, dimensions: int, *, role: str, count: int = 0) -> VectorPart:
    """Create a new, empty part and list it."""
    [row] = await fetch(connection, "list_part", {"model": model, "role": role, "count": count})
    await run(connection, compose("make_part", part=row.name, dimensions=dimensions))
    await run(connection, compose("store_part_plain", part=row.name))
    return VectorPart(row.id, row.name, role, count, present=True, indexed=False)


async def tidy(database: Database) -> list[str]:
    """Drop the tables that are no longer listed and that nobody can be using; return their names.

    Each is dropped in a transaction of its own, which gives up if somebody still reads the table: so a reader that
    holds one table and wants the next never deadlocks with it.
    """
    dropped = []
    for stray in await database.fetch("stray_parts"):
        async with database.connection() as connection:
            if await _earlier(connection, stray.model_id, stray.generation):
                continue
        try:
            async with database.transaction() as connection:
                await fetch(connection, "wait_shortly")
                await run(connection, compose("drop_part", part=stray.name))
        except DatabaseBusy:
            continue
        dropped.append(stray.name)
    return dropped


async def count(connection: Connection, part: VectorPart) -> int:
    [row] = await run(connection, compose("count_vectors", part=part.name), {"limit": None})
    return int(row.count)


def absent(parts: Iterable[VectorPart]) -> sql.Composed:
    """Return the condition that a line's hash is in none of these parts."""
    return all_of(compose("absent_from_part", part=part.name) for part in parts)


async def missing(connection: Connection, listing: Listing, limit: int, after: UUID | None = None) -> Sequence[UUID]:
    """Return texts without a vector in this list, in order."""
    statement = compose("missing_vectors", absent=absent(listing.present))
    rows = await run(connection, statement, {"limit": limit, "after": after or _FIRST})
    return [row.hash for row in rows]


async def _earlier(connection: Connection, model: int, generation: int) -> bool:
    [row] = await fetch(connection, "earlier_writers", _writers(model, generation))
    return bool(row.count)


def _writers(model: int, generation: int) -> dict[str, int]:
    return {"writers": _WRITERS + model, "generation": generation}
