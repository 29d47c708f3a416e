"""What a worker costs when there is nothing to do, whether its memory stays flat, and how soon `status` answers."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import psutil

from benchmarks import ledgers, ours, postgres
from benchmarks.figures import Figure, at_most
from detent.store import Store
from detent.worker.in_process import work_here

IDLE_SECONDS = 30.0
MANY = 1_000_000
STATUS_ITEMS = 10_000_000


def measure(tell: Callable[[str], None]) -> list[Figure]:
    """CPU of an idle worker and its keeper; memory over a million items; `detent status` at ten million."""
    with postgres.server() as server:
        with postgres.empty_database(server) as conninfo:
            tell(f"an idle worker for {IDLE_SECONDS:g} s")
            idle = asyncio.run(_idle(conninfo))
        with postgres.empty_database(server) as conninfo:
            tell(f"{MANY:,} items through one worker")
            early, late = asyncio.run(_memory(conninfo, tell))
        with postgres.empty_database(server) as conninfo:
            tell(f"filling a ledger with {STATUS_ITEMS:,} items")
            status = asyncio.run(_status(conninfo))
    return [
        at_most(1.0, "idle worker with its keeper", idle, "% of a core"),
        Figure("memory of a worker after 100,000 items", early, "MB"),
        Figure(f"memory of a worker after {MANY:,} items", late, "MB"),
        at_most(1.1, "memory, late ÷ early", late / early, "times"),
        at_most(0.5, f"detent status at {STATUS_ITEMS:,} items", status, "s"),
    ]


async def _idle(conninfo: str) -> float:
    settings = ours.defaults()
    async with Store(conninfo) as store, work_here(store, [ours.SOURCE], settings) as worker:
        working = asyncio.create_task(worker.run())
        await asyncio.sleep(3.0)
        before = _cpu_seconds()
        await asyncio.sleep(IDLE_SECONDS)
        spent = _cpu_seconds() - before
        worker.stop()
        await working
        return spent / IDLE_SECONDS * 100


def _cpu_seconds() -> float:
    """What this process and its children, the keeper among them, have used."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


async def _memory(conninfo: str, tell: Callable[[str], None]) -> tuple[float, float]:
    """Megabytes of this process after a tenth of the items, and after all."""
    settings = ours.settings(1000)
    async with ledgers.filled(conninfo, MANY) as store, work_here(store, [ours.SOURCE], settings) as worker:
        working = asyncio.create_task(worker.run(until_idle=True))
        early = 0.0
        while not working.done():
            await asyncio.wait({working}, timeout=1.0)
            tell(f"{worker.completed:,} of {MANY:,} items through one worker")
            if not early and worker.completed >= MANY // 10:
                early = _megabytes()
        await working
        return early, _megabytes()


def _megabytes() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6


async def _status(conninfo: str) -> float:
    """Seconds that the command takes, from its start to its end."""
    async with ledgers.filled(conninfo, STATUS_ITEMS):
        found = []
        for _ in range(5):
            began = time.perf_counter()
            command = [str(Path(sys.executable).with_name("detent")), "--database", conninfo, "status"]
            await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
            found.append(time.perf_counter() - began)
        return median(found)
