"""Models: the first is current, another one is filled beside it, and takes its place when nothing is missing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from detent.errors import ModelRetired
from detent.store import Store
from detent.store.vectors import models, parts
from detent.store.vectors.models import Model
from detent.store.vectors.vectors import Vectors

if TYPE_CHECKING:
    from tests.store.vectors.conftest import Shelf


async def roles(shelf: Shelf) -> dict[str, str]:
    return {model.name: model.role for model in await shelf.vectors.models()}


async def fill(shelf: Shelf, model: Model) -> None:
    """What the embedding stage does with a next model."""
    last = None
    numbers = {shelf.hash(number): number for number in range(1, 1001)}
    while hashes := await shelf.vectors.missing(model, 40, after=last):
        async with shelf.database.transaction() as connection:
            await shelf.write(connection, [numbers[name] for name in hashes], model)
        last = hashes[-1]


async def test_the_first_model_is_current_and_the_next_one_next(shelf: Shelf) -> None:
    assert shelf.model.role == "current"
    assert await shelf.vectors.register("test", "small", 16) == shelf.model
    large = await shelf.vectors.register("test", "large", 32)
    assert large.role == "next"
    assert await shelf.vectors.current() == shelf.model
    assert await shelf.vectors.next() == large
    assert await shelf.vectors.register("test", "large", 32) == large
    assert str(large) == "test/large (32 dimensions)"


async def test_a_next_model_gives_way_to_another_and_to_the_current_one(shelf: Shelf, tables: Any) -> None:
    await shelf.vectors.register("test", "large", 32)
    await shelf.vectors.register("test", "huge", 64)
    assert await roles(shelf) == {"small": "current", "large": "former", "huge": "next"}
    assert tables() == ["vector_1_1", "vector_3_3"]
    await shelf.vectors.register("test", "small", 16)
    assert await roles(shelf) == {"small": "current", "large": "former", "huge": "former"}
    assert tables() == ["vector_1_1"]
    again = await shelf.vectors.register("test", "large", 32)
    assert (again.id, again.role) == (2, "next")
    assert tables() == ["vector_1_1", "vector_2_4"]


async def test_a_next_model_that_is_given_up_stays_until_the_current_one_has_what_it_had(
    shelf: Shelf, tables: Any
) -> None:
    await shelf.put(range(1, 11))
    large = await shelf.vectors.register("test", "large", 32)
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, range(11, 21), large)
        await shelf.refer(connection, range(11, 21))
    assert await shelf.vectors.unfilled() == large
    await shelf.vectors.register("test", "small", 16)
    assert await roles(shelf) == {"small": "current", "large": "former"}
    assert await shelf.vectors.unfilled() == await shelf.vectors.wanted() == shelf.model
    assert not await shelf.vectors.switch(shelf.model)
    with pytest.raises(ModelRetired):
        await shelf.vectors.search(large, shelf.vector(1, 32), limit=1)
    assert tables() == ["vector_1_1", "vector_2_2"]
    await fill(shelf, shelf.model)
    assert await shelf.vectors.switch(shelf.model)
    assert await shelf.vectors.unfilled() is None
    assert tables() == ["vector_1_1"]


async def test_a_model_that_was_given_up_and_is_taken_up_again_has_kept_its_vectors(shelf: Shelf) -> None:
    large = await shelf.vectors.register("test", "large", 32)
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, range(1, 11), large)
        await shelf.refer(connection, range(1, 11))
    await shelf.vectors.register("test", "small", 16)
    large = await shelf.vectors.register("test", "large", 32)
    assert await shelf.vectors.wanted() == large
    assert await shelf.vectors.missing(large, 10) == []
    assert await shelf.vectors.switch(large)
    assert await roles(shelf) == {"small": "former", "large": "current"}


async def test_who_joins_a_model_leaves_it_its_role(shelf: Shelf) -> None:
    large = await shelf.vectors.join("test", "large", 32)
    assert large.role == "next"
    assert await shelf.vectors.join("test", "small", 16) == shelf.model
    assert await shelf.vectors.wanted() == large
    assert await shelf.vectors.switch(large)
    assert (await shelf.vectors.join("test", "small", 16)).role == "former"
    assert (await shelf.vectors.wanted()) == await shelf.vectors.current()


async def test_programs_that_start_at_once_agree(make_database: Any) -> None:
    async with Store(make_database(), size=8) as store:
        registered = [Vectors(store.database).register("test", "small", 16) for _ in range(8)]
        assert len(set(await asyncio.gather(*registered))) == 1


@pytest.mark.parametrize("dimensions", [0, -1, 4001])
async def test_a_model_that_cannot_be_indexed_is_refused(shelf: Shelf, dimensions: int) -> None:
    with pytest.raises(ValueError, match="1 to 4000 dimensions"):
        await shelf.vectors.register("test", "odd", dimensions)


async def test_the_largest_model_that_can_be_indexed_is(shelf: Shelf) -> None:
    large = await shelf.vectors.register("test", "large", 4000)
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, range(1, 21), large)
        await shelf.refer(connection, range(1, 21))
    assert await shelf.vectors.merge(large, at_least=20)
    [hit] = (await shelf.vectors.search(large, shelf.vector(7, 4000), limit=1)).hits
    assert hit.item_id == 7


async def test_a_model_takes_over_when_nothing_is_missing(shelf: Shelf, tables: Any) -> None:
    await shelf.put(range(1, 121))
    await shelf.merge()
    await shelf.put(range(121, 151))
    large = await shelf.vectors.register("test", "large", 32)
    assert len(await shelf.vectors.missing(large, 1000)) == 150
    assert not await shelf.vectors.switch(large)
    await fill(shelf, large)
    await shelf.put([151])
    assert await shelf.vectors.missing(large, 10) == [shelf.hash(151)]
    assert not await shelf.vectors.switch(large)
    assert await shelf.nearest(9) == shelf.expected(9, range(1, 152))
    await fill(shelf, large)
    assert await shelf.vectors.switch(large)
    assert await shelf.vectors.switch(large)
    assert await roles(shelf) == {"small": "former", "large": "current"}
    assert tables() == ["vector_2_3"]
    [hit] = (await shelf.vectors.search(large, shelf.vector(77, 32), limit=1)).hits
    assert hit.item_id == 77
    assert not await shelf.vectors.switch(shelf.model)


async def test_a_model_that_is_gone_is_told(shelf: Shelf) -> None:
    large = await shelf.vectors.register("test", "large", 32)
    assert await shelf.vectors.switch(large)
    with pytest.raises(ModelRetired, match=r"test/small \(16 dimensions\) was retired"):
        await shelf.search(1)
    with pytest.raises(ModelRetired):
        await shelf.put([1])
    assert not await shelf.vectors.merge(shelf.model)
    assert await shelf.vectors.statistics(shelf.model) == []
    assert await shelf.vectors.get(shelf.model, shelf.hash(1)) is None
    assert await shelf.vectors.known(shelf.model, [shelf.hash(1)]) == set()


async def test_nothing_comes_in_between_while_a_model_takes_over(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer under way keeps the switch from happening; one that comes meanwhile waits, and is refused."""
    large = await shelf.vectors.register("test", "large", 32)
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, [1])
        assert not await shelf.vectors.switch(large)
        await shelf.refer(connection, [1])
    assert not await shelf.vectors.switch(large)
    await fill(shelf, large)
    missing, late = parts.missing, []

    async def meanwhile(connection: Any, *arguments: Any) -> Any:
        found = await missing(connection, *arguments)
        late.append(asyncio.create_task(shelf.put([2])))
        return found

    monkeypatch.setattr(parts, "missing", meanwhile)
    async with shelf.database.transaction() as connection:
        assert await models._switch(connection, large)
    with pytest.raises(ModelRetired):
        await late[0]
    assert await shelf.vectors.missing(large, 10) == []


async def test_searches_by_the_old_model_end_well_while_another_takes_over(shelf: Shelf) -> None:
    await shelf.put(range(1, 51))
    large = await shelf.vectors.register("test", "large", 32)
    await fill(shelf, large)

    async def ask() -> int:
        answered = 0
        while True:
            try:
                assert await shelf.nearest(9) == shelf.expected(9, range(1, 51))
            except ModelRetired:
                return answered
            answered += 1

    asking = [asyncio.create_task(ask()) for _ in range(3)]
    await shelf.nearest(9)
    while not await shelf.vectors.switch(large):
        pass
    await asyncio.gather(*asking)


async def test_statistics_say_what_the_parts_hold(shelf: Shelf) -> None:
    await shelf.put(range(1, 101))
    await shelf.merge()
    await shelf.put(range(101, 111))
    full, fresh = await shelf.vectors.statistics(shelf.model)
    assert (full.name, full.role, full.count, full.indexed) == ("vector_1_1", "full", 100, True)
    assert (fresh.name, fresh.role, fresh.count, fresh.indexed) == ("vector_1_2", "fresh", 10, False)
    assert full.index_bytes > fresh.index_bytes > 0
    assert full.table_bytes > 100 * 16 * np.dtype(np.float16).itemsize
