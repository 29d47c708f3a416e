"""Dispatcher: every kind of handler, everything that one can return, raise or get stuck in."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from detent import Done, Failed, Handler, Item, Lifecycle, NewItem, Node, Outcome, Reference, Retry, Skipped, Source
from detent.lifecycle import NODE
from detent.worker.board import Board, make_descriptor

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

JOB = Lifecycle(
    "job",
    initial="todo",
    moves=[
        ("todo", "claim", "doing"),
        ("todo", "skip", "skipped"),
        ("doing", "done", "done"),
        ("doing", "back", "todo"),
        ("doing", "fail", "failed"),
        ("failed", "retry", "todo"),
        ("skipped", "change", "todo"),
    ],
)

Behaviour = Callable[[Item], Any]


def source(function: Callable[..., Any], **details: Any) -> Source:
    return Source("source", {"Task": JOB}, [Handler("doing", function, **details)])


def as_async(behave: Behaviour) -> Source:
    async def handle(item: Item) -> Any:
        return behave(item)

    return source(handle)


def as_ordinary(behave: Behaviour) -> Source:
    return source(behave)


def as_async_batch(behave: Behaviour) -> Source:
    async def handle(items: list[Item]) -> list[Any]:
        return [behave(item) for item in items]

    return source(handle, batch=True)


def as_ordinary_batch(behave: Behaviour) -> Source:
    def handle(items: list[Item]) -> list[Any]:
        return [behave(item) for item in items]

    return source(handle, batch=True)


KINDS = [as_async, as_ordinary, as_async_batch, as_ordinary_batch]
every_kind = pytest.mark.parametrize("made", KINDS, ids=lambda made: made.__name__)


@every_kind
async def test_what_a_handler_returns_becomes_the_items_state(
    bench: Bench, made: Callable[[Behaviour], Source]
) -> None:
    outcomes: dict[str, Any] = {
        "done": Done(),
        "nothing": None,
        "skipped": Skipped("not wanted"),
        "failed": Failed("no good"),
    }
    given = made(lambda item: outcomes[item.key])
    await bench.add(given, *outcomes)
    worker = await bench.run(given)
    assert await bench.states() == {"done": "done", "nothing": "done", "skipped": "skipped", "failed": "failed"}
    assert await bench.errors() == {"failed": ("rejected", "no good")}
    assert worker.completed == 3
    assert await bench.sound()


class Panic(BaseException):
    """As extensions written in other languages raise it."""


def throw(item: Item) -> Outcome:
    """Raises what the key says."""
    request = httpx.Request("GET", "https://example.org")
    errors: dict[str, BaseException] = {
        "value": ValueError("odd"),
        "missing": FileNotFoundError("gone"),
        "timeout": TimeoutError(),
        "gone": httpx.HTTPStatusError("410", request=request, response=httpx.Response(410)),
        "exit": SystemExit(3),
        "cancelled": asyncio.CancelledError(),
        "stop": StopIteration("odd"),
        "memory": MemoryError(),
        "panic": Panic("from beyond"),
    }
    if item.key in errors:
        raise errors[item.key]
    return Done()


@every_kind
async def test_what_a_handler_raises_is_classified_and_its_neighbours_are_done(
    bench: Bench, made: Callable[[Behaviour], Source]
) -> None:
    given = made(throw)
    raising = ["value", "missing", "timeout", "gone", "exit", "cancelled", "stop", "memory", "panic"]
    await bench.add(given, "a", *raising, "z")
    await bench.run(given)
    states = await bench.states()
    assert states == dict.fromkeys(raising, "failed") | {"a": "done", "z": "done"}
    errors = {key: trouble for key, (trouble, _) in (await bench.errors()).items()}
    assert errors == {
        "value": "unknown",
        "missing": "not_found",
        "timeout": "timeout",
        "gone": "not_found",
        "exit": "unknown",
        "cancelled": "unknown",
        "stop": "unknown",
        "memory": "resources",
        "panic": "unknown",
    }
    attempts = await bench.attempts()
    assert attempts["missing"] == attempts["gone"] == 1, "permanent trouble is not tried again"
    assert attempts["value"] == attempts["exit"] == attempts["cancelled"] == 3
    line = throw.__code__.co_firstlineno + 15
    place = f"test_worker_dispatcher.py:{line}, in throw"
    assert (await bench.errors())["value"][1] == f"ValueError: odd ({place}) (3 of 3 attempts failed)"
    assert await bench.sound()


@every_kind
async def test_transient_trouble_is_tried_again_and_forgotten_after_success(
    bench: Bench, made: Callable[[Behaviour], Source]
) -> None:
    def flaky(item: Item) -> Outcome:
        if item.attempt < 3:
            raise ConnectionError("not now")
        return Done()

    given = made(flaky)
    await bench.add(given, "a", "b")
    worker = await bench.run(given)
    assert await bench.states() == {"a": "done", "b": "done"}
    assert await bench.errors() == {}
    assert worker.completed == 2, "a retry is not something done"
    assert (await bench.moves("a")).count(("todo", "doing")) == 3


WRONG: dict[str, Any] = {
    "a number": 42,
    "a text": "done",
    "a class": Done,
    "a node that is none": Done(node="text"),  # type: ignore[arg-type]
    "a found item that is none": Done(found=["key"]),  # type: ignore[list-item]
    "a title that is no text": Done(node=Node(title=5)),  # type: ignore[arg-type]
    "no title": Done(node=Node(title=None)),  # type: ignore[arg-type]
    "a label that is no text": Done(references=[Reference("links", ["odd"], "key")]),  # type: ignore[arg-type]
    "a label of a found item that is no text": Done(found=[NewItem("key", ["odd"])]),  # type: ignore[arg-type]
    "an unknown label": Done(found=[NewItem("key", "NoSuchLabel")]),
    "an unknown state": Done(to="nowhere"),
    "a NUL byte": Done(node=Node("a\x00b")),
    "a checkpoint that is no JSON": Done(checkpoint={"x": object()}),
    "no reason to retry": Retry(None),  # type: ignore[arg-type]
    "a time that is none": Retry("later", retry_after="soon"),  # type: ignore[arg-type]
    "a trouble that is none": Failed("no", trouble="odd"),  # type: ignore[arg-type]
    "a reason that is no text": Failed(5),  # type: ignore[arg-type]
    "no reason to skip": Skipped(None),  # type: ignore[arg-type]
}


@every_kind
async def test_a_wrong_result_fails_its_item_and_not_its_neighbours(
    bench: Bench, made: Callable[[Behaviour], Source]
) -> None:
    given = made(lambda item: WRONG.get(item.key, Done()))
    neighbours = [f"{name}, beside" for name in WRONG]
    await bench.add(given, *WRONG, *neighbours)
    await bench.run(given)
    states = await bench.states()
    assert {states.pop(key) for key in neighbours} == {"done"}
    assert states.pop("no reason to skip") == "skipped"
    assert states == dict.fromkeys(WRONG.keys() - {"no reason to skip"}, "failed")
    attempts = await bench.attempts()
    assert attempts.pop("no reason to retry") == 3
    assert set(attempts.values()) == {0, 1}, "what is wrong once is wrong for ever"
    assert await bench.sound()


@pytest.mark.parametrize("result", [None, [], [Done()], "xyz", 7, [Done()] * 4], ids=lambda result: f"{result!s:.10}")
async def test_a_batch_handler_must_return_one_outcome_per_item(bench: Bench, result: object) -> None:
    async def handle(items: list[Item]) -> object:
        return result

    given = source(handle, batch=True)
    await bench.add(given, "a", "b", "c")
    await bench.run(given)
    assert set((await bench.states()).values()) == {"failed"}
    assert all("no outcome" in str(message) for _, message in (await bench.errors()).values())


async def test_a_batch_handler_may_empty_the_list_it_was_given(bench: Bench) -> None:
    def handle(items: list[Item]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while items:
            items.pop()
            outcomes.append(Done())
        return outcomes

    given = source(handle, batch=True)
    await bench.add(given, "a", "b", "c")
    await bench.run(given)
    assert set((await bench.states()).values()) == {"done"}


@pytest.mark.parametrize("made", [as_async_batch, as_ordinary_batch], ids=lambda made: made.__name__)
async def test_a_batch_that_raises_is_tried_one_by_one_in_the_same_attempt(
    bench: Bench, made: Callable[[Behaviour], Source]
) -> None:
    def behave(item: Item) -> Outcome:
        if item.key == "bad":
            raise FileNotFoundError("bad")
        return Done()

    given = made(behave)
    keys = [f"k{number}" for number in range(20)]
    await bench.add(given, *keys, "bad")
    await bench.run(given)
    assert await bench.states() == dict.fromkeys(keys, "done") | {"bad": "failed"}
    assert len(await bench.moves("k0")) == 2, "one claim and one settlement"


class Butler:
    async def __call__(self, item: Item) -> Outcome:
        return Done(note="an object")


async def test_objects_partials_and_methods_are_handlers_too(bench: Bench) -> None:
    async def two(prefix: str, item: Item) -> Outcome:
        return Done(note=prefix)

    for handle in (Butler(), functools.partial(two, "partial"), Butler().__call__):
        given = Source(f"s{id(handle)}", {"Task": JOB}, [Handler("doing", handle)])
        await bench.add(given, "a")
        await bench.run(given)
        page = await bench.store.list(source=given.name)
        assert [item.state for item in page.items] == ["done"]


@every_kind
async def test_no_more_calls_at_a_time_than_the_concurrency_allows(
    bench: Bench, made: Callable[[Behaviour], Source]
) -> None:
    lock = threading.Lock()
    now, most = 0, 0

    def enter() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)

    def leave() -> None:
        nonlocal now
        with lock:
            now -= 1

    async def handle_async(given: Any) -> Any:
        enter()
        await asyncio.sleep(0.02)
        leave()
        return [Done()] * len(given) if isinstance(given, list) else Done()

    def handle(given: Any) -> Any:
        enter()
        time.sleep(0.02)
        leave()
        return [Done()] * len(given) if isinstance(given, list) else Done()

    function = handle_async if made in (as_async, as_async_batch) else handle
    batch = made in (as_async_batch, as_ordinary_batch)
    given = source(function, batch=batch, concurrency=3, batch_size=4)
    await bench.add(given, *[f"k{number}" for number in range(40)])
    await bench.run(given)
    assert set((await bench.states()).values()) == {"done"}
    assert most == 3


async def test_an_async_handler_over_its_limit_is_cancelled_and_counts_as_a_timeout(bench: Bench) -> None:
    cancelled: list[str] = []

    async def handle(item: Item) -> Outcome:
        try:
            await asyncio.sleep(0 if item.key == "quick" else 3600)
        except asyncio.CancelledError:
            cancelled.append(item.key)
            raise
        return Done()

    given = source(handle, time_limit_seconds=0.1, max_attempts=2)
    await bench.add(given, "quick", "slow")
    await bench.run(given)
    assert await bench.states() == {"quick": "done", "slow": "failed"}
    assert cancelled == ["slow", "slow"]
    trouble, message = (await bench.errors())["slow"]
    assert trouble == "timeout"
    assert message == "The handler was over its time limit of 0.1 s (2 of 2 attempts failed)"


async def test_an_ordinary_handler_over_its_limit_is_abandoned_and_its_late_result_not_used(bench: Bench) -> None:
    gate = threading.Event()
    late = threading.Event()

    def handle(item: Item) -> Outcome:
        if item.key == "slow":
            gate.wait(60)
            late.set()
            return Done(node=Node("late"))
        return Done()

    given = source(handle, time_limit_seconds=0.2, max_attempts=1)
    await bench.add(given, "a", "slow", "z", *[f"k{number}" for number in range(100)])
    worker = await bench.run(given, worker__concurrency=1)
    states = await bench.states()
    assert states.pop("slow") == "failed"
    assert set(states.values()) == {"done"}, "the worker goes on, in another thread"
    assert worker.retiring
    gate.set()
    assert await asyncio.to_thread(late.wait, 10)
    assert (await bench.states())["slow"] == "failed"


@pytest.mark.parametrize("made", [as_async_batch, as_ordinary_batch], ids=lambda made: made.__name__)
async def test_after_a_batch_was_over_its_limit_its_items_are_tried_alone(
    bench: Bench, made: Callable[[Behaviour], Source]
) -> None:
    gate = threading.Event()
    seen: list[tuple[int, bool]] = []

    async def handle_async(items: list[Item]) -> list[Outcome]:
        seen.append((len(items), items[0].alone))
        if any(item.key == "slow" for item in items):
            await asyncio.sleep(3600)
        return [Done()] * len(items)

    def handle(items: list[Item]) -> list[Outcome]:
        seen.append((len(items), items[0].alone))
        if any(item.key == "slow" for item in items):
            gate.wait(60)
        return [Done()] * len(items)

    function = handle_async if made is as_async_batch else handle
    given = source(function, batch=True, time_limit_seconds=0.2, max_attempts=2)
    await bench.add(given, "a", "b", "slow", "z")
    await bench.run(given)
    gate.set()
    assert await bench.states() == {"a": "done", "b": "done", "slow": "failed", "z": "done"}
    assert seen[0] == (4, False)
    assert sorted(seen[1:]) == [(1, True)] * 4


async def test_one_by_one_each_item_has_the_whole_time_limit(bench: Bench) -> None:
    """The items of a batch that raised wait their turn, and their keeper does not take that for slowness."""
    board = Board(make_descriptor())
    overdue: list[int] = []

    async def handle(items: list[Item]) -> list[Outcome]:
        if len(items) > 1:
            raise ValueError("too many")
        await asyncio.sleep(0.1)
        overdue.extend(run.item for run in board.running() if run.deadline < time.monotonic())
        return [Done()]

    given = source(handle, batch=True, time_limit_seconds=0.5)
    await bench.add(given, *[f"k{number}" for number in range(12)])
    worker = bench.worker(given, board=board)
    await worker.run(until_idle=True)
    assert set((await bench.states()).values()) == {"done"}
    assert overdue == []


async def test_a_finished_item_is_settled_while_its_neighbour_in_the_same_thread_goes_on(bench: Bench) -> None:
    gate = threading.Event()

    def handle(item: Item) -> Outcome:
        if item.key == "slow":
            gate.wait(60)
        return Done()

    given = source(handle)
    await bench.add(given, "quick", "slow")
    running = asyncio.create_task(bench.run(given, worker__concurrency=1))

    async def quick_is_done() -> bool:
        return (await bench.states())["quick"] == "done"

    await bench.until(quick_is_done)
    assert (await bench.states())["slow"] == "doing"
    gate.set()
    await running


async def test_no_thread_is_idle_while_another_has_items_to_begin(bench: Bench) -> None:
    others = threading.Semaphore(0)

    def handle(item: Item) -> Outcome:
        if item.key != "a":
            others.release()
            return Done()
        met = [others.acquire(timeout=20) for _ in range(5)]
        return Done() if all(met) else Failed("the items behind it in its thread waited for it")

    given = source(handle, concurrency=2, batch_size=6, time_limit_seconds=60)
    await bench.add(given, *"abcdef")
    await bench.run(given)
    assert set((await bench.states()).values()) == {"done"}


async def test_threads_end_with_their_worker(bench: Bench) -> None:
    before = threading.active_count()
    given = source(lambda item: Done())
    await bench.add(given, *[f"k{number}" for number in range(50)])
    await bench.run(given)

    async def ended() -> bool:
        return threading.active_count() <= before

    await bench.until(ended)


async def test_two_sources_with_the_same_stage_and_other_handlers_are_both_worked_on(bench: Bench) -> None:
    """The first of them has nothing to do, which is no reason to think so of the second."""
    called: list[str] = []

    async def first(item: Item) -> Outcome:
        called.append("first")
        return Done()

    async def second(item: Item) -> Outcome:
        called.append("second")
        return Done()

    empty = Source("a", {"Task": JOB}, [Handler("doing", first)])
    full = Source("b", {"Task": JOB}, [Handler("doing", second)])
    await bench.add(full, "x", "y")
    await bench.run(empty, full)
    assert called == ["second", "second"]


async def test_work_in_progress_stays_small_because_the_far_end_is_drained_first(bench: Bench) -> None:
    order: list[str] = []

    def stage(name: str) -> Callable[[Item], Any]:
        async def handle(item: Item) -> Outcome:
            order.append(name)
            return Done()

        return handle

    handlers = [
        Handler(state, stage(state), batch_size=1, concurrency=1) for state in ("parsing", "linking", "embedding")
    ]
    given = Source("source", {"Task": NODE}, handlers)
    await bench.add(given, *[f"k{number}" for number in range(30)])
    await bench.run(given)
    ahead = most_ahead = 0
    for name in order:
        ahead += {"parsing": 1, "linking": 0, "embedding": -1}[name]
        most_ahead = max(most_ahead, ahead)
    assert len(order) == 90
    assert most_ahead <= 12, "items are embedded as they come, not after all were parsed"


async def test_a_settler_that_breaks_ends_the_worker_with_that_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> list[Any]:
        raise RuntimeError("broken")

    given = source(lambda item: Done())
    await bench.add(given, "a")
    monkeypatch.setattr(bench.store, "settle", broken)
    with pytest.raises(RuntimeError, match="broken"):
        await bench.run(given)


async def test_a_running_item_is_on_the_board_until_it_is_settled(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If writing its outcome kills the worker, the item has had its attempt, and does not circle for ever."""
    board = Board(make_descriptor())
    during: list[int] = []
    settle = bench.store.settle

    async def watched(*arguments: Any) -> Any:
        during.append(len(board.running()))
        return await settle(*arguments)

    monkeypatch.setattr(bench.store, "settle", watched)
    given = source(lambda item: Done())
    await bench.add(given, "a")
    await bench.worker(given, board=board).run(until_idle=True)
    assert during == [1]
    assert board.running() == []
    assert board.held() == []


