"""Merging: vectors go from part to part while others write and search, and none is ever lost or told twice."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from detent.errors import DatabaseAway, DetentError
from detent.store import Store
from detent.store.database import fetch
from detent.store.vectors import merge, parts
from detent.store.vectors.tables import run

if TYPE_CHECKING:
    from tests.store.vectors.conftest import Shelf


async def lay(shelf: Shelf, count: int, *, size: int = 100, first: int = 1) -> list[int]:
    """So many indexed parts of one size, not brought together; returns the numbers in them."""
    for number in range(count):
        start = first + number * size
        await shelf.put(range(start, start + size))
        assert await shelf.vectors.merge(shelf.model, at_least=size)
    return list(range(first, first + count * size))


def shape(roles: list[tuple[str, int, bool]]) -> list[str]:
    return [f"{role} {count}{' indexed' if indexed else ''}" for role, count, indexed in roles]


async def test_a_fresh_part_is_indexed_when_it_has_grown(shelf: Shelf) -> None:
    await shelf.put(range(1, 100))
    assert not await shelf.vectors.merge(shelf.model, at_least=100)
    await shelf.put([100])
    assert await shelf.vectors.merge(shelf.model, at_least=100)
    assert shape(await shelf.roles()) == ["full 100 indexed", "fresh 0"]
    assert not await shelf.vectors.merge(shelf.model, at_least=100)
    await shelf.check(range(1, 101))


async def test_the_first_index_is_made_of_more_than_the_later_ones(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "AT_LEAST", 20)
    monkeypatch.setattr(merge, "FIRST", 50)
    await shelf.put(range(1, 50))
    assert not await shelf.vectors.merge(shelf.model)
    await shelf.put([50])
    assert await shelf.vectors.merge(shelf.model)
    await shelf.put(range(51, 70))
    assert not await shelf.vectors.merge(shelf.model)
    await shelf.put([70])
    assert await shelf.vectors.merge(shelf.model)
    assert shape(await shelf.roles()) == ["full 50 indexed", "full 20 indexed", "fresh 0"]


async def test_four_parts_of_similar_size_become_one(shelf: Shelf, tables: Any) -> None:
    numbers = await lay(shelf, 4)
    assert await shelf.vectors.merge(shelf.model, at_least=100)
    assert shape(await shelf.roles()) == ["fresh 0", "full 400 indexed"]
    assert tables() == ["vector_1_5", "vector_1_6"]
    numbers += await lay(shelf, 3, first=401)
    assert not await shelf.vectors.merge(shelf.model, at_least=100)
    await shelf.check(numbers)


async def test_as_long_as_nobody_searches_indexes_are_made_of_more_and_seldom_brought_together(
    shelf: Shelf, query: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    enough = {"AT_LEAST": 10, "FIRST": 20, "UNSEARCHED": 40, "_TOGETHER": 2, "_TOGETHER_UNSEARCHED": 3}
    for name, count in enough.items():
        monkeypatch.setattr(merge, name, count)
    query("DELETE FROM search")
    for start in (1, 41):
        await shelf.put(range(start, start + 39))
        assert not await shelf.vectors.merge(shelf.model, more_to_come=True)
        await shelf.put([start + 39])
        assert await shelf.vectors.merge(shelf.model, more_to_come=True)
    assert shape(await shelf.roles()) == ["full 40 indexed", "full 40 indexed", "fresh 0"]
    assert not await shelf.vectors.merge(shelf.model)
    await shelf.put(range(81, 91))
    assert not await shelf.vectors.merge(shelf.model, more_to_come=True)
    assert await shelf.vectors.merge(shelf.model)
    await shelf.check(range(1, 91))
    assert await shelf.vectors.merge(shelf.model, more_to_come=True)
    assert shape(await shelf.roles()) == ["full 10 indexed", "fresh 0", "full 80 indexed"]
    await shelf.check(range(1, 91))


async def test_a_search_is_noted_now_and_then_and_forgotten_after_a_while(shelf: Shelf, query: Any) -> None:
    searched = "SELECT last_at FROM search"
    query("UPDATE search SET last_at = last_at - interval '8 days'")
    [row] = await shelf.database.fetch("is_searched", {"model": shelf.model.id})
    assert not row.searched
    await shelf.put([1])
    await shelf.search(1)
    [noted] = query(searched)
    await shelf.search(1)
    assert query(searched) == [noted]
    [row] = await shelf.database.fetch("is_searched", {"model": shelf.model.id})
    assert row.searched


async def test_where_nothing_may_be_written_search_finds_all_the_same(shelf: Shelf, database: str) -> None:
    await shelf.put([1, 2, 3])
    async with Store(f"{database} options='-c default_transaction_read_only=on'") as store:
        hits = await store.vectors.search(shelf.model, shelf.vector(2), limit=1)
    assert [hit.item_id for hit in hits.hits] == [2]


async def test_where_many_parts_have_gathered_all_of_them_become_one_at_once(shelf: Shelf) -> None:
    numbers = await lay(shelf, 7)
    assert await shelf.vectors.merge(shelf.model, at_least=100)
    assert shape(await shelf.roles()) == ["fresh 0", "full 700 indexed"]
    await shelf.check(numbers)


async def test_of_many_parts_as_many_become_one_as_fit_into_the_memory(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = await lay(shelf, 7)
    [row] = await shelf.database.fetch("build_memory")
    monkeypatch.setattr(merge, "_GRAPH_BYTES", row.bytes // 550)
    assert await shelf.vectors.merge(shelf.model, at_least=100)
    assert sorted(shape(await shelf.roles())) == ["fresh 0", "full 100 indexed", "full 100 indexed", "full 500 indexed"]
    await shelf.check(numbers)


async def test_parts_too_large_for_the_memory_stay_apart(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "_GRAPH_BYTES", 2**30)
    numbers = await lay(shelf, 4)
    assert not await shelf.vectors.merge(shelf.model, at_least=100)
    await shelf.check(numbers)


async def test_what_nobody_needs_stays_behind(shelf: Shelf) -> None:
    numbers = await lay(shelf, 4)
    await shelf.forget(numbers[:150])
    assert await shelf.merge() == 1
    assert shape(await shelf.roles()) == ["fresh 0", "full 250 indexed"]
    await shelf.check(numbers[150:])


async def test_a_part_that_is_mostly_waste_is_made_anew_and_one_that_is_all_waste_goes(shelf: Shelf) -> None:
    numbers = await lay(shelf, 2)
    await shelf.forget(numbers[:60])
    assert await shelf.merge() == 1
    assert shape(await shelf.roles()) == ["full 100 indexed", "fresh 0", "full 40 indexed"]
    await shelf.forget(numbers[60:100])
    assert await shelf.merge() == 1
    assert shape(await shelf.roles()) == ["full 100 indexed", "fresh 0"]
    await shelf.check(numbers[100:])


async def test_a_vector_that_two_parts_have_is_kept_once(shelf: Shelf, query: Any) -> None:
    numbers = await lay(shelf, 4)
    query("INSERT INTO vector_1_2 SELECT * FROM vector_1_1 LIMIT 30")
    await shelf.check(numbers)
    assert await shelf.merge() == 1
    assert shape(await shelf.roles()) == ["fresh 0", "full 400 indexed"]


async def test_writers_go_on_while_one_is_waited_for(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that began before the merge holds it up; the others do not wait for either."""
    monkeypatch.setattr(parts, "PATIENCE_SECONDS", 0.1)
    await shelf.put(range(1, 101))
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, [101])
        assert not await shelf.vectors.merge(shelf.model, at_least=100)
        assert shape(await shelf.roles()) == ["full 100", "fresh 0"]
        await shelf.put([102])
        assert shape(await shelf.roles()) == ["full 100", "fresh 1"]
        await shelf.check([*range(1, 101), 102])
        await shelf.write(connection, [103])
        await shelf.refer(connection, [101, 103])
    assert await shelf.merge() == 1
    assert shape(await shelf.roles()) == ["full 101 indexed", "fresh 2"]
    await shelf.check(range(1, 104))


