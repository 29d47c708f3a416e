"""Detent at work on a wiki, in one process or several, from when all are ready until all have ended."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import psutil
import psycopg

from benchmarks.taken import Taken, taking
from detent.application.discovery import discover
from detent.configuration import load
from detent.sources import Source
from detent.sources.wiki.nodes import ARTICLE
from detent.sources.wiki.settings import WikiSettings
from detent.sources.wiki.source import make
from detent.store import Store
from detent.worker.duty import declare
from detent.worker.in_process import work_here
from detent.worker.interpreter import prepare_for_work

NAME = "wiki"
LANGUAGE = "english"
"""That of the pages here, in which a wiki is searched that says so."""

MEETING_LIMIT_S = 120.0

Meet = Callable[[], object]
"""Waits until all others are ready too."""


@dataclass(frozen=True)
class Job:
    """What each process does: the wiki, and whether texts are embedded too."""

    wiki: WikiSettings
    embedding: bool = False

    @property
    def source(self) -> Source:
        return make(NAME, replace(self.wiki, language=LANGUAGE).as_data())


def in_processes(conninfo: str, work: Callable[..., None], *given: Any, processes: int = 1) -> Taken:
    """What `work(conninfo, *given, meet)` takes in so many processes, from when they meet until all have ended."""
    spawning = multiprocessing.get_context("spawn")
    ready = spawning.Barrier(processes + 1, timeout=MEETING_LIMIT_S)
    crew = [spawning.Process(target=work, args=(conninfo, *given, ready.wait)) for _ in range(processes)]
    for process in crew:
        process.start()
    ready.wait()
    made_ready = sum(_processor(process.pid) for process in crew)
    with taking(conninfo) as taken:
        for process in crew:
            process.join()
    taken.processor -= made_ready
    if any(process.exitcode for process in crew):
        raise RuntimeError("A process of the benchmark failed; what it said stands above.")
    return taken


@contextmanager
def on_processors(server: str, number: int | None) -> Iterator[None]:
    """Keep the server, and all processes that are started in the block, on so many processors; None for all."""
    held = [psutil.Process(), *_processes_of(server)] if number is not None else []
    everywhere = sorted(os.sched_getaffinity(0))
    try:
        _keep_on(everywhere[:number], held)
        yield
    finally:
        _keep_on(everywhere, held)


def find(conninfo: str, job: Job, meet: Meet) -> None:
    """In a process: let the wiki name its articles."""

    async def finding() -> None:
        source = job.source
        async with Store(conninfo) as store:
            await declare(store, [source])
            meet()
            found = await discover(store, [source])
            if found.failure is not None:
                raise found.failure

    asyncio.run(finding())


def work(conninfo: str, job: Job, meet: Meet) -> None:
    """In a process: a worker until nothing is left, so that all texts can be searched for by their words."""

    async def working() -> None:
        prepare_for_work()
        source = job.source
        settings = load(None)
        async with Store(conninfo) as store:
            await declare(store, [source])
            served = source if job.embedding else _without_embedding(source)
            async with work_here(store, [served], settings) as worker:
                meet()
                await worker.run(until_idle=True)
        if source.close is not None:
            await source.close()

    asyncio.run(working())


def counts(conninfo: str) -> dict[str, int]:
    """How many articles there are in each state."""

    async def counted() -> dict[str, int]:
        async with Store(conninfo) as store:
            lines = await store.count_by_state()
        return {line.state: line.count for line in lines if line.label == ARTICLE and line.count}

    return asyncio.run(counted())


def _processes_of(server: str) -> list[psutil.Process]:
    """The server, which hands on to new processes of its own where it may run, and those that it has now; none if it is
    on another machine."""
    with psycopg.connect(server) as connection:
        if not connection.info.host.startswith("/"):
            return []
        parent = psutil.Process(connection.info.backend_pid).parent()
        return [parent, *parent.children()]


def _keep_on(processors: list[int], held: list[psutil.Process]) -> None:
    for process in held:
        with suppress(psutil.NoSuchProcess):  # some that the server has come and go
            process.cpu_affinity(processors)


def _processor(process: int | None) -> float:
    """Seconds of the processor that a process and those it has started have used so far."""
    begun = psutil.Process(process)
    used = [each.cpu_times() for each in (begun, *begun.children(recursive=True))]
    ended = begun.cpu_times()
    return float(sum(each.user + each.system for each in used) + ended.children_user + ended.children_system)


def _without_embedding(source: Source) -> Source:
    """The source with its articles alone. Their sections are written all the same, and nobody embeds them."""
    return Source(
        source.name,
        {ARTICLE: source.lifecycles[ARTICLE]},
        source.handlers,
        language=source.language,
        bounds=source.bounds,
    )
