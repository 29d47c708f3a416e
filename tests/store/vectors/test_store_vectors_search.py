"""Searching vectors: the nearest items, filtered or not, through indexes and without them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from psycopg import sql

from detent.store import Store
from detent.store.database import fetch
from detent.store.vectors import parts, search, wire
from detent.store.vectors.search import Filter
from detent.store.vectors.tables import compose, run
from detent.store.vectors.vectors import Vectors

if TYPE_CHECKING:
    from tests.store.vectors.conftest import Shelf


async def test_the_nearest_come_first_from_all_parts(shelf: Shelf) -> None:
    numbers = range(1, 301)
    await shelf.put(numbers[:150])
    await shelf.merge()
    await shelf.put(numbers[150:270])
    await shelf.merge()
    await shelf.put(numbers[270:])
    assert [role for role, _, _ in await shelf.roles()] == ["full", "full", "fresh"]
    for number in (1000, 1001, 1002):
        assert await shelf.nearest(number) == shelf.expected(number, numbers)
    hits = (await shelf.search(7)).hits
    assert hits[0].item_id == 7
    assert hits[0].hash == shelf.hash(7)
    assert hits[0].similarity == pytest.approx(1, abs=1e-3)
    assert [hit.similarity for hit in hits] == sorted((hit.similarity for hit in hits), reverse=True)


async def test_items_with_the_same_text_are_all_found(shelf: Shelf, query: Any) -> None:
    await shelf.put([1, 2])
    query("INSERT INTO embedding (item_id, hash) VALUES (11, %s), (12, %s)", shelf.hash(1), shelf.hash(1))
    assert await shelf.nearest(1) == [1, 11, 12, 2]
    await shelf.merge(at_least=2)
    assert await shelf.nearest(1) == [1, 11, 12, 2]
    await shelf.forget([1])
    assert await shelf.nearest(1) == [11, 12, 2]


async def test_what_nobody_refers_to_is_not_found_and_takes_no_place(shelf: Shelf) -> None:
    numbers = range(1, 401)
    await shelf.put(numbers[:200])
    await shelf.merge()
    await shelf.put(numbers[200:])
    gone = shelf.expected(9, numbers, 300)
    await shelf.forget(gone)
    left = [number for number in numbers if number not in gone]
    assert await shelf.nearest(9) == shelf.expected(9, left)


async def test_a_large_part_and_a_fresh_one_are_told_together(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LARGE", 50)
    numbers = range(1, 301)
    await shelf.put(numbers[::3])
    await shelf.merge()
    await shelf.put([number for number in numbers if number not in numbers[::3]])
    for limit in (5, 100, 150, 400):
        assert await shelf.nearest(9, limit=limit) == shelf.expected(9, numbers, limit)


async def test_a_vector_in_two_parts_is_found_once(shelf: Shelf, query: Any) -> None:
    await shelf.put(range(1, 101))
    await shelf.merge()
    query("INSERT INTO vector_1_2 SELECT * FROM vector_1_1")
    assert await shelf.nearest(5) == shelf.expected(5, range(1, 101))


async def test_a_narrow_filter_finds_what_there_is(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    await shelf.put(range(1, 201), kind=1)
    await shelf.merge()
    await shelf.put(range(201, 241), kind=2)
    await shelf.put(range(241, 244), kind=3)
    odd = range(1, 244, 2)
    for few in (10_000, 0):  # by comparing those that the filter leaves, and through the indexes
        monkeypatch.setattr(search, "FEW", few)
        assert await shelf.nearest(9, kinds=[2]) == shelf.expected(9, range(201, 241))
        assert await shelf.nearest(9, kinds=[3]) == shelf.expected(9, range(241, 244))
        assert await shelf.nearest(9, kinds=[2, 3]) == shelf.expected(9, range(201, 244))
        assert await shelf.nearest(9, allowed=odd) == shelf.expected(9, odd)
        assert await shelf.nearest(9, allowed=odd, kinds=[2]) == shelf.expected(9, range(201, 241, 2))
        assert await shelf.nearest(9, allowed=[5, 999]) == [5]
        assert await shelf.nearest(9, allowed=[]) == []
        assert await shelf.nearest(9, kinds=[]) == []


async def test_a_filter_that_leaves_only_the_farthest_is_answered_all_the_same(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FEW", 0)
    monkeypatch.setattr(search, "_MOST_SCANNED", 50)
    monkeypatch.setattr(search, "_CANDIDATES", 10)
    numbers = range(1, 1001)
    await shelf.put(numbers)
    await shelf.merge()
    farthest = shelf.expected(9, numbers, 1000)[-20:]
    assert await shelf.nearest(9, allowed=farthest) == farthest[:10]


async def test_more_than_the_index_gives_at_a_time(shelf: Shelf) -> None:
    numbers = range(1, 1501)
    await shelf.put(numbers)
    await shelf.merge()
    assert sorted(await shelf.nearest(9, limit=1500)) == list(numbers)
    assert sorted(await shelf.nearest(9, limit=5000)) == list(numbers)


async def test_a_search_goes_through_the_index(shelf: Shelf) -> None:
    await shelf.put(range(1, 1001))
    await shelf.merge()
    async with shelf.database.transaction() as connection:
        listing = await parts.read(connection, shelf.model.id)
        await fetch(connection, "set_search", {"candidates": 200, "most": 20_000})
        for wanted in (Filter(None, None), Filter([1], None), Filter(None, range(20_000))):
            statement = search._near(listing.present, wanted)
            vector = wire.halfvec(shelf.vector(1))
            wire.accept(connection)
            cursor = await connection.execute(
                sql.SQL("EXPLAIN ") + statement, {"vector": vector, "limit": 10, "farthest": 2.0, **wanted.parameters}
            )
            plan = "\n".join([row[0] for row in await cursor.fetchall()])
            assert "Index Scan using vector_1_1_nearest" in plan
            assert "Seq Scan on vector_1_2" in plan
            assert "Seq Scan on embedding" not in plan


async def test_a_lost_index_is_told_and_the_part_compared(shelf: Shelf, query: Any) -> None:
    numbers = range(1, 201)
    await shelf.put(numbers[:100])
    await shelf.merge()
    await shelf.put(numbers[100:])
    query("DROP INDEX vector_1_1_nearest")
    found = await shelf.search(9)
    assert [hit.item_id for hit in found.hits] == shelf.expected(9, numbers)
    assert found.notes == [
        "The 100 vectors of vector_1_1 were searched without an index, which is missing and will be rebuilt in "
        "the background."
    ]
    assert await shelf.merge(at_least=1000) == 1
    found = await shelf.search(9)
    assert found.notes == []
    assert [hit.item_id for hit in found.hits] == shelf.expected(9, numbers)


async def test_a_large_part_without_its_index_is_left_out_and_told(
    shelf: Shelf, query: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SMALL", 50)
    await shelf.put(range(1, 101))
    await shelf.merge()
    await shelf.put(range(101, 131))
    query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'vector_1_1_nearest'::regclass")
    found = await shelf.search(9)
    assert [hit.item_id for hit in found.hits] == shelf.expected(9, range(101, 131))
    assert found.notes == [
        "The 100 vectors of vector_1_1 were not searched: their index is missing, and will be rebuilt in the "
        "background."
    ]
    assert await shelf.merge(at_least=1000) == 1
    assert await shelf.nearest(9) == shelf.expected(9, range(1, 131))


async def test_a_lost_table_is_told_and_its_texts_are_missing(shelf: Shelf, query: Any) -> None:
    await shelf.put(range(1, 101))
    await shelf.merge()
    await shelf.put(range(101, 131))
    query("DROP TABLE vector_1_1")
    found = await shelf.search(9)
    assert [hit.item_id for hit in found.hits] == shelf.expected(9, range(101, 131))
    assert found.notes == ["The vectors of vector_1_1 were not searched: the table is missing."]
    assert len(await shelf.vectors.missing(shelf.model, 1000)) == 100
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, range(1, 101))
    await shelf.check(range(1, 131))


async def test_a_part_that_goes_between_listing_and_reading_is_looked_for_again(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    for first in range(1, 301, 100):
        await shelf.put(range(first, first + 100))
        await shelf.merge()
    await shelf.put(range(301, 401))
    assert await shelf.vectors.merge(shelf.model, at_least=100)
    read = parts.read
    calls: list[parts.Listing] = []

    async def interrupted(connection: Any, model: int) -> Any:
        listing = await read(connection, model)
        if not calls:
            calls.append(listing)
            assert await shelf.merge() == 1
        return listing

    monkeypatch.setattr(parts, "read", interrupted)
    assert await shelf.nearest(9) == shelf.expected(9, range(1, 401))
    assert len(calls[0].full) == 4
    assert [role for role, _, _ in await shelf.roles()] == ["fresh", "full"]


async def test_a_query_that_has_no_direction_is_refused(shelf: Shelf) -> None:
    with pytest.raises(ValueError, match="no direction"):
        await shelf.vectors.search(shelf.model, np.zeros(16), limit=1)
    with pytest.raises(ValueError, match="16 dimensions are needed"):
        await shelf.vectors.search(shelf.model, np.ones(8), limit=1)


async def test_of_twenty_thousand_clustered_vectors_the_nearest_ten_are_found(store: Store) -> None:
    vectors, random = Vectors(store.database), np.random.default_rng(1)
    model = await vectors.register("test", "clustered", 64)
    count, centres = 20_000, random.standard_normal((200, 64))
    rows = (centres[random.integers(0, 200, count)] + 0.4 * random.standard_normal((count, 64))).astype(np.float32)
    hashes = [uuid.UUID(bytes=random.bytes(16)) for _ in range(count)]
    async with store.database.transaction() as connection:
        await vectors.load(connection, model, hashes, rows)
        async with connection.cursor().copy("COPY embedding (item_id, hash) FROM STDIN") as copy:
            await copy.write("".join(f"{item}\t{name}\n" for item, name in enumerate(hashes)))
    assert await vectors.merge(model, at_least=count)
    queries = rows[random.integers(0, count, 100)] + 0.4 * random.standard_normal((100, 64)).astype(np.float32)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = 0
    for query in queries:
        nearest = set(np.argsort(-(unit @ query))[:10].tolist())
        hits = (await vectors.search(model, query, limit=10)).hits
        found += len(nearest & {hit.item_id for hit in hits})
    assert found / 1000 >= 0.95


async def test_statements_are_composed_of_named_parts_only(shelf: Shelf) -> None:
    """A name is quoted, whatever it is."""
    async with shelf.database.connection() as connection:
        rows = await run(connection, compose("count_vectors", part="vector_1_1"), {"limit": 5})
    assert rows[0].count == 0
    assert compose("drop_part", part='a"; b').as_string() == 'DROP TABLE IF EXISTS "a""; b"'
