"""Search: the items whose texts are nearest to a vector, by the angle between them.

Each part with an index is asked for its nearest vectors, each part without one is compared completely, and the
nearest of all are returned. A filter is applied while an index is scanned; the scan goes on until enough vectors
have passed. If a filter leaves few items, those are compared and no index is used; and if an index gave too few,
everything that the filter leaves is compared too, so that every match is found, however rare.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from psycopg import errors, sql

from detent.errors import DatabaseBusy, ModelRetired
from detent.store.database import Connection, Database, fetch
from detent.store.statements import SQL
from detent.store.vectors import parts, wire
from detent.store.vectors.models import Model
from detent.store.vectors.parts import Listing, VectorPart
from detent.store.vectors.tables import all_of, compose, run, union
from detent.store.vectors.wire import Numbers

FEW = 10_000
"""A filter that leaves at most this many items is answered by comparing those."""

SMALL = 200_000
"""A part that lost its index is compared completely if it is smaller than this: that takes a tenth of a second."""

LARGE = 300_000
_CANDIDATES, _CANDIDATES_OF_LARGE, _MOST_CANDIDATES = 160, 240, 1000
"""Number of candidates that an index is asked for at a time. A large index needs more to find the nearest."""
_MOST_SCANNED = 20_000
_NOTE_SECONDS = 300.0


class VectorHit(NamedTuple):
    item_id: int
    hash: UUID
    similarity: float


@dataclass(frozen=True)
class VectorHits:
    """The nearest items, best first. `notes` name what could not be searched properly, one sentence each."""

    hits: list[VectorHit]
    notes: list[str]


@dataclass(frozen=True)
class Filter:
    """The wanted items: those of these kinds, those allowed, or both; None allows all."""

    kinds: Collection[int] | None
    allowed: Collection[int] | None

    def __bool__(self) -> bool:
        return self.kinds is not None or self.allowed is not None

    def condition(self, *, each: bool) -> sql.Composed:
        """Return the condition on an item: checked for `each` near item, or used to look the items up."""
        conditions = []
        if self.kinds is not None:
            conditions.append(compose("of_kinds_each" if each else "of_kinds"))
        if self.allowed is not None:
            conditions.append(compose("of_allowed_each" if each or len(self.allowed) > FEW else "of_allowed"))
        return all_of(conditions)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"kinds": list(self.kinds or ()), "allowed": wire.integers(self.allowed or ())}

    async def is_narrow(self, connection: Connection) -> bool:
        if self.allowed is not None and len(self.allowed) <= FEW:
            return True
        if self.kinds is None:
            return False
        [row] = await fetch(connection, "count_items", {"kinds": list(self.kinds)})
        return bool(row.count <= FEW)


class VectorSearch:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: dict[int, float] = {}

    async def nearest(
        self,
        model: Model,
        vector: Numbers,
        *,
        limit: int,
        kinds: Collection[int] | None = None,
        allowed: Collection[int] | None = None,
    ) -> VectorHits:
        values = wire.checked(np.asarray(vector)[None, :], model.dimensions, 1)[0]
        wanted = Filter(kinds, allowed)
        parameters = {"vector": wire.halfvec(values), "limit": limit, **wanted.parameters}

        await self._note(model)

        async def find(connection: Connection, listing: Listing) -> VectorHits:
            if listing.retired:
                raise ModelRetired(model)
            wire.accept(connection)
            rows = await _find(connection, _searchable(listing), wanted, parameters)
            return VectorHits([VectorHit(r.item_id, r.hash, 1.0 - r.distance) for r in rows], _notes(listing))

        return await parts.reading(self._database, model.id, find)

    async def _note(self, model: Model) -> None:
        """Record now and then that this model is searched. If the database is read-only, nobody loads either."""
        now = time.monotonic()
        if now - self._noted.get(model.id, -math.inf) > _NOTE_SECONDS:
            self._noted[model.id] = now
            with contextlib.suppress(DatabaseBusy, errors.InsufficientPrivilege):
                await self._database.fetch("note_search", {"model": model.id})


async def _find(
    connection: Connection, searched: list[VectorPart], wanted: Filter, parameters: dict[str, Any]
) -> list[Any]:
    if not searched:
        return []
    if wanted and await wanted.is_narrow(connection):
        return await run(connection, _among(searched, wanted), parameters)
    rows = await _find_near(connection, searched, wanted, parameters)
    if len(rows) >= parameters["limit"] or not any(part.indexed for part in searched):
        return rows
    await fetch(connection, "allow_any_plan")
    statement = _among(searched, wanted) if wanted else _near(searched, wanted, by_index=False)
    return await run(connection, statement, parameters | {"farthest": math.inf})


async def _find_near(
    connection: Connection, searched: list[VectorPart], wanted: Filter, parameters: dict[str, Any]
) -> list[Any]:
    """Return the nearest of all parts, each asked as thoroughly as its size requires."""
    limit = parameters["limit"]
    farthest = math.inf
    near: dict[tuple[int, UUID], Any] = {}
    nearest: list[Any] = []
    for candidates, some in _by_size(searched).items():
        asked = min(max(candidates, limit), _MOST_CANDIDATES)
        async with connection.pipeline():
            await connection.execute(SQL["set_search"], {"candidates": asked, "most": max(_MOST_SCANNED, 4 * limit)})
            cursor = await connection.execute(_near(some, wanted), parameters | {"farthest": farthest}, prepare=False)
            for row in await cursor.fetchall():
                near.setdefault((row.item_id, row.hash), row)
        nearest = sorted(near.values(), key=lambda row: (row.distance, row.item_id))[:limit]
        farthest = nearest[-1].distance if len(nearest) == limit else math.inf
    return nearest


def _by_size(searched: list[VectorPart]) -> dict[int, list[VectorPart]]:
    """Group the parts by the number of candidates their indexes are asked for, large ones first."""
    found: dict[int, list[VectorPart]] = {}
    for part in sorted(searched, key=lambda part: -part.count):
        found.setdefault(_CANDIDATES_OF_LARGE if part.count > LARGE else _CANDIDATES, []).append(part)
    return found


def _near(searched: list[VectorPart], wanted: Filter, *, by_index: bool = True) -> sql.Composed:
    condition = wanted.condition(each=True)
    branches = [
        compose("near_by_index" if by_index and part.indexed else "near_by_scan", part=part.name, filter=condition)
        for part in searched
    ]
    return compose("nearest", near=union(branches))


def _among(searched: list[VectorPart], wanted: Filter) -> sql.Composed:
    branches = [compose("near_among", part=part.name) for part in searched]
    return compose("nearest_among", near=union(branches), filter=wanted.condition(each=False))


def _searchable(listing: Listing) -> list[VectorPart]:
    return [part for part in listing.present if not _is_left_out(part)]


def _notes(listing: Listing) -> list[str]:
    lost = [f"The vectors of {part.name} were not searched: the table is missing." for part in listing.lost]
    left_out = [
        f"The {part.count:,} vectors of {part.name} were not searched: their index is missing, "
        "and will be rebuilt in the background."
        for part in listing.present
        if _is_left_out(part)
    ]
    slow = [
        f"The {part.count:,} vectors of {part.name} were searched without an index, which is missing "
        "and will be rebuilt in the background."
        for part in listing.present
        if part.count and not part.indexed and not _is_left_out(part)
    ]
    return [*lost, *left_out, *slow]


def _is_left_out(part: VectorPart) -> bool:
    """True if the part had an index, has none now, and is too large to be compared completely."""
    return not part.indexed and part.count > SMALL
