"""A crew of real processes: killed, blocked, hung, and stopped by real signals."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from detent.errors import WorkerStartFailed
from detent.worker.board import Board, make_descriptor
from detent.worker.spec import Spec

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

WORKSHOP = str(Path(__file__).parent / "workshop")
DRIVER = Path(WORKSHOP, "driver.py")


def alive(pid: int) -> bool:
    """Whether the process runs; a dead one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextlib.asynccontextmanager
async def driving(bench: Bench, **flags: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """The driver as a process; whatever is left of it and its workers at the end is killed."""
    arguments = (bench.store.database.conninfo, json.dumps(bench.flags(flags)))
    process = await asyncio.create_subprocess_exec(sys.executable, DRIVER, *arguments, start_new_session=True)
    try:
        yield process
    finally:
        for pid in {process.pid, *(call.pid for call in bench.calls())}:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        await process.wait()


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("source", ["tasks", "batches", "chores", "bundles"])
async def test_an_item_that_kills_its_worker_fails_with_that_reason_and_its_neighbours_are_done(
    bench: Bench, source: str, processes: int
) -> None:
    """ANCESTORS 11: an item that kills its worker was claimed again for ever."""
    neighbours = [f"work {number}" for number in range(9)]
    await bench.add(bench.source(source), *neighbours[:4], "die now", *neighbours[4:])
    crew = await bench.crew(worker__processes=processes)
    async with bench.working(crew) as running:
        await running
    assert await bench.states() == dict.fromkeys(neighbours, "done") | {"die now": "failed"}
    trouble, message = (await bench.errors())["die now"]
    assert trouble == "worker_died"
    assert "died or lost its lease while it held the item (attempt 3 of 3)" in str(message)
    deadly = [call for call in bench.calls() if call.key == "die now"]
    assert [(call.attempt, call.alone) for call in deadly] == [(1, False), (2, True), (3, True)]
    assert crew.deaths == 3
    assert await bench.sound()


async def test_a_crew_outlives_many_deadly_items(bench: Bench) -> None:
    deadly = [f"die {number}" for number in range(4)]
    await bench.add(bench.source("tasks"), *deadly, "work 1", "work 2")
    crew = await bench.crew(worker__max_attempts=2)
    async with bench.working(crew) as running:
        await running
    assert await bench.states() == dict.fromkeys(deadly, "failed") | {"work 1": "done", "work 2": "done"}
    assert crew.deaths >= 5, "more of them in a row than a crew takes from workers that cannot even start"


def open_boards() -> int:
    """How many boards this process has open."""
    targets = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return sum("detent-board" in str(target) for target in targets)


async def test_the_board_of_a_buried_worker_is_closed_whoever_still_knows_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[Board] = []
    before = open_boards()  # other tests may have left some

    def remembered(descriptor: int) -> Board:
        known.append(Board(descriptor))
        return known[-1]

    monkeypatch.setattr("detent.worker.crew.Board", remembered)
    await bench.add(bench.source("tasks"), "wait gate")
    crew = await bench.crew(worker__max_attempts=20)
    async with bench.working(crew) as running:
        for death in range(1, 4):
            await bench.called("wait gate", times=death)
            os.kill(bench.calls()[-1].pid, signal.SIGKILL)
        await bench.called("wait gate", times=4)
        assert open_boards() == before + 1, "that of the living worker"
        bench.open_gate("gate")
        await running
    assert open_boards() == before
    assert len(known) == 4
    assert [(board.held(), board.running()) for board in known] == [([], [])] * 4, "a keeper may still look"


async def test_a_killed_workers_items_are_given_back_at_once(bench: Bench) -> None:
    """With a lease of an hour nobody could wait for it to run out."""
    await bench.add(bench.source("tasks"), "wait gate 1", "wait gate 2", "work 1", "work 2", "work 3")
    crew = await bench.crew(worker__lease_seconds=3600, worker__concurrency=1)
    async with bench.working(crew) as running:
        await bench.called("wait gate 1")
        [first] = {call.pid for call in bench.calls()}
        os.kill(first, signal.SIGKILL)
        await bench.called("wait gate 1", times=2)
        bench.open_gate("gate")
        await running
    assert set((await bench.states()).values()) == {"done"}
    assert await bench.moves("wait gate 1") == [
        ("todo", "doing"),
        ("doing", "todo"),
        ("todo", "doing"),
        ("doing", "done"),
    ]
    begun, waiting = await bench.history("wait gate 1"), await bench.history("work 3")
    assert begun[2].attempt == 2, "what was running counts as an attempt"
    assert "died" in str(begun[1].reason)
    assert [entry.attempt for entry in waiting if entry.to_state == "doing"] == [1, 1], "what was not begun does not"
    assert await bench.sound()


@pytest.mark.parametrize("source", ["tasks", "chores"])
@pytest.mark.parametrize("key", ["block gate", "gil 30"])
async def test_a_handler_that_blocks_its_worker_over_its_limit_is_given_up(bench: Bench, source: str, key: str) -> None:
    """Whether it blocks the event loop, or holds the interpreter's lock, so that not even a thread can run."""
    neighbours = [f"work {number}" for number in range(6)]
    await bench.add(bench.source(source), *neighbours[:3], key, *neighbours[3:])
    crew = await bench.crew(worker__time_limit_seconds=1, worker__max_attempts=2)
    async with bench.working(crew) as running:
        await running
    assert await bench.states() == dict.fromkeys(neighbours, "done") | {key: "failed"}
    trouble, message = (await bench.errors())[key]
    assert trouble == "timeout"
    assert "over its time limit" in str(message)
    assert "2 of 2 attempts failed" in str(message)
    assert await bench.sound()


@pytest.mark.parametrize("source", ["tasks", "chores"])
@pytest.mark.parametrize("key", ["block gate", "hold gate"])
async def test_a_lease_is_kept_while_a_handler_blocks_its_worker(bench: Bench, source: str, key: str) -> None:
    """ANCESTORS 5: a slow but healthy item ran twice. Longer than the lease of 5 s, and within its time limit."""
    await bench.add(bench.source(source), key)
    crew = await bench.crew()
    async with bench.working(crew) as running:
        await bench.called(key)
        await bench.until(lambda: kept_beyond_its_lease(bench))
        bench.open_gate("gate")
        await running
    assert await bench.moves(key) == [("todo", "doing"), ("doing", "done")], "it ran once"
    assert len(bench.calls()) == 1


async def kept_beyond_its_lease(bench: Bench) -> bool:
    """Whether a lease was renewed so often that without it it would have run out by now."""
    async with bench.store.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT 1 FROM lease WHERE now() > claimed_at + duration AND deadline > now()"
        )
        return await cursor.fetchone() is not None


