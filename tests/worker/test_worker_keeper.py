"""The keeper and the worker: leases kept, lost, given up and given back, with the test in the keeper's place."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from detent import Done, Handler, Item, Lifecycle, Node, Outcome, Source, Step
from detent.configuration import load
from detent.errors import DatabaseAway
from detent.lifecycle import CRAWL, RetryPolicy
from detent.store import Stage, Store
from detent.worker.board import Board, make_descriptor
from detent.worker.duty import declare, duties, place, policies
from detent.worker.keeper import DEAD_SECONDS, OWNER, RESCUE_SECONDS, Keeper, Ward
from detent.worker.names import is_dead, worker_name

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
STAGE = Stage(JOB, "todo", max_attempts=2)


class Clock:
    """A monotonic clock that stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Gated:
    """A handler that waits for the test; what it writes tells which call it was."""

    def __init__(self) -> None:
        self.calls: list[Item] = []
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()

    async def __call__(self, item: Item) -> Outcome:
        self.calls.append(item)
        number = len(self.calls)
        self.begun.set()
        await self.gate.wait()
        return Done(node=Node(f"written by call {number}"))


@asynccontextmanager
async def at_work(
    bench: Bench, handler: Any, *keys: str, **details: Any
) -> AsyncIterator[tuple[Keeper, Ward, asyncio.Task[None]]]:
    source = Source("source", {"Task": JOB}, [Handler("doing", handler, **details)])
    await bench.add(source, *keys)
    board = Board(make_descriptor())
    worker = bench.worker(source, board=board)
    keeper = Keeper(bench.store, lease_seconds=5)
    ward = Ward(worker.owner, os.getpid(), board, {})
    keeper.wards.append(ward)
    running = asyncio.create_task(worker.run(until_idle=True))
    try:
        async with asyncio.timeout(60):
            yield keeper, ward, running
    finally:
        running.cancel()
        await asyncio.wait({running})


def killed() -> str:
    """The name of a worker that is no longer there."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return worker_name(process.pid)


async def test_what_was_killed_with_its_keeper_is_taken_back_before_its_lease_runs_out(bench: Bench) -> None:
    clock = Clock()
    keeper = Keeper(bench.store, lease_seconds=300, clock=clock)
    source = Source("source", {"Task": JOB}, [])
    await bench.add(source, "a", "b", "c", "d", "e")
    elsewhere = killed().replace(socket.gethostname(), "another-machine")
    owners = [killed(), worker_name(), worker_name(role="queue"), elsewhere, killed()]
    items = [(await bench.store.claim(STAGE, owner=owner, limit=1))[0] for owner in owners]
    keeper.wards.append(Ward(owners[4], 0, Board(make_descriptor()), {}))
    await keeper.bury_strangers()
    clock.now += DEAD_SECONDS - 1
    await keeper.bury_strangers()
    assert list((await bench.states()).values()) == ["doing"] * 5, "its own keeper may still say what it was doing"
    clock.now += 1
    await keeper.bury_strangers()
    states = await bench.states()
    assert [states[item.key] for item in items] == ["todo", "doing", "doing", "doing", "doing"]
    [again] = await bench.store.claim(STAGE, owner="another", limit=1)
    assert (again.key, again.attempt, again.alone) == (items[0].key, 2, True), "its last attempt"


def test_a_worker_is_dead_only_if_its_process_could_be_seen_and_is_not_there() -> None:
    assert is_dead(killed())
    alive = [worker_name(), worker_name(1), "somebody", f"{socket.gethostname()}:999999999:abcdef"]
    assert not any(map(is_dead, alive))


async def test_a_worker_that_lost_its_lease_learns_it_and_writes_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """ANCESTORS 2 and 7: its late result still landed, and it never learnt that it had lost its claim."""
    handler = Gated()
    async with at_work(bench, handler, "a", "b", "c", concurrency=1, batch_size=3) as (keeper, ward, running):
        await handler.begun.wait()
        tokens = ward.board.held()
        assert len(await bench.store.rescue(tokens=tokens)) == 3, "somebody else takes it all back"
        await keeper.renew(ward)
        assert ward.board.lost() == set(tokens)

        async def learnt() -> bool:
            return "The lease of 2 items was lost before they were begun" in caplog.text

        await bench.until(learnt)
        handler.gate.set()
        await running
    first, *others = handler.calls
    assert sorted(item.key for item in others) == ["a", "b", "c"], "what was not begun yet was not begun any more"
    assert all(item.token != first.token and item.attempt == 2 and item.alone for item in others)
    async with bench.store.database.connection() as connection:
        rows = await (await connection.execute("SELECT title FROM node ORDER BY 1")).fetchall()
    assert [row.title for row in rows] == [f"written by call {number}" for number in (2, 3, 4)]
    assert set((await bench.states()).values()) == {"done"}
    assert await bench.sound()


async def test_a_late_result_does_not_land_on_an_item_that_another_worker_has(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """ANCESTORS 2: after a reclaim the first worker's late `loaded` or `failed` still landed."""
    handler = Gated()
    async with at_work(bench, handler, "a", concurrency=1, batch_size=1) as (_, ward, running):
        await handler.begun.wait()
        await bench.store.rescue(tokens=ward.board.held())
        [taken] = await bench.store.claim(STAGE, owner="second")
        handler.gate.set()

        async def refused() -> bool:
            return "1 items were lost to another worker" in caplog.text

        await bench.until(refused)
        assert await bench.store.held(taken.token) == [taken]
        await bench.store.settle([(taken, Done(node=Node("written by the second")))])
        await running
    async with bench.store.database.connection() as connection:
        rows = await (await connection.execute("SELECT title FROM node")).fetchall()
    assert [row.title for row in rows] == ["written by the second"]
    assert [entry.owner for entry in await bench.history("a")][2:] == ["second", "second"]
    assert await bench.sound()


