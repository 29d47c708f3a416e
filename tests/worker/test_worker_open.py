"""`detent.open()` and `detent.open_async()`: working inside a program of one's own, with a keeper beside it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import detent
from detent import Done, Failed, Handler, Item, Lifecycle, NewItem, Node, Outcome, Retry, Source
from detent.errors import UnknownName
from detent.store import Database, Stage, Store
from detent.store.notices import CHANNEL
from detent.worker import in_process
from detent.worker.board import Board, make_descriptor
from detent.worker.keeper import Keeper, Ward
from detent.worker.tending import Tending
from detent.worker.worker import Worker

FLAGS: dict[str, object] = {"worker.poll_seconds": 0.1, "worker.lease_seconds": 5, "retry.base_seconds": 0.2}

KEPT_BEYOND_ITS_TIME = "SELECT FROM lease WHERE now() > claimed_at + duration AND deadline > now()"

JOB = Lifecycle(
    "job",
    initial="todo",
    moves=[
        ("todo", "claim", "doing"),
        ("doing", "done", "done"),
        ("doing", "back", "todo"),
        ("doing", "fail", "failed"),
        ("failed", "retry", "todo"),
    ],
)


def source(function: Any, *keys: str) -> Source:
    return Source("source", {"Task": JOB}, [Handler("doing", function)], lambda: (NewItem(key, "Task") for key in keys))


def states(db: detent.Detent) -> dict[str, str]:
    return {item.key: item.state for item in db.items(limit=1000).items}


def wait_for(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_script_declares_a_lifecycle_and_handlers_and_runs_them(database: str) -> None:
    def handle(item: Item) -> Outcome:
        if item.key == "flaky" and item.attempt == 1:
            return Retry("not now")
        return Failed("no good") if item.key == "bad" else Done(node=Node(item.key))

    with detent.open(database=database, sources=[source(handle, "good", "flaky", "bad")], flags=FLAGS) as db:
        report = db.run()
        assert (report.done, report.failed, report.later, report.waiting) == (2, 1, 0, 0)
        assert not report.ok
        assert states(db) == {"good": "done", "flaky": "done", "bad": "failed"}
        assert db.show(db.find("bad")[0]).item.error == "no good"
        db.retry(db.find("bad"))
        assert states(db)["bad"] == "todo"


def test_a_run_tells_the_truth_about_what_is_left(database: str) -> None:
    """What waits for later, is paused, or has no handler is not done, and a run does not say so."""

    def handle(item: Item) -> Outcome:
        return Retry("not now", retry_after=3600) if item.key == "later" else Done()

    two = Lifecycle(
        "two",
        initial="todo",
        moves=[
            ("todo", "claim", "doing"),
            ("doing", "done", "half"),
            ("doing", "back", "todo"),
            ("doing", "fail", "failed"),
            ("half", "claim", "ending"),
            ("ending", "done", "done"),
            ("ending", "back", "half"),
            ("ending", "fail", "failed"),
        ],
    )
    sources = [
        source(handle, "later"),
        Source("paused", {"Task": JOB}, [Handler("doing", handle)], lambda: [NewItem("p", "Task")]),
        Source("halfway", {"Task": two}, [Handler("doing", handle)], lambda: [NewItem("h", "Task")]),
    ]
    with detent.open(database=database, sources=sources, flags=FLAGS) as db:
        db.pause("paused")
        report = db.run(wait=False)
        assert (report.done, report.failed, report.later, report.waiting) == (1, 0, 1, 2)
        assert report.first_due is not None
        assert not report.ok


async def test_a_service_does_the_same_in_its_own_event_loop(database: str) -> None:
    async def handle(item: Item) -> Outcome:
        await asyncio.sleep(0)
        return Done()

    async with detent.open_async(database=database, sources=[source(handle, "a", "b")], flags=FLAGS) as db:
        report = await db.run()
        assert report.ok
        assert report.done == 2
        again = await db.run()
        assert (again.done, again.total, again.finished, again.ok) == (0, 2, 2, True)


async def test_cancelling_a_run_gives_everything_back_at_once_and_uncounted(database: str) -> None:
    begun = asyncio.Event()

    async def handle(item: Item) -> Outcome:
        begun.set()
        await asyncio.sleep(3600)
        return Done()

    keys = [f"k{number}" for number in range(30)]
    async with detent.open_async(database=database, sources=[source(handle, *keys)], flags=FLAGS) as db:
        running = asyncio.create_task(db.run())
        await asyncio.wait_for(begun.wait(), 60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        page = await db.items(limit=100)
        assert {(item.state, item.attempt) for item in page.items} == {("todo", 0)}
        assert await db.store.workers() == []
        assert await db.store.tallies.check() == []


async def test_a_handler_that_will_not_be_cancelled_does_not_keep_its_worker(database: str) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    async def handle(item: Item) -> Outcome:
        begun.set()
        while not gate.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await gate.wait()
        return Done(node=Node("late"))

    async with detent.open_async(database=database, sources=[source(handle, "a")], flags=FLAGS) as db:
        running = asyncio.create_task(db.run())
        await asyncio.wait_for(begun.wait(), 60)
        running.cancel()
        await asyncio.wait({running}, timeout=60)
        assert running.cancelled()
        [item] = (await db.items()).items
        assert (item.state, item.attempt) == ("todo", 0)
        gate.set()


SCRIPT = """
import asyncio, os, sys, time
from pathlib import Path
import detent
from detent import Done, Handler, Lifecycle, NewItem, Source

