"""Trouble that passes: a database that is busy, a lock that somebody holds, a server killed under a program."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import conninfo, sql

from detent import Done, Handler, Item, Lifecycle, Outcome, Source, postgres
from detent.errors import DatabaseBusy
from detent.store import Stage, Store
from detent.worker import in_process, keeper_process
from detent.worker.board import Board, make_descriptor
from detent.worker.keeper import Keeper, Ward

if TYPE_CHECKING:
    from tests.worker.conftest import Bench


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


def source_of(handle: Any) -> Source:
    return Source("source", {"Task": JOB}, [Handler("doing", handle)])


@contextlib.contextmanager
def locked(database: str, *tables: str) -> Iterator[psycopg.Connection]:
    """Somebody else's transaction, which holds these tables alone."""
    with psycopg.connect(database, options="-c search_path=detent,public") as connection:
        for table in tables:
            connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(table)))
        yield connection
        connection.rollback()


def limit(database: str, setting: str, value: str) -> None:
    """Set a limit for all who connect to the database from now on."""
    name = conninfo.conninfo_to_dict(database)["dbname"]
    with psycopg.connect(database, autocommit=True) as connection:
        statement = sql.SQL("ALTER DATABASE {} SET {} = {}")
        connection.execute(statement.format(sql.Identifier(str(name)), sql.Identifier(setting), sql.Literal(value)))


@pytest.mark.parametrize("setting", ["lock_timeout", "statement_timeout"])
async def test_a_worker_waits_for_a_busy_database_and_goes_on(
    bench: Bench, database: str, setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    async def handle(item: Item) -> Outcome:
        begun.set()
        await gate.wait()
        return Done()

    async def told() -> bool:
        return "The database is busy or full: canceling statement due to" in caplog.text

    source = source_of(handle)
    await bench.add(source, "a", "b")
    limit(database, setting, "100ms")
    async with Store(database) as store:
        bench.store = store
        running = asyncio.create_task(bench.run(source))
        await asyncio.wait_for(begun.wait(), 60)
        with locked(database, "item"):
            gate.set()
            await bench.until(told)
            assert "does not answer" not in caplog.text
        worker = await running
        assert worker.completed == 2
        assert await bench.states() == {"a": "done", "b": "done"}
        assert await bench.sound()
    assert "Work goes on when it can." in caplog.text
    assert "The database answers, and work goes on." in caplog.text


async def held(bench: Bench, owner: str, *, lease_seconds: float) -> Ward:
    """A worker that holds an item, as its keeper sees it."""
    await bench.add(source_of(Done), owner)
    [item] = await bench.store.claim(Stage(JOB, "todo"), owner=owner, lease_seconds=lease_seconds)
    board = Board(make_descriptor())
    board.hold(item.token)
    return Ward(owner, os.getpid(), board, {})


@pytest.mark.parametrize(("duty", "table"), [("fold", "tally"), ("rescue", "journal")])
async def test_leases_are_renewed_while_another_duty_waits_for_a_lock(
    bench: Bench, database: str, duty: str, table: str
) -> None:
    keeper = Keeper(bench.store, lease_seconds=2)
    keeper.wards.append(await held(bench, "alive", lease_seconds=2))
    await held(bench, "dead", lease_seconds=0)

    async def deadline() -> datetime:
        return next(holder.deadline for holder in await bench.store.workers() if holder.owner == "alive")

    async def waits() -> bool:
        waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
        return somebody.execute(waiting, [f"detent.{table}"]).fetchone() is not None

    stopped = asyncio.Event()
    with locked(database, table) as somebody:
        keeping_on = asyncio.create_task(keeper.run(stopped, poll_seconds=0.05))
        await bench.until(waits)
        for _ in range(3):
            before = await deadline()

            async def renewed() -> bool:
                return await deadline() > before  # noqa: B023  it is called in this round

            await bench.until(renewed)
        assert await waits(), f"it still waits to {duty}"
    stopped.set()
    await asyncio.wait_for(keeping_on, 60)
    assert [holder.owner for holder in await bench.store.workers()] == ["alive"]


class Clock:
    """A monotonic clock that stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_months_that_could_not_be_made_are_tried_again_within_minutes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[float] = []

    async def extend(_: datetime) -> list[str]:
        tries.append(clock.now)
        if len(tries) < 3:
            raise DatabaseBusy("somebody reads it")
        return []

    monkeypatch.setattr(bench.store.journal, "extend", extend)
    keeper = Keeper(bench.store, lease_seconds=300, clock=(clock := Clock()))
    for _ in range(200):
        await keeper.run_once()
        clock.now += 10
    assert tries == [1000.0, 1060.0, 1120.0], "and then not before an hour is over"
    assert "The keeper could not make partitions. The database is busy or full: somebody reads it." in caplog.text
    assert "Traceback" not in caplog.text


async def test_while_a_busy_database_renews_no_lease_nobody_is_rescued(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a full disk nobody can renew; whoever comes first when it has room must not take from all others."""
    done: list[str] = []
    full = True
    clock = Clock()

    async def renew(tokens: Any) -> set[int]:
        if full:
            raise DatabaseBusy("no space left on device")
        done.append("renew")
        return set(tokens)

    async def rescue(**_: object) -> dict[int, str]:
        done.append("rescue")
        return {}

    monkeypatch.setattr(bench.store, "renew", renew)
    monkeypatch.setattr(bench.store, "rescue", rescue)
    keeper = Keeper(bench.store, lease_seconds=40, clock=clock)
    board = Board(make_descriptor())
    board.hold(7)
    keeper.wards.append(Ward("worker", 0, board, {}))
    stopped = asyncio.Event()
    keeping_on = asyncio.create_task(keeper.run(stopped, poll_seconds=0.01))
    await asyncio.wait({keeping_on}, timeout=0.1)
    assert done == []
    full = False

    async def renewed() -> bool:
        return bool(done)

    await bench.until(renewed)
    assert done == ["renew"]
    clock.now += 21

    async def rescued() -> bool:
        return "rescue" in done

    await bench.until(rescued)
    stopped.set()
    await keeping_on


PROGRAM = """
import sys, time
from pathlib import Path
import detent
from detent import Done, Handler, NewItem, Source
from detent.lifecycle import TOPIC

FOLDER = Path(sys.argv[1])

def handle(item):
    (FOLDER / f"begun {item.key}").touch()
    while item.key == "29" and not (FOLDER / "gate").exists():
        time.sleep(0.01)
    return Done()

source = Source("t", {"T": TOPIC}, [Handler("in_progress", handle, concurrency=1)],
                lambda: [NewItem(f"{number:02}", "T") for number in range(40)])
flags = {"worker.poll_seconds": 0.1, "worker.lease_seconds": 60}
if __name__ == "__main__":
    with detent.open(FOLDER, sources=[source], flags=flags) as db:
        print(db.run())
        print(db.wait(db.asynchronous.store.tallies.check()))
"""


def test_a_server_of_ones_own_that_is_killed_during_a_run_is_started_again(folder: Path) -> None:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for((folder / "begun 29").exists)
            os.kill(running_server(folder / ".detent"), signal.SIGKILL)
            wait_for(lambda: not postgres.describe(folder / ".detent").running)
            os.kill(running_server(folder / ".detent"), signal.SIGKILL)
            (folder / "gate").touch()
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert out == "Report(done=40, failed=0, later=0, first_due=None, waiting=0)\n[]\n", err


def running_server(folder: Path) -> int:
    """The process of the server, once it runs."""
    wait_for(lambda: postgres.describe(folder).running)
    return postgres.describe(folder).pid or 0


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="detent-trouble-"))
    made.chmod(0o755)  # the account that PostgreSQL runs under must reach it
    yield made
    shutil.rmtree(made, ignore_errors=True)


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


