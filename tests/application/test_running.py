"""`db.run()`: the same run as the command line's, in this process or in several, stopped in two steps."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

import detent
from detent import Done, Handler, Item, NewItem, Source
from detent.application.running.news import (
    Discovered,
    Discovering,
    News,
    Progress,
    SourceFailed,
    Stopping,
    StoppingAtOnce,
)
from detent.errors import DiscoveryFailed, InvalidSource
from detent.lifecycle import NODE, TOPIC

FLAGS = {"worker.poll_seconds": 0.05, "worker.batch_size": 2, "worker.concurrency": 1}

MODULE = """
import os
import detent
from detent.lifecycle import TOPIC

def generate(item):
    return detent.Failed("no") if item.key == "7" else detent.Done(detent.Node(f"by {os.getpid()}"))

def discover():
    return [detent.NewItem(str(number), "Topic") for number in range(10)]

SOURCES = [detent.Source("topics", {"Topic": TOPIC}, [detent.Handler("in_progress", generate)], discover)]
"""


def topics(generate: Callable[[Item], object], *keys: str) -> Source:
    return Source(
        "topics",
        {"Topic": TOPIC},
        [Handler("in_progress", generate)],
        lambda: [NewItem(key, "Topic") for key in keys],
    )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project whose settings name a module that declares a source."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "detent.toml").write_text(
        '[handlers]\nmodules = ["topics_of_a_project"]\n[worker]\npoll_seconds = 0.1\n'
    )
    (tmp_path / "topics_of_a_project.py").write_text(MODULE)
    yield tmp_path
    sys.modules.pop("topics_of_a_project", None)


@pytest.mark.parametrize("processes", [0, 1, None])
def test_a_run_with_one_more_or_one_fewer_process_reports_and_tells_the_same(
    project: Path, database: str, processes: int | None
) -> None:
    told: list[News] = []
    with detent.open(project, database=database) as db:
        report = db.run(processes=processes, tell=told.append)

    assert (report.done, report.failed, report.finished, report.total, report.found) == (9, 1, 9, 10, 10)
    assert (report.failed_states, report.stopped, report.ok, report.complete) == (("failed",), None, False, False)
    assert Discovered(10, 0, 0) in told
    last = [each for each in told if isinstance(each, Progress)][-1].stages[0]
    assert (last.stage, last.done, last.total, last.failed) == ("in_progress", 9, 10, 1)
    assert json.loads(json.dumps([report.as_data(), *(each.as_data() for each in told)]))


def test_worker_processes_cannot_have_sources_of_this_program(database: str) -> None:
    with (
        detent.open(database=database, sources=[topics(lambda item: None, "a")]) as db,
        pytest.raises(InvalidSource, match="Name the module that declares them"),
    ):
        db.run(processes=2)


def test_a_run_without_any_source_says_what_to_do(tmp_path: Path, database: str) -> None:
    with (
        detent.open(tmp_path, database=database) as db,
        pytest.raises(InvalidSource, match="No sources are configured"),
    ):
        db.run()


async def test_what_has_begun_is_finished_by_a_gentle_stop_and_the_rest_is_given_back(database: str) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()
    told: list[News] = []

    async def generate(item: Item) -> Done:
        begun.set()
        await gate.wait()
        return Done()

    source = topics(generate, "a", "b", "c")
    async with detent.open_async(database=database, sources=[source], flags=FLAGS) as db:
        running = asyncio.create_task(db.run(tell=told.append))
        await begun.wait()
        assert await db.stop()
        while {line.state: line.count for line in await db.count_by_state()}.get("pending") != 2:
            pass
        gate.set()
        report = await running
        assert not await db.stop()
        attempts = {item.attempt for item in (await db.items(state="pending")).items}

    assert (report.stopped, report.began, report.finished, report.waiting) == ("gently", True, 1, 2)
    assert attempts == {0}
    assert [each for each in told if isinstance(each, Stopping)] == [Stopping(30.0)]


async def test_a_second_stop_gives_back_at_once_what_has_begun(database: str) -> None:
    begun = asyncio.Event()
    told: list[News] = []

    async def generate(item: Item) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with detent.open_async(database=database, sources=[topics(generate, "a")], flags=FLAGS) as db:
        running = asyncio.create_task(db.run(tell=told.append))
        await begun.wait()
        await db.stop()
        await db.stop()
        report = await running
        [item] = (await db.items()).items

    assert (report.stopped, report.finished, report.waiting) == ("at once", 0, 1)
    assert (item.state, item.attempt) == ("pending", 0)
    assert StoppingAtOnce(None) in told


async def test_a_stop_while_the_sources_name_their_items_keeps_what_they_named(database: str) -> None:
    named = asyncio.Event()

    async def discover() -> AsyncIterator[NewItem]:
        for number in range(10_000):
            yield NewItem(str(number), "Topic")
        await asyncio.Event().wait()

    def tell(news: News) -> None:
        if isinstance(news, Discovering):
            named.set()

    source = Source("topics", {"Topic": TOPIC}, [Handler("in_progress", lambda item: None)], discover)
    async with detent.open_async(database=database, sources=[source]) as db:
        running = asyncio.create_task(db.run(tell=tell))
        await named.wait()
        await db.stop()
        report = await running
        [line] = await db.count_by_state()

    assert (report.stopped, report.began, report.found) == ("gently", False, 10_000)
    assert (line.state, line.count) == ("pending", 10_000)


async def test_who_works_until_stopped_does_not_discover_and_does_what_others_add(database: str) -> None:
    done = asyncio.Event()

    async def generate(item: Item) -> None:
        done.set()

    async with detent.open_async(database=database, sources=[topics(generate, "named")], flags=FLAGS) as db:
        running = asyncio.create_task(db.run(until_idle=False))
        await db.add("topics", "Topic", ["added"])
        await done.wait()
        await db.stop()
        report = await running

    assert (report.total, report.finished) == (1, 1)


async def test_a_watched_source_is_asked_again_until_the_run_is_stopped(database: str) -> None:
    keys, changed, done = ["a"], asyncio.Event(), asyncio.Event()

    async def watch() -> AsyncIterator[None]:
        await changed.wait()
        yield
        await asyncio.Event().wait()

    async def generate(item: Item) -> None:
        if item.key == "a":
            keys.append("b")
            changed.set()
        else:
            done.set()

    source = Source(
        "topics",
        {"Topic": TOPIC},
        [Handler("in_progress", generate)],
        lambda: [NewItem(key, "Topic") for key in keys],
        watch=watch,
    )
    async with detent.open_async(database=database, sources=[source], flags=FLAGS) as db:
        running = asyncio.create_task(db.run(watch=True))
        await done.wait()
        await db.stop()
        report = await running

    assert (report.total, report.finished) == (2, 2)


def test_what_a_run_does_not_work_on_is_in_its_report(database: str) -> None:
    half = Source("files", {"File": NODE}, [Handler("parsing", lambda item: None)], lambda: [NewItem("a.py", "File")])
    with detent.open(database=database, sources=[topics(lambda item: None, "a"), half], flags=FLAGS) as db:
        db.declare("others", "Topic", TOPIC)
        db.add("others", "Topic", ["b", "c"])
        db.pause("topics")
        report = db.run()

    left = {(each.source, each.label): each for each in report.left}
    assert left["files", "File"].unserved == {"parsed": 1}
    assert left["topics", "Topic"].paused == 1
    assert left["others", "Topic"].elsewhere == 2
    assert (report.waiting, report.rest, report.complete) == (2, 2, False)


def test_a_source_that_fails_is_told_and_raised_with_the_report(database: str) -> None:
    def fail() -> Iterator[NewItem]:
        yield NewItem("a", "Topic")
        raise OSError("no network")

    told: list[News] = []
    source = Source("topics", {"Topic": TOPIC}, [Handler("in_progress", lambda item: None)], fail)
    with detent.open(database=database, sources=[source]) as db, pytest.raises(DiscoveryFailed) as raised:
        db.run(tell=told.append)

    assert [each.sentence for each in told if isinstance(each, SourceFailed)] == [str(raised.value)]


def test_a_run_is_stopped_from_another_thread(database: str) -> None:
    begun, gate = threading.Event(), threading.Event()

    def generate(item: Item) -> None:
        begun.set()
        gate.wait(60)

    with detent.open(database=database, sources=[topics(generate, "a", "b", "c")], flags=FLAGS) as db:

        def stop() -> None:
            begun.wait(60)
            db.stop()
            while {line.state: line.count for line in db.count_by_state()}.get("pending") != 2:
                pass
            gate.set()

        stopping = threading.Thread(target=stop)
        stopping.start()
        report = db.run()
        stopping.join()

    assert (report.stopped, report.finished) == ("gently", 1)