async def test_a_worker_with_a_hung_thread_retires_and_another_takes_its_place(bench: Bench) -> None:
    await bench.add(bench.source("chores"), "block never", *[f"work {number}" for number in range(20)])
    crew = await bench.crew(worker__time_limit_seconds=1, worker__max_attempts=1, worker__grace_seconds=1)
    async with bench.working(crew) as running:
        await bench.called("block never")
        [hung] = {call.pid for call in bench.calls() if call.key == "block never"}

        async def given_up() -> bool:
            return (await bench.states())["block never"] == "failed"

        await bench.until(given_up)
        await bench.add(bench.source("chores"), "work later")
        await running
    assert (await bench.states()).pop("work later") == "done"
    assert crew.deaths == 0, "it left in order"
    assert [call.pid for call in bench.calls() if call.key == "work later"] != [hung]


async def test_the_last_of_a_batch_is_not_taken_away_while_it_waits_its_turn(bench: Bench) -> None:
    """ANCESTORS 6: the last item of a batch was reclaimed while it waited its turn."""
    await bench.add(bench.source("tasks"), "wait gate", "work 1", "work last")
    crew = await bench.crew(worker__concurrency=1)
    other = await bench.crew(until_idle=False)
    async with bench.working(crew) as running:
        await bench.called("wait gate")
        async with bench.working(other):
            await bench.until(lambda: kept_beyond_its_lease(bench))
            bench.open_gate("gate")
            await running
    assert len(bench.calls()) == 3
    for key in ("wait gate", "work 1", "work last"):
        assert (await bench.moves(key)).count(("todo", "doing")) == 1


