"""Handlers that work in several commits: generators that yield steps, ordinary and async."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from detent import Done, Failed, Handler, Item, Lifecycle, NewItem, Node, Source, Step
from detent.errors import InvalidSource
from detent.knowledge import Product
from detent.lifecycle import ARTICLE, CRAWL, NODE
from detent.store import Settled, Stage

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

Behave = Callable[[Item], Iterator[Any]]
"""What a handler yields for an item. A function among it is called where the handler does its work."""
Made = Callable[..., Source]

PAGE = [("fetching", "processing"), ("processing", "saving")]


def page(number: int) -> Step:
    return Step(found=[NewItem(f"bill {number}", "Bill")], checkpoint={"page": number}, note=f"page {number}")


def pages(item: Item) -> Iterator[Product]:
    """Three pages, each of which finds a bill, from where the last step was. Then it is done."""
    for number in range((item.checkpoint or {}).get("page", 0) + 1, 4):
        yield page(number)


def declared(function: Callable[[Item], Any], **details: Any) -> Source:
    handlers = [Handler(state, function, label="Crawl", **details) for state in ("running", "fetching")]
    return Source("laws", {"Crawl": CRAWL, "Bill": ARTICLE}, handlers)


def as_ordinary(behave: Behave, **details: Any) -> Source:
    def handle(item: Item) -> Iterator[Any]:
        for each in behave(item):
            if callable(each):
                each()
            else:
                yield each

    return declared(handle, **details)


def as_async(behave: Behave, **details: Any) -> Source:
    async def handle(item: Item) -> AsyncIterator[Any]:
        for each in behave(item):
            if callable(each):
                await asyncio.to_thread(each)
            else:
                yield each

    return declared(handle, **details)


every_kind = pytest.mark.parametrize("made", [as_ordinary, as_async], ids=lambda made: str(made.__name__))


@pytest.fixture
async def crawl(bench: Bench) -> Bench:
    """A bench with one crawl to be done."""
    await bench.add(declared(pages), "acts", label="Crawl")
    return bench


async def checkpoint(bench: Bench) -> object:
    [number] = await bench.store.listing.find("acts")
    return (await bench.store.show(number)).checkpoint


async def bills(bench: Bench) -> list[str]:
    return sorted(key for key in await bench.states() if key.startswith("bill"))


@every_kind
async def test_each_page_is_a_commit_that_goes_through_the_phases_of_the_crawl(crawl: Bench, made: Made) -> None:
    seen: list[Any] = []
    loop = asyncio.get_running_loop()

    def look() -> None:
        seen.append(asyncio.run_coroutine_threadsafe(bills(crawl), loop).result())

    def watched(item: Item) -> Iterator[Any]:
        for produced in pages(item):
            yield look
            yield produced

    await crawl.run(made(watched))
    assert seen == [[], ["bill 1"], ["bill 1", "bill 2"]]
    assert await bills(crawl) == ["bill 1", "bill 2", "bill 3"]
    assert await crawl.moves("acts") == [
        ("idle", "running"),
        ("running", "fetching"),
        *PAGE,
        ("saving", "fetching"),
        *PAGE,
        ("saving", "fetching"),
        *PAGE,
        ("saving", "completed"),
    ]
    history = await crawl.history("acts")
    assert [entry.reason for entry in history if entry.to_state == "saving"] == ["page 1", "page 2", "page 3"]
    assert await checkpoint(crawl) == {"page": 3}
    assert await crawl.sound()


@every_kind
async def test_after_a_step_the_handler_is_given_the_item_as_it_is_then(crawl: Bench, made: Made) -> None:
    given: list[Item] = []

    def handle(item: Item) -> Generator[Product, Item, None]:
        given.append((yield page(1)))

    async def handle_async(item: Item) -> AsyncGenerator[Product, Item]:
        given.append((yield page(1)))

    await crawl.run(declared(handle if made is as_ordinary else handle_async))
    [item] = given
    assert (item.state, item.checkpoint, item.attempt, item.steps) == ("saving", {"page": 1}, 1, 1)
    assert (await crawl.states())["acts"] == "completed"


@every_kind
async def test_a_lost_lease_ends_the_handler_at_its_next_step_and_nothing_of_that_is_written(
    crawl: Bench, made: Made
) -> None:
    loop = asyncio.get_running_loop()
    ended: list[str] = []

    def lose() -> None:
        [number] = asyncio.run_coroutine_threadsafe(crawl.store.listing.find("acts"), loop).result()
        asyncio.run_coroutine_threadsafe(crawl.store.pause_items([number]), loop).result()

    def handle(item: Item) -> Iterator[Any]:
        try:
            yield page(1)
            yield lose
            yield page(2)
            ended.append("asked for more")
        finally:
            ended.append("closed")

    await crawl.run(made(handle))
    assert ended == ["closed"]
    assert (await crawl.states())["acts"] == "paused"
    assert (await bills(crawl), await checkpoint(crawl)) == (["bill 1"], {"page": 1})
    assert await crawl.sound()


@every_kind
async def test_a_step_that_cannot_be_written_fails_the_item_and_ends_the_handler(crawl: Bench, made: Made) -> None:
    closed = threading.Event()

    def handle(item: Item) -> Iterator[Any]:
        try:
            yield page(1)
            yield Step(to="completed")
        finally:
            closed.set()

    await crawl.run(made(handle))
    assert (await crawl.states())["acts"] == "error"
    assert "cannot go from 'saving' to 'completed'" in str((await crawl.errors())["acts"][1])
    assert closed.wait(10)


@every_kind
async def test_attempts_are_counted_for_each_step(crawl: Bench, made: Made) -> None:
    failed: set[int] = set()

    def handle(item: Item) -> Iterator[Product]:
        done = (item.checkpoint or {}).get("page", 0)
        for number in range(done + 1, 5):
            if number not in failed:
                failed.add(number)
                raise ConnectionError(f"no page {number}")
            yield page(number)
        yield Done()

    await crawl.run(made(handle), worker__max_attempts=2)
    assert (await crawl.states())["acts"] == "completed"
    assert len(await bills(crawl)) == 4


@every_kind
async def test_the_time_limit_is_one_for_each_step(crawl: Bench, made: Made) -> None:
    gate = threading.Event()

    def handle(item: Item) -> Iterator[Any]:
        for number in range(1, 5):
            yield lambda: time.sleep(0.4)
            yield page(number)
        yield gate.wait

    await crawl.run(made(handle, time_limit_seconds=1.2, max_attempts=1))
    gate.set()
    assert (await crawl.states())["acts"] == "error"
    assert (await crawl.errors())["acts"][0] == "timeout"
    assert await checkpoint(crawl) == {"page": 4}


@every_kind
async def test_a_worker_that_is_stopped_gives_back_what_the_next_one_goes_on_with(crawl: Bench, made: Made) -> None:
    gate = threading.Event()

    def stopped(item: Item) -> Iterator[Any]:
        yield page(1)
        yield gate.wait

    worker = crawl.worker(made(stopped), worker__grace_seconds=0)
    running = asyncio.create_task(worker.run())
    await crawl.until(lambda: bills(crawl))
    worker.stop()
    await running
    gate.set()
    assert (await crawl.states())["acts"] == "resuming"
    assert await crawl.attempts() == {"acts": 0, "bill 1": 0}
    await crawl.run(made(pages))
    assert (await crawl.states())["acts"] == "completed"
    assert await bills(crawl) == ["bill 1", "bill 2", "bill 3"]
    assert await crawl.sound()


async def test_a_crawl_that_was_paused_goes_on_from_its_checkpoint(crawl: Bench) -> None:
    [number] = await crawl.store.listing.find("acts")
    assert await crawl.store.pause_items([number]) == 1
    await crawl.run(declared(pages))
    assert (await crawl.states()) == {"acts": "paused"}
    assert await crawl.store.resume_items([number]) == 1
    await crawl.run(declared(pages))
    assert (await crawl.states())["acts"] == "completed"
    assert await crawl.store.pause_items([number]) == 0, "what is completed has nothing to be paused"
    reasons = [entry.reason for entry in await crawl.history("acts")]
    assert reasons[:2] == ["paused by hand", "resumed by hand"]


async def test_a_step_that_is_sent_again_is_not_made_again(crawl: Bench) -> None:
    kinds = [kind for kind in await crawl.store.kinds.select() if kind.label == "Crawl"]
    [item] = await crawl.store.claim(Stage(CRAWL, "idle"), owner="me", kinds=kinds)
    statuses = [receipt.status for _ in range(2) for receipt in await crawl.store.settle([(item, page(1))])]
    assert statuses == [Settled.APPLIED, Settled.ALREADY]
    newer = item._replace(state="saving", steps=1)
    statuses = [receipt.status for _ in range(2) for receipt in await crawl.store.settle([(newer, page(2))])]
    assert statuses == [Settled.APPLIED, Settled.ALREADY]
    assert len([move for move in await crawl.moves("acts") if move == PAGE[1]]) == 2


async def test_an_outcome_names_all_the_states_that_its_item_goes_through(bench: Bench) -> None:
    def parse(item: Item) -> Done:
        return Done(Node(item.key, "Text."), to=["parsed", "linking", "linked"])

    source = Source("files", {"File": NODE}, [Handler("parsing", parse)])
    await bench.add(source, "a.md", label="File")
    await bench.run(source)
    assert (await bench.moves("a.md"))[:4] == [
        ("pending", "parsing"),
        ("parsing", "parsed"),
        ("parsed", "linking"),
        ("linking", "linked"),
    ]


async def test_a_failure_that_cannot_be_retried_may_end_behind_it_with_its_reason(crawl: Bench) -> None:
    await crawl.run(declared(lambda item: Failed("The service is gone", to="completed")))
    assert (await crawl.states())["acts"] == "completed"
    assert (await crawl.moves("acts"))[-2:] == [("running", "error"), ("error", "completed")]
    assert (await crawl.errors())["acts"][1] == "The service is gone"


async def test_work_of_one_phase_is_committed_in_steps_too(bench: Bench) -> None:
    def load(item: Item) -> Iterator[Product]:
        yield Step(Node(item.key, "First."), note="the first half")
        yield Done(Node(item.key, "All."))

    job = Lifecycle(
        "job",
        "todo",
        [("todo", "claim", "doing"), ("doing", "done", "done"), ("doing", "back", "todo"), ("doing", "fail", "failed")],
    )
    source = Source("jobs", {"Task": job}, [Handler("doing", load)])
    await bench.add(source, "one")
    await bench.run(source)
    assert await bench.moves("one") == [("todo", "doing"), ("doing", "doing"), ("doing", "done")]
    assert await bench.sound()


def test_a_generator_is_not_given_batches() -> None:
    with pytest.raises(InvalidSource, match="leave out batch=True"):
        Handler("running", pages, batch=True)
