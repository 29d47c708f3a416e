"""Writing vectors inside the transaction that settles their items.

The transaction that records which text an item has (`embedding.hash`) either writes the text's vector here or
protects an existing one. Either way, until it ends, no vector that it relies on is dropped as unused.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg import errors

from detent.errors import ModelRetired
from detent.store.database import Connection, fetch
from detent.store.vectors import parts, wire
from detent.store.vectors.models import Model
from detent.store.vectors.parts import Listing, VectorPart
from detent.store.vectors.tables import compose, run, union
from detent.store.vectors.wire import Numbers


class Writing:
    def __init__(self) -> None:
        self._halfvec_type: int | None = None

    async def write(self, connection: Connection, model: Model, hashes: Sequence[UUID], vectors: Numbers) -> None:
        """Write the vectors that do not exist yet.

        It waits for those that others are writing at this moment, all in one order; so a transaction writes all of
        its vectors of a model at once.
        """
        names, values = wire.sorted_once(hashes, wire.checked(vectors, model.dimensions, len(hashes)))
        if not len(names):
            return
        listing, fresh = await _announced(connection, model)
        statement = compose("write_vectors", part=fresh.name, absent=parts.absent(listing.full))
        halfvec_type = await self._type(connection)
        wire.accept(connection)
        parameters = {"hashes": wire.uuids(names), "vectors": wire.halfvecs(values, halfvec_type)}
        await connection.execute(statement, parameters)

    async def load(self, connection: Connection, model: Model, hashes: Sequence[UUID], vectors: Numbers) -> None:
        """Write vectors as `write` does, by COPY, for many at once. If another transaction wrote one of them at
        the same moment, they are written by `write`."""
        vectors = wire.checked(vectors, model.dimensions, len(hashes))
        known = await self.keep(connection, model, hashes)
        unknown = [position for position, entry in enumerate(hashes) if entry not in known]
        hashes, vectors = [hashes[position] for position in unknown], vectors[unknown]
        names, values = wire.sorted_once(hashes, vectors)
        _, fresh = await _announced(connection, model)
        try:
            async with connection.transaction():
                await _copy(connection, fresh, wire.copy_lines(names, values))
        except errors.UniqueViolation:
            await self.write(connection, model, hashes, vectors)

    async def keep(self, connection: Connection, model: Model, hashes: Sequence[UUID]) -> set[UUID]:
        """Return the texts that have a vector. It stays until the transaction ends, and after that as long as an
        item refers to it."""
        listing, fresh = await _announced(connection, model)
        wire.accept(connection)
        parameters = {"hashes": wire.uuids_of(sorted(hashes))}
        staying = parts.absent(listing.full)
        for part in listing.leaving:
            statement = compose("rescue_vectors", part=fresh.name, leaving=part.name, absent=staying)
            await run(connection, statement, parameters)
        return await _known(connection, [*listing.full, fresh], parameters)

    async def _type(self, connection: Connection) -> int:
        if self._halfvec_type is None:
            [row] = await fetch(connection, "halfvec_type")
            self._halfvec_type = row.oid
        return self._halfvec_type


async def _copy(connection: Connection, part: VectorPart, lines: bytes) -> None:
    async with connection.cursor() as cursor, cursor.copy(compose("copy_vectors", part=part.name)) as copy:
        await copy.write(lines)


async def known(connection: Connection, listing: Listing, hashes: Sequence[UUID]) -> set[UUID]:
    """Return the texts that have a vector now."""
    wire.accept(connection)
    return await _known(connection, listing.present, {"hashes": wire.uuids_of(hashes)})


async def get(connection: Connection, listing: Listing, hash: UUID) -> NDArray[np.float32] | None:  # noqa: A002
    """Return one text's vector."""
    if not listing.present:
        return None
    statement = union(compose("vector_in_part", part=part.name) for part in listing.present)
    async with connection.cursor(binary=True) as cursor:
        row = await (await cursor.execute(statement, {"hash": hash}, prepare=False)).fetchone()
    return None if row is None else wire.read_halfvec(row.vector)


async def _known(connection: Connection, among: Sequence[VectorPart], parameters: dict[str, wire.Wire]) -> set[UUID]:
    if not among:
        return set()
    statement = union(compose("known_in_part", part=part.name) for part in among)
    return {row.hash for row in await run(connection, statement, parameters)}


async def _announced(connection: Connection, model: Model) -> tuple[Listing, VectorPart]:
    listing = await parts.announce(connection, model.id)
    if listing.retired:
        raise ModelRetired(model)
    if listing.fresh is None:
        raise LookupError(f"The table for new vectors of {model} is missing; register the model again to create one.")
    return listing, listing.fresh