async def test_a_lease_is_renewed_as_long_as_its_worker_holds_it(bench: Bench) -> None:
    handler = Gated()
    async with at_work(bench, handler, "a") as (keeper, ward, running):
        await handler.begun.wait()
        [before] = await bench.store.workers()
        await keeper.run_once()
        [after] = await bench.store.workers()
        assert after.deadline > before.deadline
        handler.gate.set()
        await running
        assert ward.board.held() == []


async def test_the_keeper_gives_up_each_attempt_that_is_over_its_limit(bench: Bench) -> None:
    """Also the second one of the same item, in a worker that may not be killed."""
    source = Source("source", {"Task": JOB}, [Handler("doing", Gated())])
    await bench.add(source, "slow", "quick")
    clock = Clock()
    board = Board(make_descriptor())
    keeper = Keeper(bench.store, lease_seconds=300, clock=clock)
    patience = RetryPolicy(max_attempts=2, base_seconds=0)
    ward = Ward("worker", os.getpid(), board, {place("source", "Task", "doing"): patience})
    for attempt in (1, 2):
        items = await bench.store.claim(STAGE, owner="worker")
        [slow] = [item for item in items if item.key == "slow"]
        assert slow.attempt == attempt
        board.hold(slow.token)
        board.begin([(slow.token, slow.id)], clock.now + 10)
        await keeper.give_up_overdue(ward)
        assert (await bench.states())["slow"] == "doing", "not before its time"
        clock.now += 13
        await keeper.give_up_overdue(ward)
        assert slow.alone == (attempt == 2)
    assert await bench.states() == {"slow": "failed", "quick": "doing"}
    trouble, message = (await bench.errors())["slow"]
    assert trouble == "timeout"
    assert message == "The handler was over its time limit and did not answer (2 of 2 attempts failed)"


async def test_a_step_is_given_up_by_the_policy_of_the_stage_that_it_belongs_to(bench: Bench) -> None:
    def crawl(item: Item) -> Iterator[Step]:
        yield Step()

    source = Source("laws", {"Crawl": CRAWL}, [Handler("running", crawl, max_attempts=7)])
    found = policies(duties([source], await declare(bench.store, [source]), bench.settings()))
    assert {name: policy.max_attempts for name, policy in found.items()} == {
        place("laws", "Crawl", state): 7 for state in CRAWL.working
    }


async def test_a_handler_that_has_ended_is_not_over_its_limit_while_its_outcome_waits_to_be_written(
    bench: Bench,
) -> None:
    source = Source("source", {"Task": JOB}, [Handler("doing", Gated())])
    await bench.add(source, "a")
    clock = Clock()
    board = Board(make_descriptor())
    [item] = await bench.store.claim(STAGE, owner="worker")
    board.begin([(item.token, item.id)], clock.now + 10)
    board.finish([(item.token, item.id)])
    clock.now += 1000
    await Keeper(bench.store, lease_seconds=300, clock=clock).give_up_overdue(Ward("worker", 0, board, {}))
    assert await bench.states() == {"a": "doing"}