JOB = Lifecycle("job", "todo", [("todo", "claim", "doing"), ("doing", "done", "done"), ("doing", "back", "todo"),
                                ("doing", "fail", "failed"), ("failed", "retry", "todo")])
FOLDER = Path(sys.argv[2])

def handle(item):
    (FOLDER / item.key).touch()
    while not (FOLDER / "gate").exists():
        time.sleep(0.01)
    return Done()

async def handle_async(item):
    (FOLDER / item.key).touch()
    while not (FOLDER / "gate").exists():
        await asyncio.sleep(0.01)
    return Done()

function = handle if sys.argv[3] == "ordinary" else handle_async
source = Source("source", {"Task": JOB}, [Handler("doing", function, concurrency=1)],
                lambda: [NewItem(key, "Task") for key in ("a", "b", "c")])
where = {"database": sys.argv[1]} if sys.argv[1] else {"folder": FOLDER}
with detent.open(**where, sources=[source], flags={"worker.lease_seconds": 3600, "worker.poll_seconds": 0.1}) as db:
    print(db.run())
"""


@contextlib.contextmanager
def script(tmp_path: Path, database: str, kind: str = "ordinary") -> Iterator[subprocess.Popen[str]]:
    program = tmp_path / "script.py"
    program.write_text(SCRIPT)
    command = [sys.executable, str(program), database, str(tmp_path), kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for((tmp_path / "a").exists)
        yield process
    finally:
        process.kill()
        process.communicate()


def rows(database: str, query: str) -> list[Any]:
    with psycopg.connect(database, options="-c search_path=detent,public") as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("kind", ["ordinary", "async"])
def test_ctrl_c_during_a_run_gives_back_what_was_held(tmp_path: Path, database: str, kind: str) -> None:
    with script(tmp_path, database, kind) as process:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode not in (0, None)
        assert "KeyboardInterrupt" in said
        assert "Task was destroyed" not in said
    assert rows(database, "SELECT DISTINCT state, attempt FROM item") == [("todo", 0)]
    assert rows(database, "SELECT * FROM lease") == []
    assert rows(database, "SELECT DISTINCT reason FROM journal WHERE to_state = 'todo'") == [("the worker stopped",)]


def test_when_a_program_is_killed_its_keeper_gives_everything_back_at_once(tmp_path: Path, database: str) -> None:
    with script(tmp_path, database) as process:
        process.kill()
        wait_for(lambda: rows(database, "SELECT * FROM lease") == [])
    found = rows(database, "SELECT key, state, attempt FROM item ORDER BY key")
    assert found == [("a", "todo", 1), ("b", "todo", 0), ("c", "todo", 0)]


def test_when_a_program_with_its_own_server_is_killed_the_server_stays_until_all_is_given_back(tmp_path: Path) -> None:
    with script(tmp_path, "") as process:
        process.kill()
        process.wait()
    with detent.open(tmp_path) as db:
        wait_for(lambda: not db.wait(db.asynchronous.store.workers()))
        found = {item.key: (item.state, item.attempt) for item in db.items().items}
    assert found == {"a": ("todo", 1), "b": ("todo", 0), "c": ("todo", 0)}


async def test_a_keeper_that_is_killed_is_replaced_and_leases_are_kept(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun = asyncio.Event(), asyncio.Event()
    keepers: list[int] = []
    start = asyncio.create_subprocess_exec

    async def noted(*arguments: Any, **named: Any) -> Any:
        process = await start(*arguments, **named)
        keepers.append(process.pid)
        return process

    async def handle(item: Item) -> Outcome:
        begun.set()
        await gate.wait()
        return Done()

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    async with detent.open_async(database=database, sources=[source(handle, "a")], flags=FLAGS) as db:
        running = asyncio.create_task(db.run())
        await asyncio.wait_for(begun.wait(), 60)
        os.kill(keepers[0], signal.SIGKILL)
        await asyncio.to_thread(wait_for, lambda: rows(database, KEPT_BEYOND_ITS_TIME))
        gate.set()
        assert (await running).ok
        assert len(keepers) == 2
        [entry, _] = await db.history((await db.find("a"))[0])
        assert entry.attempt == 1


async def test_a_slow_but_healthy_item_runs_once_however_short_its_lease(database: str) -> None:
    """It blocks the event loop of its own program for longer than its lease."""
    calls: list[str] = []

    async def handle(item: Item) -> Outcome:
        calls.append(item.key)
        wait_for(lambda: rows(database, KEPT_BEYOND_ITS_TIME))
        return Done()

    async with detent.open_async(database=database, sources=[source(handle, "a")], flags=FLAGS) as db:
        assert (await db.run()).ok
        history = await db.history((await db.find("a"))[0])
    assert calls == ["a"]
    assert [(entry.from_state, entry.to_state) for entry in history] == [("todo", "doing"), ("doing", "done")]


async def test_a_program_that_blocks_over_the_limit_has_its_attempt_counted(database: str) -> None:
    """It cannot be killed, being somebody's own program; but the item does not wait for it."""
    seen: list[int] = []

    async def handle(item: Item) -> Outcome:
        seen.append(item.attempt)
        if item.key == "slow":
            wait_for(lambda: not rows(database, "SELECT FROM item WHERE key = 'slow' AND state = 'doing'"))
        return Done(node=Node("late"))

    flags = FLAGS | {"worker.time_limit_seconds": 0.5, "worker.max_attempts": 2}
    async with detent.open_async(database=database, sources=[source(handle, "slow", "zz")], flags=flags) as db:
        report = await db.run()
        assert report.failed == 1
        story = await db.show((await db.find("slow"))[0])
        assert story.item.state == "failed"
        assert story.item.trouble == "timeout"
        assert (await db.show((await db.find("zz"))[0])).item.state == "done"
        assert await db.store.tallies.check() == []