async def test_a_starting_crew_leaves_alone_what_others_are_working_on(bench: Bench) -> None:
    """ANCESTORS 8: recovery at start reset what another process was working on."""
    await bench.add(bench.source("tasks"), "wait gate")
    first = await bench.crew(until_idle=False)
    second = await bench.crew(until_idle=False)
    async with bench.working(first):
        await bench.called("wait gate")
        before = await bench.store.workers()
        async with bench.working(second):
            await bench.add(bench.source("chores"), "work 1")
            await bench.called("work 1")
            assert {holder.owner for holder in before} <= {holder.owner for holder in await bench.store.workers()}
            bench.open_gate("gate")

            async def done() -> bool:
                return set((await bench.states()).values()) == {"done"}

            await bench.until(done)
    assert (await bench.moves("wait gate")).count(("todo", "doing")) == 1


async def test_what_is_shown_as_under_way_is_in_a_workers_hands(bench: Bench) -> None:
    await bench.add(bench.source("tasks"), *[f"wait gate {number}" for number in range(10)])
    crew = await bench.crew(worker__concurrency=2, worker__batch_size=2)
    async with bench.working(crew) as running:
        await bench.called("wait gate 1")
        states = list((await bench.states()).values())
        assert (states.count("doing"), states.count("todo")) == (2, 8)
        bench.open_gate("gate")
        await running


@pytest.mark.parametrize("source", ["tasks", "chores"])
async def test_stopping_begins_nothing_more_and_lets_finish_what_was_begun(bench: Bench, source: str) -> None:
    verb = "wait" if source == "tasks" else "block"
    queued = [f"work {number}" for number in range(50)]
    await bench.add(bench.source(source), f"{verb} gate", *queued)
    async with driving(bench, worker__concurrency=1, worker__grace_seconds=60) as driver:
        await bench.called(f"{verb} gate")
        driver.terminate()

        async def released() -> bool:
            return list((await bench.states()).values()).count("todo") == len(queued)

        await bench.until(released)
        bench.open_gate("gate")
        assert await asyncio.wait_for(driver.wait(), 60) == 0
    assert [call.key for call in bench.calls()] == [f"{verb} gate"], "what was queued did not run"
    assert (await bench.states())[f"{verb} gate"] == "done"
    assert set((await bench.attempts()).values()) == {0}
    assert (await bench.history("work 7"))[-1].reason == "the worker stopped"
    assert await bench.sound()


@pytest.mark.parametrize("source", ["tasks", "chores"])
async def test_what_is_unfinished_after_the_grace_period_is_released_uncounted(bench: Bench, source: str) -> None:
    key = "wait never" if source == "tasks" else "block never"
    await bench.add(bench.source(source), key)
    async with driving(bench, worker__grace_seconds=0.5) as driver:
        await bench.called(key)
        driver.terminate()
        assert await asyncio.wait_for(driver.wait(), 60) == 0
    assert await bench.states() == {key: "todo"}
    assert await bench.attempts() == {key: 0}
    assert await bench.sound()


async def test_a_second_signal_stops_at_once_and_counts_nothing(bench: Bench) -> None:
    keys = ["wait never", "gil 120"]
    await bench.add(bench.source("tasks"), *keys, "work 1")
    one_each: dict[str, object] = {"worker__processes": 2, "worker__batch_size": 1, "worker__concurrency": 1}
    async with driving(bench, worker__grace_seconds=3600, **one_each) as driver:
        for key in keys:
            await bench.called(key)
        driver.terminate()
        workers = {call.pid for call in bench.calls()}

        async def heard() -> bool:
            return (bench.folder / "stopping").exists()

        await bench.until(heard)
        driver.terminate()
        assert await asyncio.wait_for(driver.wait(), 60) == 0
        assert not any(alive(pid) for pid in workers)
    states = await bench.states()
    assert [states[key] for key in keys] == ["todo", "todo"]
    assert set((await bench.attempts()).values()) == {0}
    assert await bench.sound()


