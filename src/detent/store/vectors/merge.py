"""Merging: from the fresh part to parts with an index, and from many small ones to fewer large ones.

`step` does the first of these that there is to do:

1. Parts that are leaving: gather what is still referred to in a new part, make its index, and put it in their place.
2. A full part without an index: make it.
3. A fresh part that has grown: begin another one, and make the index of this one.
4. Parts of similar size, or one that is mostly waste: mark them as leaving, and go on as in 1.

Everything that becomes visible does so in one transaction, so whoever is killed here has done a step or has not; the
next one finds in the database how far it came. Between marking parts and working on them, everybody is waited for
who may still write to them, or counts on a vector in them.
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
"""How many vectors make an index worth while beside others: comparing with so many takes a hundredth of a second."""
FIRST = 50_000
"""How many make the first one worth while: there is nothing else then that a search would have to look at."""
UNSEARCHED = 100_000
"""How many make one worth while as long as nobody searches, and more are coming."""

_LARGE = 200_000
"""An index of fewer vectors is made by one process: it takes seconds, and who searches meanwhile needs the others."""
_TOGETHER, _TOGETHER_UNSEARCHED = 4, 16
"""How many parts of similar size are brought together. Each has to be asked by who searches, and bringing them together
takes longer than making them."""
_QUICK, _THOROUGH = {"links": 12, "candidates": 64}, {"links": 16, "candidates": 128}
"""How an index is made: of few vectors, which are brought together with others one day, in half the time."""
_SAMPLE = 500
_WASTE = 0.5
_GRAPH_BYTES = 900
"""What an index that is being made needs in memory for each vector, beside the vector."""


class OtherMerge(Exception):
    """Somebody else is merging, or has changed the parts meanwhile; there is nothing to do now."""


class Merge:
    """Turns a model's fresh vectors into indexed ones, one step at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def step(self, model: Model, *, at_least: int | None = None, more_to_come: bool = False) -> bool:
        """Do one step; returns whether there was one to do. Harmless at any time, from any number of programs."""
        [row] = await self._database.fetch("is_searched", {"model": model.id})
        try:
            return await self._step(model, at_least, more_to_come=more_to_come, searched=row.searched)
        except (OtherMerge, errors.UndefinedTable):  # a part that is gone, with its model or into another one
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
        """Let everybody who begins now write to a new part."""
        async with self._changing(model) as (connection, listing):
            if (old := listing.fresh) is None or any(not part.indexed for part in listing.full):
                raise OtherMerge
            await _turn(connection, [old], "full")
            await parts.make(connection, model.id, model.dimensions, role="fresh")
            await _next_generation(connection, model)
        return old

    async def _mark(self, model: Model, similar: Sequence[VectorPart]) -> None:
        """Let nobody who begins now count on these parts to stay."""
        async with self._changing(model) as (connection, listing):
            if listing.leaving or not {part.id for part in similar} <= {part.id for part in listing.full}:
                raise OtherMerge
            await _turn(connection, similar, "leaving")
            await _next_generation(connection, model)

    async def _index(self, model: Model, part: VectorPart) -> bool:
        """Make the index of a full part."""
        if (generation := await parts.drained(self._database, model.id)) is None:
            return False
        async with self._changing(model, generation) as (connection, listing):
            if not any(full.id == part.id and not full.indexed for full in listing.full):
                raise OtherMerge
            count = await _build(connection, model, part)
            await fetch(connection, "count_part", {"part": part.id, "count": count})
        return True

    async def _gather(self, model: Model) -> bool:
        """Put one part in the place of those that are leaving."""
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
        """A transaction that changes parts: none, if somebody else is in one, or if the list is no longer the one
        of this generation."""
        async with self._database.transaction() as connection:
            [row] = await fetch(connection, "lock_merging", {"lock": LOCK})
            if not row.locked:
                raise OtherMerge
            listing = await parts.read(connection, model.id)
            if listing.retired or generation not in (None, listing.generation):
                raise OtherMerge
            yield connection, listing


def _enough(listing: Listing, *, patient: bool) -> int:
    """How many vectors the next index is made of."""
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
    """Parts of similar size, if their index can be made in memory; or one of which most is not needed."""
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
    """As many of these parts as one index can be made of in memory: where many have gathered, all of them, so that none
    is brought together twice."""
    count, fitting = 0, 0
    for part in tier:
        count += part.count
        fitting += _build_bytes(model, count) <= most_bytes
    return tier[:fitting]


async def _is_waste(connection: Connection, part: VectorPart) -> bool:
    """Whether nobody refers any more to most of a part, judged by some of its vectors."""
    percent = min(100.0, 100.0 * _SAMPLE / part.count)
    [row] = await run(connection, compose("sample_part", part=part.name, percent=percent))
    return bool(row.used < _WASTE * row.count)


async def _copy(connection: Connection, part: VectorPart, target: VectorPart) -> None:
    await run(connection, compose("gather_vectors", part=target.name, leaving=part.name))


async def _build(connection: Connection, model: Model, part: VectorPart) -> int:
    """Make a part's index; returns of how many vectors. Where the processes that help with that get no shared
    memory, as in many containers, it is made without them."""
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
    """From this transaction on, the list is another one; raises if somebody has retired the model meanwhile."""
    if not await fetch(connection, "next_generation", {"model": model.id}):
        raise OtherMerge


def _build_bytes(model: Model, count: int) -> int:
    return count * (2 * model.dimensions + _GRAPH_BYTES)