async def test_an_idle_worker_looks_when_it_is_told_to_and_does_nothing_in_between(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two statements for each hint, what may be let in and the claim, and one rest after them: whoever span in between
    would rest or ask more often."""

    async def handle(item: Item) -> Outcome:
        return Done()

    counts: Counter[str] = Counter()
    rested = asyncio.Event()
    connection, pause = Database.connection, Worker._pause

    def connected(self: Database) -> Any:
        counts["statements"] += 1
        return connection(self)

    async def paused(self: Worker, heard: asyncio.Event) -> None:
        counts["rests"] += 1
        rested.set()
        await pause(self, heard)

    async def nothing_to_tend(self: Tending, *, more_to_come: bool = False) -> bool:
        return False

    monkeypatch.setattr(Tending, "run_once", nothing_to_tend)
    flags = {"worker.poll_seconds": 3600, "worker.lease_seconds": 3600}
    async with (
        detent.open_async(database=database, sources=[source(handle)], flags=flags) as db,
        in_process.work_here(db.store, db.sources, db.settings) as worker,
    ):
        monkeypatch.setattr(Worker, "_pause", paused)
        running = asyncio.create_task(worker.run())
        await rested.wait()
        await asyncio.to_thread(wait_for, lambda: listeners(database))
        monkeypatch.setattr(Database, "connection", connected)
        for _ in range(10):
            rested.clear()
            await asyncio.to_thread(hint, database)
            await rested.wait()
        monkeypatch.undo()
        worker.stop()
        await running

    assert counts == {"statements": 20, "rests": 11}


def hint(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"NOTIFY {CHANNEL}")


def listeners(database: str) -> int:
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = %s", [f"LISTEN {CHANNEL}"]
        )
        return len(found.fetchall())


async def test_an_idle_keeper_asks_the_database_about_once_a_second(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, statements = 0.0, 0
    keeper = Keeper(store, lease_seconds=300, clock=lambda: now)
    keeper.wards.append(Ward("somebody", os.getpid(), Board(make_descriptor()), {}))
    await keeper.run_once()
    connection = Database.connection

    def connected(self: Database) -> Any:
        nonlocal statements
        statements += 1
        return connection(self)

    monkeypatch.setattr(Database, "connection", connected)
    for second in range(1, 61):
        now = float(second)
        await keeper.run_once()

    assert 0 < statements <= 75


def test_opening_closing_and_running_leaves_no_threads_behind(database: str) -> None:
    before = threading.active_count()
    with detent.open(database=database, sources=[source(lambda item: Done(), "a", "b")], flags=FLAGS) as db:
        assert db.run().ok
    wait_for(lambda: threading.active_count() <= before)


def test_claiming_by_a_lifecycle_that_nobody_knows_is_an_error_with_a_suggestion(database: str) -> None:
    with detent.open(database=database, sources=[source(lambda item: None)]) as db:
        with pytest.raises(UnknownName, match=re.escape("There is no lifecycle 'jobs'. Did you mean 'job'?")):
            db.claim("jobs", "todo", owner="me")
        with pytest.raises(UnknownName, match=re.escape("There is no lifecycle 'artikel'. Did you mean 'article'?")):
            db.claim("artikel", "discovered", owner="me")


def test_a_lifecycle_that_somebody_else_declares_can_be_claimed_from(database: str) -> None:
    with detent.open(database=database) as db, detent.open(database=database) as other:
        other.declare("source", "Task", JOB)
        other.add("source", "Task", ["a"])
        assert [item.key for item in db.claim("job", "todo", owner="me")] == ["a"]


async def test_the_verbs_work_without_any_worker(database: str) -> None:
    async with detent.open_async(database=database, sources=[source(lambda item: None, "a", "b")], flags=FLAGS) as db:
        assert await db.discover() == 2
        [first, second] = await db.claim(JOB, "todo", owner="me")
        assert await db.renew([first.token]) == {first.token}
        await db.settle([(first, Done())])
        await db.release([second])
        assert await db.store.claim(Stage(JOB, "todo"), owner="other", limit=5) != []
