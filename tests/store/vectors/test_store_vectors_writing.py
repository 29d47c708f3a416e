"""Writing vectors: once each, checked, in the caller's transaction, by many at the same time."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pytest
from psycopg import errors

from detent.store import Store
from detent.store.vectors import writing
from detent.store.vectors.search import VectorHits
from detent.store.vectors.vectors import Vectors

if TYPE_CHECKING:
    from tests.store.vectors.conftest import Shelf


async def test_what_is_written_is_known_and_can_be_read(shelf: Shelf) -> None:
    await shelf.put([1, 2, 3])
    hashes = [shelf.hash(number) for number in (1, 2, 3, 4)]
    assert await shelf.vectors.known(shelf.model, hashes) == set(hashes[:3])
    vector = await shelf.vectors.get(shelf.model, hashes[1])
    assert vector is not None
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector, shelf.vector(2), rtol=1e-3)
    assert await shelf.vectors.get(shelf.model, hashes[3]) is None


async def test_what_is_rolled_back_is_not_there(shelf: Shelf) -> None:
    async with shelf.database.connection() as connection, connection.transaction(force_rollback=True):
        await shelf.write(connection, [1, 2, 3])
    assert await shelf.roles() == [("fresh", 0, False)]


async def test_a_vector_is_written_once_however_often_and_wherever_it_is(shelf: Shelf) -> None:
    await shelf.put(range(1, 101))
    assert await shelf.merge() == 1
    await shelf.put(range(101, 121))
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, [*range(90, 130), *range(110, 130)])
        await shelf.write(connection, range(90, 130))
    assert await shelf.roles() == [("full", 100, True), ("fresh", 29, False)]


async def test_what_was_written_first_stays(shelf: Shelf) -> None:
    await shelf.put([1])
    async with shelf.database.transaction() as connection:
        await shelf.vectors.write(connection, shelf.model, [shelf.hash(1)], shelf.rows([2]))
    vector = await shelf.vectors.get(shelf.model, shelf.hash(1))
    assert vector is not None
    np.testing.assert_allclose(vector, shelf.vector(1), rtol=1e-3)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
async def test_vectors_come_in_any_precision(shelf: Shelf, kind: Any) -> None:
    async with shelf.database.transaction() as connection:
        await shelf.vectors.write(connection, shelf.model, [shelf.hash(1)], shelf.rows([1]).astype(kind))
    vector = await shelf.vectors.get(shelf.model, shelf.hash(1))
    assert vector is not None
    np.testing.assert_allclose(vector, shelf.vector(1), rtol=1e-3)


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e5, 1e30])
async def test_a_vector_too_long_or_too_short_for_half_precision_keeps_its_direction(
    shelf: Shelf, scale: float
) -> None:
    rows = shelf.rows([1, 2]) * np.array([[1.0], [scale]], dtype=np.float32)
    async with shelf.database.transaction() as connection:
        await shelf.vectors.write(connection, shelf.model, [shelf.hash(1), shelf.hash(2)], rows)
        await shelf.refer(connection, [1, 2])
    [hit] = (await shelf.vectors.search(shelf.model, rows[1], limit=1)).hits
    assert hit.item_id == 2
    assert hit.similarity == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("verb", ["write", "load"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: rows * [[1], [0], [1]], "position 1 has no direction"),
        (lambda rows: rows * [[1], [1], [np.nan]], "position 2 has numbers that are not finite"),
        (lambda rows: rows * [[1], [np.inf], [1]], "position 1 has numbers that are not finite"),
        (lambda rows: rows[:, :15], "16 dimensions are needed, one per row, but the array has the shape 3 by 15"),
        (lambda rows: rows[0], "the array has the shape 16"),
        (lambda rows: rows[:2], "3 texts and 2 vectors"),
    ],
)
async def test_a_vector_that_cannot_be_searched_is_refused(shelf: Shelf, verb: str, spoil: Any, message: str) -> None:
    rows = spoil(shelf.rows([1, 2, 3]))
    async with shelf.database.transaction() as connection:
        with pytest.raises(ValueError, match=message):
            await getattr(shelf.vectors, verb)(connection, shelf.model, list(map(shelf.hash, (1, 2, 3))), rows)
        await shelf.write(connection, [4])
    assert await shelf.roles() == [("fresh", 1, False)]


async def test_writing_nothing_is_nothing(shelf: Shelf) -> None:
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, [])
        await shelf.vectors.load(connection, shelf.model, [], shelf.rows([]))
        assert await shelf.vectors.keep(connection, shelf.model, []) == set()
    assert await shelf.vectors.known(shelf.model, []) == set()
    assert await shelf.vectors.missing(shelf.model, 10) == []
    assert await shelf.search(1) == VectorHits([], [])


async def test_loading_leaves_out_what_is_there(shelf: Shelf) -> None:
    await shelf.put(range(1, 101))
    assert await shelf.merge() == 1
    await shelf.put(range(101, 111))
    numbers = [*range(91, 121), 120]
    async with shelf.database.transaction() as connection:
        await shelf.vectors.load(connection, shelf.model, list(map(shelf.hash, numbers)), shelf.rows(numbers))
        await shelf.refer(connection, range(111, 121))
    assert await shelf.roles() == [("full", 100, True), ("fresh", 20, False)]
    await shelf.check(range(1, 121))


async def test_loading_what_somebody_else_writes_at_the_same_moment_waits_and_goes_on(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    copying = asyncio.Event()
    copy = writing._copy

    async def told(*arguments: Any) -> None:
        copying.set()
        await copy(*arguments)

    async def load() -> None:
        async with shelf.database.transaction() as connection:
            await shelf.vectors.load(connection, shelf.model, list(map(shelf.hash, (1, 2, 3))), shelf.rows([1, 2, 3]))
            await shelf.refer(connection, [1, 2, 3])

    monkeypatch.setattr(writing, "_copy", told)
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, [2])
        loading = asyncio.create_task(load())
        await copying.wait()
    await loading
    await shelf.check([1, 2, 3])


async def test_writers_of_the_same_vectors_never_wait_in_a_circle(database: str, shelf: Shelf) -> None:
    numbers = list(range(1, 301))

    async def write(store: Store, seed: int) -> None:
        vectors, chosen = Vectors(store.database), random.Random(seed)
        for _ in range(10):
            some = chosen.sample(numbers, 100)
            async with store.database.transaction() as connection:
                await vectors.write(connection, shelf.model, list(map(shelf.hash, some)), shelf.rows(some))

    async with Store(database, size=6) as store, asyncio.TaskGroup() as group:
        for seed in range(6):
            group.create_task(write(store, seed))
    [(_, count, _)] = await shelf.roles()
    assert count <= 300


async def test_hashes_are_kept_to_the_bit(shelf: Shelf) -> None:
    hashes = [UUID(int=number) for number in (1, 2**64, 2**128 - 1, 2**127, 255 << 120)]
    async with shelf.database.transaction() as connection:
        await shelf.vectors.write(connection, shelf.model, hashes, shelf.rows(range(5)))
    assert await shelf.vectors.known(shelf.model, hashes) == set(hashes)
    for number, name in enumerate(hashes):
        vector = await shelf.vectors.get(shelf.model, name)
        assert vector is not None
        np.testing.assert_allclose(vector, shelf.vector(number), rtol=1e-3)


async def test_a_fresh_part_that_somebody_dropped_is_told_and_made_by_registering(shelf: Shelf, query: Any) -> None:
    query("DROP TABLE vector_1_1")
    with pytest.raises(LookupError, match="register the model again to create one"):
        await shelf.put([1])
    assert await shelf.vectors.register("test", "small", 16) == shelf.model
    await shelf.put([1])
    await shelf.check([1])


async def test_the_server_checks_dimensions_too(shelf: Shelf, query: Any) -> None:
    with pytest.raises(errors.DataException):
        query("INSERT INTO vector_1_1 VALUES (gen_random_uuid(), '[1,2]')")