async def test_workers_whose_crew_was_killed_stop_by_themselves(bench: Bench) -> None:
    await bench.add(bench.source("tasks"), "wait never", "work 1")
    async with driving(bench, worker__grace_seconds=0.5, worker__lease_seconds=3600) as driver:
        await bench.called("wait never")
        [worker] = {call.pid for call in bench.calls()}
        driver.kill()

        async def ended() -> bool:
            return not alive(worker)

        await bench.until(ended)
    assert (await bench.states())["wait never"] == "todo"
    assert (await bench.attempts())["wait never"] == 0
    assert await bench.sound()


async def test_after_the_whole_crew_was_killed_another_finishes_when_the_lease_has_run_out(bench: Bench) -> None:
    """ANCESTORS 9. No code of the user's takes part in that, and nobody is left who could have given anything back."""
    await bench.add(bench.source("tasks"), "wait gate", "work 1", "work 2", "work 3")
    async with driving(bench, worker__concurrency=1) as driver:
        await bench.called("wait gate")
        [worker] = {call.pid for call in bench.calls()}
        os.kill(driver.pid, signal.SIGSTOP)
        os.kill(worker, signal.SIGKILL)
        os.kill(driver.pid, signal.SIGKILL)
        await driver.wait()
    assert [holder.items for holder in await bench.store.workers()] == [4]
    bench.open_gate("gate")
    async with bench.working(await bench.crew()) as running:
        await running
    assert set((await bench.states()).values()) == {"done"}
    [_, rescued, *_] = await bench.history("wait gate")
    assert (rescued.from_state, rescued.to_state, rescued.owner) == ("doing", "todo", "keeper")
    assert await bench.sound()


async def test_an_item_edited_while_it_is_worked_on_is_worked_on_again(bench: Bench) -> None:
    """ANCESTORS 17: a node edited while it was being processed was not processed again."""
    await bench.add(bench.source("tasks"), "wait gate")
    crew = await bench.crew()
    async with bench.working(crew) as running:
        await bench.called("wait gate")
        assert await bench.store.mark_changed("tasks", "Task", {"wait gate": "new"}) == 1
        bench.open_gate("gate")
        await running
    assert len(bench.calls()) == 2
    assert await bench.states() == {"wait gate": "done"}


async def test_a_crew_whose_workers_cannot_start_says_so(bench: Bench) -> None:
    await bench.add(bench.source("tasks"), "work 1")
    crew = await bench.crew(module="no_such_module")
    async with bench.working(crew) as running:
        with pytest.raises(WorkerStartFailed, match="5 workers in a row"):
            await running


def test_a_worker_that_is_given_a_malformed_connection_string_ends_with_the_reason() -> None:
    with contextlib.ExitStack() as stack:
        board, (reading, lifeline) = make_descriptor(), os.pipe()
        for descriptor in (board, reading, lifeline):
            stack.callback(os.close, descriptor)
        spec = Spec("host=db port=http password=s3cret", "owner", board, reading, modules=["workshop"], root=WORKSHOP)
        ended = subprocess.run(
            [sys.executable, "-m", "detent.worker.process"],
            input=spec.line(),
            capture_output=True,
            check=False,
            pass_fds=(board, reading),
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"The database's connection string cannot be read: its port is not a number")
    assert b"s3cret" not in ended.stderr


async def test_a_run_waits_for_what_is_to_be_tried_later(bench: Bench) -> None:
    await bench.add(bench.source("tasks"), "flaky 1", "missing 1", "work 1")
    crew = await bench.crew(retry__base_seconds=0.5)
    async with bench.working(crew) as running:
        await running
    assert await bench.states() == {"flaky 1": "done", "missing 1": "failed", "work 1": "done"}
    assert (await bench.errors())["missing 1"][0] == "not_found"
    [_, failed, again, _] = await bench.history("flaky 1")
    assert again.at - failed.at >= timedelta(seconds=0.5), "not before its time"
