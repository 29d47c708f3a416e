"""The full life of many items, shared by several processes: enqueued, claimed, finished.

Every contender is measured by the clock in this module, whatever interpreter runs it, so it needs nothing
but the standard library. Processes start, connect and meet at a barrier before the clock starts; they meet
again when all items are enqueued, and a last time when all are finished, which stops the clock. What it
costs to start an interpreter is nobody's throughput.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import time
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from itertools import pairwise
from multiprocessing.process import BaseProcess
from threading import BrokenBarrierError
from typing import Any, Protocol

MEETING_LIMIT_S = 600.0


class Barrier(Protocol):
    """What `multiprocessing` gives as a barrier."""

    def wait(self, timeout: float | None = None) -> int: ...

    def abort(self) -> None: ...


@dataclass(frozen=True)
class Share:
    """One process's part of the work, and the barrier at which it meets the others."""

    conninfo: str
    keys: range
    batch: int
    barrier: Barrier

    def batches(self, size: int) -> list[range]:
        """The keys in consecutive parts of at most this many."""
        return [self.keys[start : start + size] for start in range(0, len(self.keys), size)]

    def meet(self) -> None:
        """Wait until every process has come this far. Blocks the event loop, which has nothing else to do."""
        self.barrier.wait(MEETING_LIMIT_S)


@dataclass(frozen=True)
class Life:
    """What a run measured."""

    items: int
    enqueue_seconds: float
    seconds: float
    items_per_second: float


@dataclass(frozen=True)
class Trial:
    """How one contender is measured: three coroutines over an empty database.

    `prepare` makes the schema, before the clock. `work` runs once per process: it connects, calls
    `share.meet()`, enqueues `share.keys`, calls `share.meet()` again, and works until nothing is left.
    `finished` counts, after the clock, what the tables say is done.
    """

    prepare: Callable[[str], Coroutine[Any, Any, None]]
    work: Callable[[Share], Coroutine[Any, Any, None]]
    finished: Callable[[str], Coroutine[Any, Any, int]]
    run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run


def main(trial: Trial) -> None:
    """Measure with the arguments CONNINFO ITEMS PROCESSES BATCH and print the result as one line of JSON."""
    conninfo, *numbers = sys.argv[1:]
    items, processes, batch = map(int, numbers)
    print(json.dumps(asdict(measure(trial, conninfo, items, processes, batch))))


def measure(trial: Trial, conninfo: str, items: int, processes: int, batch: int) -> Life:
    asyncio.run(trial.prepare(conninfo))
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes + 1)
    crew: list[BaseProcess] = [
        context.Process(target=_member, args=(trial, Share(conninfo, keys, batch, barrier)))
        for keys in _shares(items, processes)
    ]
    for member in crew:
        member.start()
    started, enqueued, ended = _watch(barrier, crew)
    done = asyncio.run(trial.finished(conninfo))
    if done != items:
        raise RuntimeError(f"Only {done:,} of {items:,} items are finished; the measurement counts for nothing.")
    seconds = ended - started
    return Life(items, round(enqueued - started, 3), round(seconds, 3), round(items / seconds, 1))


def _shares(items: int, processes: int) -> list[range]:
    cuts = [items * index // processes for index in range(processes + 1)]
    return [range(start, stop) for start, stop in pairwise(cuts)]


def _watch(barrier: Barrier, crew: list[BaseProcess]) -> tuple[float, float, float]:
    """Keep the three meetings with the crew and note when each took place."""
    try:
        moments = []
        for _ in range(3):
            barrier.wait(MEETING_LIMIT_S)
            moments.append(time.perf_counter())
    except BrokenBarrierError as error:
        for member in crew:
            member.terminate()
        raise RuntimeError("A worker process failed; its own message is above.") from error
    finally:
        for member in crew:
            member.join()
    started, enqueued, ended = moments
    return started, enqueued, ended


def _member(trial: Trial, share: Share) -> None:
    """Run one process's part. A failure is told before the barrier breaks, since that ends all processes."""
    try:
        trial.run(_life(trial, share))
    except BrokenBarrierError:
        sys.exit(1)
    except BaseException:
        traceback.print_exc()
        share.barrier.abort()
        sys.exit(1)


async def _life(trial: Trial, share: Share) -> None:
    await trial.work(share)
    share.meet()