async def test_a_keeper_that_revives_the_server_often_holds_one_lock_and_looks_once_a_second(
    folder: Path,
) -> None:
    lock = str(folder / "locks" / "users.lock")
    with contextlib.closing(keeper_process.OwnServer(folder, clock=(clock := Clock()))) as server:
        for _ in range(3):
            clock.now += 2
            await server.revive()
        assert len(open_files(lock)) == 1
        number = postgres.describe(folder).pid
        assert number is not None
        os.kill(number, signal.SIGKILL)
        wait_for(lambda: not postgres.describe(folder).running)
        await server.revive()
        assert not postgres.describe(folder).running, "it looked a moment ago"
        clock.now += 2
        await asyncio.gather(server.revive(), server.revive())
        assert postgres.describe(folder).running
        assert len(open_files(lock)) == 1
    assert open_files(lock) == []


def open_files(name: str) -> list[str]:
    """What this process has open whose name has this in it."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was open for listing the others
            found.append(str(descriptor.readlink()))
    return [path for path in found if name in path]


def boards_in_memory() -> int:
    return Path("/proc/self/maps").read_text().count("detent-board")


async def test_working_in_a_program_leaves_nothing_open_behind(bench: Bench) -> None:
    async def handle(item: Item) -> Outcome:
        return Done()

    source = source_of(handle)
    await bench.add(source, "a")
    settings = bench.settings()
    gc.disable()  # what is closed only when the collector comes by is not closed
    try:
        seen = []
        for _ in range(4):
            async with in_process.work_here(bench.store, [source], settings) as worker:
                await worker.run(until_idle=True)
            seen.append((len(open_files("")), boards_in_memory()))
        assert seen[1:] == seen[:1] * 3, "the first may have opened connections of the store, which stay"
    finally:
        gc.enable()