async def test_burying_finds_leases_that_the_dead_worker_had_not_even_noted(bench: Bench) -> None:
    """It died between the database's answer to its claim and its next step."""
    source = Source("source", {"Task": JOB}, [Handler("doing", Gated())])
    await bench.add(source, "a", "b")
    [first, _] = await bench.store.claim(STAGE, owner="dead")
    board = Board(make_descriptor())
    await bench.store.settle([(first, Done())])
    await Keeper(bench.store, lease_seconds=300).bury(Ward("dead", 0, board, {}))
    assert await bench.states() == {"a": "done", "b": "todo"}
    assert (await bench.attempts())["b"] == 0
    assert await bench.sound()


async def test_burying_one_worker_takes_nothing_from_another_whose_lease_ran_out(bench: Bench) -> None:
    """While the database was away, nobody could renew; one worker died meanwhile, and the others went on."""
    await bench.add(Source("source", {"Task": JOB}, [Handler("doing", Gated())]), "a", "b")
    [dead] = await bench.store.claim(STAGE, owner="dead", limit=1, lease_seconds=0)
    [alive] = await bench.store.claim(STAGE, owner="alive", limit=1, lease_seconds=0)
    board = Board(make_descriptor())
    board.hold(dead.token)
    keeper = Keeper(bench.store, lease_seconds=300)
    await keeper.bury(Ward("dead", 0, board, {}))
    assert (await bench.store.settle([(alive, Done())]))[0].status == "applied"
    assert (await bench.states())[dead.key] == "todo"


async def test_burying_waits_for_a_statement_that_the_dead_worker_had_sent(bench: Bench) -> None:
    source = Source("source", {"Task": JOB}, [Handler("doing", Gated())])
    await bench.add(source, "a")
    [item] = await bench.store.claim(STAGE, owner="dead")
    board = Board(make_descriptor())
    board.hold(item.token)
    board.begin([(item.token, item.id)], 1.0)
    keeper = Keeper(bench.store, lease_seconds=300)
    async with bench.store.database.transaction() as connection:
        await connection.execute("SELECT FROM lease WHERE token = %s FOR UPDATE", [item.token])
        burying = asyncio.create_task(keeper.bury(Ward("dead", 0, board, {})))
        await asyncio.wait({burying}, timeout=0.3)
        assert not burying.done()
    await asyncio.wait_for(burying, 30)
    assert await bench.states() == {"a": "todo"}
    assert (await bench.attempts())["a"] == 1


