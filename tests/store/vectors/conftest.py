"""A shelf: items with texts and vectors that follow from their numbers, so that a test can say what is nearest."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from detent.store import Store
from detent.store.arrays import integers, texts
from detent.store.database import Connection
from detent.store.vectors.models import Model
from detent.store.vectors.search import VectorHits
from detent.store.vectors.vectors import Vectors

DIMENSIONS = 16


class Shelf:
    def __init__(self, store: Store, model: Model) -> None:
        self.database = store.database
        self.vectors = Vectors(store.database)
        self.model = model

    def hash(self, number: int) -> UUID:
        return uuid.uuid5(uuid.NAMESPACE_OID, str(number))

    def vector(self, number: int, dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
        return np.random.default_rng(number).standard_normal(dimensions).astype(np.float32)

    def rows(self, numbers: Iterable[int], dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
        return np.array([self.vector(number, dimensions) for number in numbers]).reshape(-1, dimensions)

    async def put(self, numbers: Sequence[int], *, kind: int = 1) -> None:
        """Items of these numbers, with their vectors, in one transaction."""
        async with self.database.transaction() as connection:
            await self.write(connection, numbers)
            await self.refer(connection, numbers, kind=kind)

    async def write(self, connection: Connection, numbers: Sequence[int], model: Model | None = None) -> None:
        chosen = model or self.model
        hashes = [self.hash(number) for number in numbers]
        await self.vectors.write(connection, chosen, hashes, self.rows(numbers, chosen.dimensions))

    async def refer(self, connection: Connection, numbers: Sequence[int], *, kind: int = 1) -> None:
        """Items whose texts have these numbers' hashes."""
        lines = {"ids": integers(numbers), "hashes": texts(str(self.hash(n)) for n in numbers), "kind": kind}
        await connection.execute(
            "INSERT INTO item (id, kind_id, state, since, added_at, key) OVERRIDING SYSTEM VALUE "
            "SELECT id, %(kind)s, 'ready', now(), now(), id::text FROM unnest(%(ids)s::bigint[]) AS id",
            lines,
        )
        await connection.execute(
            "INSERT INTO embedding (item_id, hash) SELECT * FROM unnest(%(ids)s::bigint[], %(hashes)s::uuid[])", lines
        )
        await connection.execute(
            "INSERT INTO tally (kind_id, state, count) VALUES (%s, 'ready', %s)", [kind, len(numbers)]
        )

    async def forget(self, numbers: Sequence[int]) -> None:
        """Take the items' texts away; their vectors are nobody's then."""
        async with self.database.transaction() as connection:
            await connection.execute("DELETE FROM embedding WHERE item_id = ANY(%s::bigint[])", [integers(numbers)])

    async def search(self, number: int, limit: int = 10, **wanted: Collection[int]) -> VectorHits:
        return await self.vectors.search(self.model, self.vector(number), limit=limit, **wanted)

    async def nearest(self, number: int, limit: int = 10, **wanted: Collection[int]) -> list[int]:
        return [hit.item_id for hit in (await self.search(number, limit, **wanted)).hits]

    def expected(self, number: int, among: Sequence[int], limit: int = 10) -> list[int]:
        """What is nearest to a number's vector, compared one by one."""
        rows, vector = _rounded(self.rows(among)), _rounded(self.vector(number))
        cosines = rows @ vector / np.linalg.norm(rows, axis=1)
        return [among[position] for position in np.argsort(-cosines)[:limit]]

    async def merge(self, *, at_least: int = 100) -> int:
        """Merge until there is nothing to do; returns the number of steps."""
        steps = 0
        while await self.vectors.merge(self.model, at_least=at_least):
            steps += 1
        return steps

    async def roles(self) -> list[tuple[str, int, bool]]:
        """The parts' roles, how many vectors each has, and whether it has an index."""
        return [(part.role, part.count, part.indexed) for part in await self.vectors.statistics(self.model)]

    async def check(self, numbers: Sequence[int]) -> None:
        """Exactly these items are found, each once."""
        found = await self.nearest(0, limit=len(numbers) + 10)
        assert sorted(found) == sorted(numbers)
        hashes = {self.hash(number) for number in numbers}
        assert await self.vectors.known(self.model, list(hashes)) == hashes


def _rounded(numbers: NDArray[np.float32]) -> NDArray[np.float64]:
    """As the database keeps them."""
    return numbers.astype(np.float16).astype(np.float64)


@pytest.fixture
async def shelf(store: Store) -> Shelf:
    """One that somebody has searched."""
    model = await Vectors(store.database).register("test", "small", DIMENSIONS)
    await store.database.fetch("note_search", {"model": model.id})
    return Shelf(store, model)


@pytest.fixture
def tables(query: Any) -> Any:
    """The tables of vectors that there are."""

    def names() -> list[str]:
        rows = query("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^vector_[0-9]' ORDER BY oid")
        return [row.relname for row in rows]

    return names
