"""PostgreSQL itself killed under its workers, at random points: they wait, go on, and nothing is lost.

Each case has a server of its own, which is killed by a signal to its postmaster and started again.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from detent.errors import DatabaseAway
from detent.store import Store
from detent.store.embedded import Attachment, attach

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

ITEMS = 40


class Server:
    """A PostgreSQL that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / ".detent"
        self._attachments: list[Attachment] = [attach(self._folder)]

    @property
    def conninfo(self) -> str:
        return self._attachments[0].conninfo

    def kill(self, number: signal.Signals) -> None:
        [file] = self._folder.rglob("postmaster.pid")
        os.kill(int(file.read_text().splitlines()[0]), number)

    def start(self) -> None:
        self._attachments.append(attach(self._folder))

    def close(self) -> None:
        for attachment in self._attachments:
            attachment.close()


@pytest.fixture
def own_server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="detent-outage-"))
    folder.chmod(0o755)  # the account that PostgreSQL runs under must reach it
    server = Server(folder)
    try:
        yield server
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


async def settled(store: Store) -> int:
    """How many items are at rest; fewer than none while nobody can say."""
    try:
        return sum(line.count for line in await store.count_by_state() if line.state in ("done", "failed"))
    except DatabaseAway:
        return -1


@pytest.mark.parametrize("seed", range(4))
async def test_with_the_database_killed_at_random_points_workers_go_on_and_nothing_is_lost(
    bench: Bench, own_server: Server, seed: int
) -> None:
    chance = random.Random(seed)
    names = [f"work {number}" for number in range(ITEMS)]
    failing = ["missing 1", "raise 1"]
    async with Store(own_server.conninfo, wait_seconds=3) as store:
        bench.store = store
        for source in ("tasks", "chores"):
            await bench.add(bench.source(source), *[f"{name} {source}" for name in names], *failing, "flaky 1")
        crew = await bench.crew(worker__processes=2, worker__batch_size=3, worker__concurrency=2)
        async with bench.working(crew) as running:
            for number in chance.sample([signal.SIGQUIT, signal.SIGKILL, signal.SIGINT], 2):
                goal = chance.randrange(2 * ITEMS)
                await bench.until(lambda goal=goal: reached(store, goal))  # type: ignore[misc]
                await asyncio.sleep(chance.random() * 0.2)
                own_server.kill(number)
                await asyncio.sleep(chance.random())
                await asyncio.to_thread(own_server.start)
            await running
        assert crew.deaths == 0, "no worker gave up"
    async with Store(own_server.conninfo) as store:
        bench.store = store
        states = {(item.source, item.key): item.state for item in (await store.list(limit=1000)).items}
        assert len(states) == 2 * (ITEMS + 3)
        assert {key for (_, key), state in states.items() if state == "failed"} == set(failing)
        assert set(states.values()) == {"done", "failed"}
        assert await bench.sound()
        for item in (await store.list(limit=1000)).items:
            moves = [(entry.from_state, entry.to_state) for entry in await store.history(item.id)]
            assert moves.count(("doing", item.state)) == 1, "it was settled once"
            assert all(end == start for (_, end), (start, _) in itertools.pairwise(moves))


async def reached(store: Store, goal: int) -> bool:
    return await settled(store) >= goal


async def test_a_crew_that_is_told_to_stop_while_the_database_is_away_ends(bench: Bench, own_server: Server) -> None:
    async with Store(own_server.conninfo, wait_seconds=2) as store:
        bench.store = store
        await bench.add(bench.source("tasks"), "wait never", "work 1")
        crew = await bench.crew(until_idle=False, worker__grace_seconds=1)
        async with bench.working(crew) as running:
            await bench.called("wait never")
            own_server.kill(signal.SIGQUIT)
            crew.stop()
            await asyncio.sleep(2)
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

        async def away() -> bool:
            return await settled(store) < 0

        await bench.until(away)
        worker.stop()
        await asyncio.wait_for(running, 60)
        own_server.start()
