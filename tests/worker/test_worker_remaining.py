"""What is left to do: whether a worker is needed at all, and when it looks again at what waits for later."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from detent import Child, Done, Handler, Item, Node, Outcome, Retry, Source
from detent.lifecycle import NODE, PASSAGE
from detent.store import Cursor
from detent.worker.duty import declare, duties
from detent.worker.remaining import is_all_done, processes_for

if TYPE_CHECKING:
    from tests.worker.conftest import Bench


def notes() -> Source:
    def parse(item: Item) -> Outcome:
        return Done(Node(item.key, f"the text of {item.key}"))

    handlers = [Handler("parsing", parse), Handler("linking", lambda item: Done())]
    return Source("notes", {"Note": NODE}, handlers)


async def all_done(bench: Bench, source: Source, **flags: Any) -> bool:
    kinds = await declare(bench.store, [source])
    return await is_all_done(bench.store, duties([source], kinds, bench.settings(**flags)))


async def test_nothing_is_left_when_all_is_done_until_there_is_something_new(bench: Bench) -> None:
    source = notes()
    await bench.add(source, "a", "b", label="Note")
    assert not await all_done(bench, source)
    await bench.run(source)
    assert await all_done(bench, source)
    await bench.add(source, "c", label="Note")
    assert not await all_done(bench, source)


@pytest.mark.parametrize(
    ("processors", "computes", "counts"),
    [(8, True, {10: 1, 1200: 2, 9000: 4}), (1, True, {1200: 1}), (8, False, {9000: 1})],
)
async def test_there_are_as_many_processes_as_have_enough_to_compute(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, processors: int, computes: bool, counts: dict[int, int]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    handlers = [replace(handler, computes=computes) for handler in notes().handlers]
    source = Source("notes", {"Note": NODE}, handlers)
    for count, wanted in counts.items():
        await bench.add(source, *(f"{number}" for number in range(count)), label="Note")
        kinds = await declare(bench.store, [source])
        assert await processes_for(bench.store, duties([source], kinds, bench.settings())) == wanted


async def test_another_model_is_something_to_do(bench: Bench) -> None:
    source = notes()
    await bench.add(source, "a", label="Note")
    await bench.run(source)
    smaller: dict[str, Any] = {"embedding__dimensions": 64}
    assert not await all_done(bench, source, **smaller)
    await bench.run(source, **smaller)
    assert await all_done(bench, source, **smaller)
    assert not await all_done(bench, source)


async def test_texts_that_are_not_in_the_index_yet_are_something_to_do(bench: Bench) -> None:
    source = notes()
    await bench.add(source, "a", label="Note")
    await bench.run(source)
    async with bench.store.database.connection() as connection:
        await connection.execute("INSERT INTO text_change (text_id, gone) SELECT text_id, false FROM node")
    assert not await all_done(bench, source)


@pytest.mark.parametrize("times", [1, 3])
async def test_what_is_due_before_the_next_look_is_taken_when_it_is_due(bench: Bench, times: int) -> None:
    tried: list[float] = []

    def flaky(item: Item) -> Outcome:
        tried.append(time.monotonic())
        return (
            Retry("not yet", retry_after=0.2) if len(tried) <= times else Done(Node("a", "a text that is long enough"))
        )

    source = Source("notes", {"Note": NODE}, [Handler("parsing", flaky, max_attempts=10), notes().handlers[1]])
    await bench.add(source, "a", label="Note")
    async with asyncio.timeout(30):
        await bench.run(source, worker__poll_seconds=3600)
    assert len(tried) == times + 1
    assert await bench.states() == {"a": "ready"}


@pytest.mark.parametrize("count", [1, 5])
async def test_what_comes_to_a_state_is_taken_at_once_without_hints_or_looks(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """The worker that brought it there knows, and it alone."""

    async def say_nothing() -> None:
        pass

    monkeypatch.setattr(bench.store.notices, "hint", say_nothing)
    found = [Child("Part", "part", Node("part", "the text of a part"))]

    def parse(item: Item) -> Outcome:
        return Done(Node(item.key, f"the text of {item.key}"), children=found if item.key == "0" else ())

    lifecycles = {"Note": NODE, "Part": PASSAGE}
    source = Source("notes", lifecycles, [Handler("parsing", parse, label="Note"), notes().handlers[1]])
    await bench.add(source, *map(str, range(count)), label="Note")
    async with asyncio.timeout(20):
        await bench.run(source, worker__poll_seconds=3600, worker__batch_size=1, worker__concurrency=1)
    assert set((await bench.states()).values()) == {"ready"}


async def test_what_a_look_on_from_the_last_claim_did_not_find_is_looked_for_from_the_beginning(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    remember = Cursor.remember

    def trusting(cursor: Cursor, began: float, ended: float, positions: dict[int, tuple[int, int]]) -> None:
        remember(cursor, began, ended, positions)
        cursor.trusted_until = ended + 3600

    def once_more(item: Item) -> Outcome:
        tried.append(item.key)
        first = item.key == "a" and tried.count("a") == 1
        return Retry("not yet", retry_after=0) if first else Done(Node(item.key, "a text that is long enough"))

    monkeypatch.setattr(Cursor, "remember", trusting)
    source = Source("notes", {"Note": NODE}, [Handler("parsing", once_more), notes().handlers[1]])
    await bench.add(source, "a", "b", "c", label="Note")
    async with asyncio.timeout(20):
        await bench.run(source, worker__poll_seconds=3600, worker__batch_size=1, worker__concurrency=1)
    assert set((await bench.states()).values()) == {"ready"}
    assert tried.count("a") == 2