async def test_a_writer_that_read_an_old_list_looks_again(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    await shelf.put(range(1, 101))
    announced: list[Any] = []

    async def late(connection: Any, name: str, parameters: Any = None) -> Any:
        if name == "announce_writer":
            announced.append(parameters["generation"])
            if len(announced) == 1:
                assert await shelf.vectors.merge(shelf.model, at_least=100)
        return await fetch(connection, name, parameters)

    monkeypatch.setattr(parts, "fetch", late)
    await shelf.put([101])
    assert len(announced) == 2
    assert shape(await shelf.roles()) == ["full 100 indexed", "fresh 1"]
    await shelf.check(range(1, 102))


async def test_a_vector_that_was_nobodys_and_is_taken_up_again_is_not_lost(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer finds it there, the merge that finds nobody who needs it waits for the writer."""
    monkeypatch.setattr(parts, "PATIENCE_SECONDS", 0.1)
    numbers = await lay(shelf, 4)
    await shelf.forget([7, 8])
    async with shelf.database.transaction() as connection:
        assert await shelf.vectors.keep(connection, shelf.model, [shelf.hash(7)]) == {shelf.hash(7)}
        await shelf.write(connection, [8])
        assert not await shelf.vectors.merge(shelf.model)
        assert [role for role, _, _ in await shelf.roles()] == ["leaving"] * 4 + ["fresh"]
        for number in (7, 8):
            await connection.execute(
                "INSERT INTO embedding (item_id, hash) VALUES (%s, %s)", [number, shelf.hash(number)]
            )
    assert await shelf.merge() == 1
    await shelf.check(numbers)


async def test_a_vector_of_a_part_that_is_leaving_is_taken_along(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who begins when the parts are marked does not count on them: what it keeps goes to the fresh part."""
    numbers = await lay(shelf, 4)
    await shelf.forget([7, 8])
    copy = merge._copy

    async def meanwhile(*arguments: Any) -> None:
        async with shelf.database.transaction() as connection:
            kept = await shelf.vectors.keep(connection, shelf.model, [shelf.hash(7), shelf.hash(9), shelf.hash(999)])
            assert kept == {shelf.hash(7), shelf.hash(9)}
            await shelf.write(connection, [8])
        await copy(*arguments)
        async with shelf.database.transaction() as connection:
            for number in (7, 8):
                refer = "INSERT INTO embedding (item_id, hash) VALUES (%s, %s) ON CONFLICT DO NOTHING"
                await connection.execute(refer, [number, shelf.hash(number)])
        await shelf.check(numbers)

    monkeypatch.setattr(merge, "_copy", meanwhile)
    assert await shelf.vectors.merge(shelf.model)
    assert shape(await shelf.roles()) == ["fresh 3", "full 398 indexed"]
    await shelf.check(numbers)


async def test_one_merges_at_a_time(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who meets another leaves it the work, even where both do: then the next round does it."""
    await shelf.put(range(1, 101))
    build, built = merge._build, []

    async def once(connection: Any, *arguments: Any) -> int:
        built.append(arguments)
        assert not await shelf.vectors.merge(shelf.model, at_least=100)
        return await build(connection, *arguments)

    monkeypatch.setattr(merge, "_build", once)
    await asyncio.gather(*(shelf.vectors.merge(shelf.model, at_least=100) for _ in range(4)))
    await shelf.merge()
    assert len(built) == 1
    assert shape(await shelf.roles()) == ["full 100 indexed", "fresh 0"]
    await shelf.check(range(1, 101))


async def test_a_list_that_was_changed_after_waiting_for_its_writers_is_not_worked_on(shelf: Shelf) -> None:
    """Otherwise parts could be gathered that somebody marked a moment ago, and that writers still count on."""
    await lay(shelf, 4)
    merging = shelf.vectors._merge
    async with shelf.database.connection() as connection:
        listing = await parts.read(connection, shelf.model.id)
    await merging._mark(shelf.model, listing.full)
    with pytest.raises(merge.OtherMerge):
        async with merging._changing(shelf.model, listing.generation):
            pass


async def test_a_model_that_is_retired_while_it_is_merged_leaves_nothing(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, tables: Any
) -> None:
    large = await shelf.vectors.register("test", "large", 32)
    async with shelf.database.transaction() as connection:
        await shelf.write(connection, range(1, 101), large)
    build = merge._build

    async def meanwhile(*arguments: Any) -> int:
        await shelf.vectors.register("test", "small", 16)
        return await build(*arguments)

    monkeypatch.setattr(merge, "_build", meanwhile)
    with contextlib.suppress(DetentError):
        await shelf.vectors.merge(large, at_least=100)
    await shelf.vectors.tidy()
    assert tables() == ["vector_1_1"]


@pytest.mark.parametrize("many", [1, 2, 3, 4])
@pytest.mark.parametrize("step", ["_turn", "_next_generation", "_copy", "_build", "make", "drained", "tidy"])
async def test_whoever_is_killed_while_merging_leaves_everything_searchable(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, tables: Any, step: str, many: int
) -> None:
    """The server ends the connection right after the step, the first, second, … time that it is done."""
    numbers = await lay(shelf, 3)
    await shelf.put(range(301, 401))
    numbers += range(301, 401)
    await shelf.forget(numbers[:10])
    module = parts if step in ("make", "drained", "tidy") else merge
    original, calls = getattr(module, step), []

    async def killed(*arguments: Any, **options: Any) -> Any:
        result = await original(*arguments, **options)
        calls.append(step)
        if len(calls) == many:
            if step in ("drained", "tidy"):
                raise DatabaseAway(OSError("killed"))
            await arguments[0].execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return result

    with monkeypatch.context() as patch:
        patch.setattr(module, step, killed)
        with contextlib.suppress(DetentError):
            await shelf.merge()
    await shelf.check(numbers[10:])
    await shelf.put([500])
    await shelf.check([*numbers[10:], 500])
    await shelf.merge()
    await shelf.vectors.tidy()
    assert [role for role, _, _ in await shelf.roles()] == ["fresh", "full"]
    assert sum(count for _, count, _ in await shelf.roles()) == 391
    assert len(tables()) == 2
    await shelf.check([*numbers[10:], 500])


async def write_and_look(shelf: Shelf, first: int) -> None:
    """Write six hundred items, ten times sixty, and look for them after each time."""
    for start in range(first, first + 600, 60):
        numbers = range(start, start + 60)
        await shelf.put(numbers)
        for number in numbers[::20]:
            found = await shelf.nearest(number, limit=5)
            assert found[0] == number
            assert len(found) == len(set(found))
        hashes = [shelf.hash(number) for number in numbers]
        assert await shelf.vectors.known(shelf.model, hashes) == set(hashes)


async def keep_merging(shelf: Shelf, done: asyncio.Event) -> None:
    while not done.is_set():
        if not await shelf.vectors.merge(shelf.model, at_least=100):
            await asyncio.sleep(0.01)


async def keep_reading(shelf: Shelf, done: asyncio.Event) -> None:
    """Everything that was there a moment ago is there, once."""
    seen: set[int] = set()
    while not done.is_set():
        found = await shelf.nearest(0, limit=5000)
        assert len(found) == len(set(found))
        assert seen <= set(found)
        seen = set(found)


async def test_everything_written_is_found_exactly_once_at_every_moment(database: str, shelf: Shelf) -> None:
    """Writers, each of which looks for what it wrote, beside two mergers and a reader of everything."""
    done = asyncio.Event()
    async with Store(database, size=10) as store:
        shelf = type(shelf)(store, shelf.model)
        async with asyncio.TaskGroup() as group:
            for duty in (keep_merging, keep_merging, keep_reading):
                group.create_task(duty(shelf, done))
            async with asyncio.TaskGroup() as writers:
                for first in range(1, 2401, 600):
                    writers.create_task(write_and_look(shelf, first))
            done.set()
        await shelf.merge()
        await shelf.check(range(1, 2401))
        counts = [count for _, count, _ in await shelf.roles()]
    assert sum(counts) == 2400
    assert max(counts) >= 400


async def test_tidying_leaves_what_somebody_reads_and_takes_strays(shelf: Shelf, query: Any, tables: Any) -> None:
    query("CREATE TABLE vector_1_99 (hash uuid PRIMARY KEY, vector halfvec(16))")
    query("CREATE TABLE vector_notes (id integer)")
    query("BEGIN")
    query("SELECT count(*) FROM vector_1_99")
    assert await shelf.vectors.tidy() == []
    query("COMMIT")
    assert await shelf.vectors.tidy() == ["vector_1_99"]
    assert tables() == ["vector_1_1"]
    assert query("SELECT to_regclass('vector_notes') AS name")[0].name == "vector_notes"


async def test_an_index_is_made_without_help_where_there_is_no_shared_memory(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[bool] = []

    async def full(connection: Any, statement: Any, parameters: Any = None) -> Any:
        if "CREATE INDEX" in statement.as_string() and not failed:
            failed.append(True)
            await connection.execute("DO $$ BEGIN RAISE 'no space' USING ERRCODE = 'disk_full'; END $$")
        return await run(connection, statement, parameters)

    monkeypatch.setattr(merge, "run", full)
    await shelf.put(range(1, 101))
    assert await shelf.vectors.merge(shelf.model, at_least=100)
    assert failed
    assert shape(await shelf.roles()) == ["full 100 indexed", "fresh 0"]
