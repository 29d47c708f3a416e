"""Workers that are told to stop while PostgreSQL is away; what becomes of those that go on, the crash test tells."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import pytest

from detent.errors import DatabaseAway
from detent.store import Store
from detent.worker.configured import all_sources

if TYPE_CHECKING:
    from tests.worker.conftest import Bench, Server


async def settled(store: Store) -> int:
    """How many items are at rest; fewer than none while nobody can say."""
    try:
        return sum(line.count for line in await store.count_by_state() if line.state in ("done", "failed"))
    except DatabaseAway:
        return -1


async def reached(store: Store, goal: int) -> bool:
    return await settled(store) >= goal


async def away(store: Store) -> bool:
    return await settled(store) < 0


async def test_a_crew_that_is_told_to_stop_while_the_database_is_away_ends(bench: Bench, own_server: Server) -> None:
    async with Store(own_server.conninfo, wait_seconds=2) as store:
        bench.store = store
        await bench.add(bench.source("tasks"), "wait never", "work 1")
        crew = await bench.crew(until_idle=False, worker__grace_seconds=1)
        async with bench.working(crew) as running:
            await bench.called("wait never")
            own_server.kill(signal.SIGQUIT)
            crew.stop()
            await bench.until(lambda: away(store))
            crew.kill()
            await asyncio.wait_for(running, 60)
        own_server.start()
        await bench.until(lambda: reached(store, 0))
        async with bench.working(await bench.crew(worker__time_limit_seconds=1, worker__max_attempts=1)) as running:
            await running
        assert await bench.states() == {"wait never": "failed", "work 1": "done"}


async def test_a_worker_that_is_told_to_stop_while_the_database_is_away_ends(bench: Bench, own_server: Server) -> None:
    async with Store(own_server.conninfo, wait_seconds=1) as store:
        bench.store = store
        source = bench.source("tasks")
        await bench.add(source, "work 1")
        worker = bench.worker(source, worker__grace_seconds=0)
        running = asyncio.create_task(worker.run())
        await bench.until(lambda: reached(store, 1))
        own_server.kill(signal.SIGQUIT)
        await bench.until(lambda: away(store))
        worker.stop()
        await asyncio.wait_for(running, 60)
        own_server.start()


async def test_a_worker_that_asks_what_there_is_to_do_while_the_database_is_away_waits_for_it(
    bench: Bench, own_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async with Store(own_server.conninfo, wait_seconds=1) as store:
        source, stopped = bench.source("tasks"), asyncio.Event()
        own_server.kill(signal.SIGQUIT)
        await bench.until(lambda: away(store))
        asking = asyncio.create_task(all_sources(store, [source], unless=stopped))

        async def has_waited() -> bool:
            return "The database does not answer" in caplog.text

        await bench.until(has_waited)
        assert not asking.done()
        own_server.start()
        assert await asyncio.wait_for(asking, 60) == [source]

        own_server.kill(signal.SIGQUIT)
        await bench.until(lambda: away(store))
        stopped.set()
        with pytest.raises(DatabaseAway):
            await all_sources(store, [source], unless=stopped)
        own_server.start()
