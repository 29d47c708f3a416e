"""Merging: from the fresh part to parts with an index, and from many small parts to fewer large ones.

`step` does the first of these that is due:

1. Parts that are leaving: copy the vectors still in use to a new part, build its index, and replace them by it.
2. A full part without an index: build it.
3. A fresh part that has grown: begin another one, and build the index of this one.
4. Parts of similar size, or one that is mostly waste: mark them as leaving, and go on as in 1.

Every visible change happens in one transaction, so a killed process has done a step or has not; the next one finds
its progress in the database. Between marking parts and working on them, the step waits for everybody who may still
write to them, or relies on a vector in them.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence

from psycopg import errors

from detent.store.database import Connection, Database, fetch
from detent.store.vectors import parts
from detent.store.vectors.models import Model
from detent.store.vectors.parts import Listing, VectorPart
from detent.store.vectors.tables import compose, run

LOCK = 0x0DE7E27_07
AT_LEAST = 20_000
"""Number of vectors that are worth an index beside others: comparing this many takes a hundredth of a second."""
FIRST = 50_000
"""Number of vectors that are worth the first index: a search has nothing else to look at."""
UNSEARCHED = 100_000
"""Number of vectors that are worth an index while nobody searches and more are coming."""

_LARGE = 200_000
"""Vectors above which an index is built by several processes. Fewer take seconds with one, and concurrent searches
need the others."""
_TOGETHER, _TOGETHER_UNSEARCHED = 4, 16
"""Number of similar parts that are merged. A search asks each of them, and merging takes longer than building them."""
_QUICK, _THOROUGH = {"links": 12, "candidates": 64}, {"links": 16, "candidates": 128}
"""Build options: quick for few vectors, which will be merged one day, in half the time; thorough for many."""
_SAMPLE = 500
_WASTE = 0.5
_GRAPH_BYTES = 900
"""Bytes of memory per vector for an index build, besides the vector itself."""


class OtherMerge(Exception):
    """Another process is merging, or has changed the parts meanwhile; there is nothing to do now."""


class Merge:
    """Turns a model's fresh vectors into indexed ones, one step at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def step(self, model: Model, *, at_least: int | None = None, more_to_come: bool = False) -> bool:
        """Do one step; return True if there was one to do. Harmless at any time, from any number of programs."""
        [row] = await self._database.fetch("is_searched", {"model": model.id})
        try:
            return await self._step(model, at_least, more_to_come=more_to_come, searched=row.searched)
        except (OtherMerge, errors.UndefinedTable):  # a part that is gone, with its model or merged into another
            return False

    async def _step(self, model: Model, at_least: int | None, *, more_to_come: bool, searched: bool) -> bool:
        async with self._database.connection() as connection:
            listing = await parts.read(connection, model.id)
            enough = at_least or _enough(listing, patient=more_to_come and not searched)
            grown = not listing.retired and await _has_grown(connection, listing.fresh, enough)
            together = _TOGETHER if searched else _TOGETHER_UNSEARCHED
            similar = await _worth_gathering(connection, model, listing.full, together)
        if listing.retired:
            return False
        if listing.leaving:
            return await self._gather(model)
        if bare := [part for part in listing.full if not part.indexed]:
            return await self._index(model, bare[0])
        if grown:
            return await self._index(model, await self._close(model))
        if similar:
            await self._mark(model, similar)
            return await self._gather(model)
        return False

    async def _close(self, model: Model) -> VectorPart:
        """Begin a new fresh part for everybody who begins to write now."""
        async with self._changing(model) as (connection, listing):
            if (old := listing.fresh) is None or any(not part.indexed for part in listing.full):
                raise OtherMerge
            await _turn(connection, [old], "full")
            await parts.make(connection, model.id, model.dimensions, role="fresh")
            await _next_generation(connection, model)
        return old

    async def _mark(self, model: Model, similar: Sequence[VectorPart]) -> None:
        """Mark parts as leaving: nobody who begins now relies on them to stay."""
        async with self._changing(model) as (connection, listing):
            if listing.leaving or not {part.id for part in similar} <= {part.id for part in listing.full}:
                raise OtherMerge
            await _turn(connection, similar, "leaving")
            await _next_generation(connection, model)

    async def _index(self, model: Model, part: VectorPart) -> bool:
        """Build the index of a full part."""
        if (generation := await parts.drained(self._database, model.id)) is None:
            return False
        async with self._changing(model, generation) as (connection, listing):
            if not any(full.id == part.id and not full.indexed for full in listing.full):
                raise OtherMerge
            count = await _build(connection, model, part)
            await fetch(connection, "count_part", {"part": part.id, "count": count})
        return True

    async def _gather(self, model: Model) -> bool:
        """Replace the parts that are leaving by one."""
        if (generation := await parts.drained(self._database, model.id)) is None:
            return False
        async with self._changing(model, generation) as (connection, listing):
            if not listing.leaving:
                raise OtherMerge
            target = await parts.make(connection, model.id, model.dimensions, role="full")
            for part in listing.leaving:
                await _copy(connection, part, target)
            count = await _build(connection, model, target)
            await fetch(connection, "count_part", {"part": target.id, "count": count})
            await _next_generation(connection, model)
            replaced = listing.leaving if count else [*listing.leaving, target]
            await fetch(connection, "unlist_parts", {"parts": [part.id for part in replaced]})
        await parts.drained(self._database, model.id)
        await parts.tidy(self._database)
        return True

    @contextlib.asynccontextmanager
    async def _changing(self, model: Model, generation: int | None = None) -> AsyncIterator[tuple[Connection, Listing]]:
        """Open a transaction that changes parts; OtherMerge if another process is in one, or if the list is no
        longer of this generation."""
        async with self._database.transaction() as connection:
            [row] = await fetch(connection, "lock_merging", {"lock": LOCK})
            if not row.locked:
                raise OtherMerge
            listing = await parts.read(connection, model.id)
            if listing.retired or generation not in (None, listing.generation):
                raise OtherMerge
            yield connection, listing