async def test_a_claim_whose_answer_was_lost_is_given_back_and_made_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server had committed it, and the connection broke. Nobody else may have to wait for that lease to end."""
    claim = bench.store.claim
    broken = False

    async def unlucky(*arguments: Any, **named: Any) -> list[Item]:
        nonlocal broken
        items = await claim(*arguments, **named)
        if items and not broken:
            broken = True
            raise DatabaseAway("the connection was lost")
        return items

    async def handle(item: Item) -> Outcome:
        return Done()

    monkeypatch.setattr(bench.store, "claim", unlucky)
    async with at_work(bench, handle, "a", "b") as (_, _, running):
        await running
    assert await bench.states() == {"a": "done", "b": "done"}
    assert [entry.attempt for entry in await bench.history("a") if entry.to_state == "doing"] == [1, 1]
    assert (await bench.history("a"))[1].reason == "the answer to its claim was lost"
    assert await bench.sound()


async def test_a_duty_that_fails_does_not_keep_the_keeper_from_the_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    async def fail() -> None:
        raise RuntimeError("odd")

    async def rescue(**_: object) -> dict[int, str]:
        done.append("rescue")
        return {}

    monkeypatch.setattr(bench.store.tallies, "fold", fail)
    monkeypatch.setattr(bench.store, "rescue", rescue)
    keeper = Keeper(bench.store, lease_seconds=300, clock=(clock := Clock()))
    for _ in range(3):
        with caplog.at_level(logging.ERROR):
            await keeper.run_once()
        clock.now += 10
    assert done == ["rescue"] * 3
    assert "The keeper could not fold; it will try again." in caplog.text


async def test_the_journal_is_kept_for_as_long_as_the_setting_says(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pruned: list[datetime] = []

    async def prune(before: datetime) -> list[str]:
        pruned.append(before)
        return []

    monkeypatch.setattr(bench.store.journal, "prune", prune)
    await Keeper(bench.store, lease_seconds=300).run_once()
    assert not pruned
    await Keeper(bench.store, lease_seconds=300, retention_days=90).run_once()
    assert [round((datetime.now(UTC) - before) / timedelta(days=1)) for before in pruned] == [90]


async def test_a_keeper_keeps_its_live_workers_leases_that_ran_out_while_the_machine_slept(bench: Bench) -> None:
    """After a suspend the database's clock is hours ahead of what was renewed last."""
    given = Source("source", {"Task": JOB}, [Handler("doing", lambda item: None)])
    await bench.add(given, "a")
    kinds = [await bench.store.kinds.get("source", "Task")]
    items = await bench.store.claim(STAGE, owner="alive", kinds=kinds)
    async with bench.store.database.connection() as connection:
        await connection.execute("UPDATE lease SET deadline = clock() - interval '1 hour'")
    board = Board(make_descriptor())
    board.hold(items[0].token)
    keeper = Keeper(bench.store, lease_seconds=300)
    keeper.wards.append(Ward("alive", os.getpid(), board, {}))
    await keeper.rescue()
    assert [item.key for item in await bench.store.held(items[0].token)] == ["a"]
    assert not board.lost()


async def test_after_the_database_was_away_every_keeper_renews_before_anybody_rescues(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the first one to come back would take from all the others what is theirs."""
    done: list[str] = []
    away = True
    stopped = asyncio.Event()
    clock = Clock()

    async def renew(tokens: Any) -> set[int]:
        if away:
            raise DatabaseAway("gone")
        done.append("renew")
        return set(tokens)

    async def rescue(**_: object) -> dict[int, str]:
        done.append("rescue")
        stopped.set()
        return {}

    monkeypatch.setattr(bench.store, "renew", renew)
    monkeypatch.setattr(bench.store, "rescue", rescue)
    keeper = Keeper(bench.store, lease_seconds=40, clock=clock)
    board = Board(make_descriptor())
    board.hold(7)
    keeper.wards.append(Ward("worker", 0, board, {}))
    await asyncio.wait({asyncio.create_task(keeper.run(stopped, poll_seconds=0.01))}, timeout=0.1)
    assert done == []
    away = False

    async def renewed() -> bool:
        return bool(done)

    await bench.until(renewed)
    assert done == ["renew"]
    clock.now += 21
    await asyncio.wait_for(stopped.wait(), 10)
    assert done[-1] == "rescue"


async def test_dead_work_waits_for_one_lease_and_one_poll_and_for_no_code_of_the_users(bench: Bench) -> None:
    """ANCESTORS 9: stale work waited for an hour or four, or for user code. Here the whole machine has died, so that
    nobody gives anything back, and another machine's keeper knows neither the source nor its handlers."""
    lease_seconds = load(None).worker.lease_seconds
    assert lease_seconds == 300, "by default"
    await bench.add(Source("source", {"Task": JOB}, [Handler("doing", Gated())]), "a", "b")
    bench.store.database.now = datetime(2026, 3, 1, tzinfo=UTC)
    await bench.store.claim(STAGE, owner="dead", lease_seconds=lease_seconds)
    clock = Clock()

    async with Store(bench.store.database.conninfo) as elsewhere:
        keeper = Keeper(elsewhere, lease_seconds=lease_seconds, clock=clock)
        for seconds, states in ((0, {"doing"}), (lease_seconds, {"doing"}), (RESCUE_SECONDS, {"todo"})):
            clock.now += seconds
            bench.store.database.now += timedelta(seconds=seconds)
            elsewhere.database.now = bench.store.database.now
            await keeper.run_once()
            assert set((await bench.states()).values()) == states, f"{clock.now - Clock.now:.0f} s later"
    assert RESCUE_SECONDS <= 2
    assert {(await bench.history(key))[-1].owner for key in "ab"} == {OWNER}
    assert await bench.sound()