def test_a_board_is_read_by_another_process_and_survives_its_writer() -> None:
    descriptor = make_descriptor()
    pid = os.fork()
    if pid == 0:
        board = Board(descriptor)
        board.hold(7)
        board.hold(8)
        board.begin([(7, 70)], 1.5)
        board.begin([(7, 71)], 2.5)
        board.end([(7, 70)])
        board.drop(8)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    board = Board(descriptor)
    assert board.held() == [7]
    assert [(run.token, run.item, run.deadline) for run in board.running()] == [(7, 71, 2.5)]
    os.close(descriptor)


def test_a_lease_lost_is_told_to_its_worker_and_not_to_the_next_user_of_its_slot() -> None:
    descriptor = make_descriptor()
    worker, keeper = Board(descriptor), Board(descriptor)
    worker.hold(7)
    keeper.mark_lost({7})
    assert worker.lost() == {7}
    worker.drop(7)
    worker.hold(9)
    assert worker.lost() == set()
    assert keeper.held() == [9]
    os.close(descriptor)


def test_a_board_has_room_for_the_largest_configuration() -> None:
    descriptor = make_descriptor()
    board = Board(descriptor)
    assert board.has_room(10_000)
    for number in range(60_000):
        board.begin([(1, number + 1)], 1.0)
    assert not board.has_room(70_000)
    assert len(board.running()) == 60_000
    os.close(descriptor)
    assert sys.getsizeof(board) < 1000