def _enough(listing: Listing, *, patient: bool) -> int:
    """Return the number of vectors that the next index needs."""
    if patient:
        return UNSEARCHED
    return AT_LEAST if listing.full else FIRST


async def _has_grown(connection: Connection, fresh: VectorPart | None, at_least: int) -> bool:
    if fresh is None:
        return False
    [row] = await run(connection, compose("count_vectors", part=fresh.name), {"limit": at_least})
    return bool(row.count >= at_least)


async def _worth_gathering(
    connection: Connection, model: Model, full: Sequence[VectorPart], together: int
) -> Sequence[VectorPart]:
    """Return parts of similar size, if their index fits in memory; or one part that is mostly unused."""
    [row] = await fetch(connection, "build_memory")
    tiers = defaultdict(list)
    for part in full:
        tiers[int(math.log(part.count or 1, together))].append(part)
    for _, tier in sorted(tiers.items()):
        fitting = _that_fit(model, tier, row.bytes)
        if len(fitting) >= together:
            return fitting
    return [part for part in full if part.count and await _is_waste(connection, part)][:1]


def _that_fit(model: Model, tier: Sequence[VectorPart], most_bytes: int) -> Sequence[VectorPart]:
    """Return as many of these parts as one index fits in memory; if many have gathered, all of them, so that none
    is merged twice."""
    count, fitting = 0, 0
    for part in tier:
        count += part.count
        fitting += _build_bytes(model, count) <= most_bytes
    return tier[:fitting]


async def _is_waste(connection: Connection, part: VectorPart) -> bool:
    """True if most of a part is no longer referred to, judged by a sample of its vectors."""
    percent = min(100.0, 100.0 * _SAMPLE / part.count)
    [row] = await run(connection, compose("sample_part", part=part.name, percent=percent))
    return bool(row.used < _WASTE * row.count)


async def _copy(connection: Connection, part: VectorPart, target: VectorPart) -> None:
    await run(connection, compose("gather_vectors", part=target.name, leaving=part.name))


async def _build(connection: Connection, model: Model, part: VectorPart) -> int:
    """Build a part's index; return its number of vectors.

    If parallel workers get no shared memory, as in many containers, it is built without them.
    """
    count = await parts.count(connection, part)
    needed = {"needed": _build_bytes(model, count)}
    helpers = (os.cpu_count() or 1) // 2 if count >= _LARGE else 0
    await fetch(connection, "set_build", needed | {"workers": helpers})
    index = f"{part.name}_nearest"
    await run(connection, compose("drop_part_index", index=index))
    statement = compose("index_part", part=part.name, index=index, **(_THOROUGH if count >= _LARGE else _QUICK))
    try:
        async with connection.transaction():
            await run(connection, statement)
    except (errors.DiskFull, errors.OutOfMemory):
        await fetch(connection, "set_build_alone")
        await run(connection, statement)
    await run(connection, compose("analyze_part", part=part.name))
    return count


async def _turn(connection: Connection, turned: Sequence[VectorPart], role: str) -> None:
    await fetch(connection, "turn_parts", {"parts": [part.id for part in turned], "role": role})


async def _next_generation(connection: Connection, model: Model) -> None:
    """Give the list a new generation with this transaction; raise if somebody has retired the model meanwhile."""
    if not await fetch(connection, "next_generation", {"model": model.id}):
        raise OtherMerge


def _build_bytes(model: Model, count: int) -> int:
    return count * (2 * model.dimensions + _GRAPH_BYTES)
