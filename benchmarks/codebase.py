"""Python files made searchable: how fast, what each stage costs, and whether a file costs the same among many.

Stages are timed one after the other, each when the one before has ended: discovery; parsing, which links as well, and
claims, calls the source's handler and settles as a worker does; the index of texts; and embedding, by workers. Two
processes do the work, except that one alone discovers and indexes. The parser by itself, in one process and without a
database, is as fast as it could be.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpora, postgres, program
from benchmarks.figures import Figure, at_most
from benchmarks.taken import Taken, taking
from detent.application.discovery import discover
from detent.configuration import load
from detent.documents.formats import parse
from detent.knowledge import Item, Outcome
from detent.lifecycle import NODE
from detent.sources import Source
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import ENTRIES, make
from detent.sources.source import waiting_state
from detent.store import Cursor, Stage, Store
from detent.worker.duty import declare
from detent.worker.in_process import work_here
from detent.worker.interpreter import prepare_for_work

SIZES = (1_000, 10_000, 50_000)
"""How many files, as far as there are so many; BENCH_FILES has other numbers, as in `100,500`."""
STAGED = 5_000
"""How many files are taken through one stage after the other."""
PROCESSES = 2
BATCH = 100
LOOKS = 3
"""How often a folder is looked at with nothing changed; the median counts."""
FLAT = 1.3
NAME = "code"

Tell = Callable[[str], None]
Timed = dict[str, Taken]


@dataclass(frozen=True)
class Whole:
    """A folder from `detent add` to everything searchable, and looked at again with nothing changed."""

    files: int
    megabytes: float
    first: float
    again: float


def measure(tell: Tell) -> list[Figure]:
    """Python files per second through every stage, and what a file costs among 1,000, 10,000 and 50,000."""
    tell("collecting Python files")
    files = corpora.python()
    sizes = sorted({min(size, len(files)) for size in _sizes()})
    staged = corpora.sample(files, min(STAGED, sizes[-1]))
    tell(f"the parser alone, {len(staged):,} files")
    parsing = _parse_alone(staged)
    with postgres.server() as server:
        stages = _stage_by_stage(server, staged, tell)
        empty = _whole(server, [], tell)
        wholes = [_whole(server, corpora.sample(files, size), tell) for size in sizes]
    return [
        Figure("files found", len(files), "files"),
        *_speeds("the parser alone, one process", len(staged), corpora.megabytes(staged), parsing),
        *_stage_figures(stages, len(staged), corpora.megabytes(staged)),
        *_scale_figures(wholes, empty),
    ]


def _sizes() -> Sequence[int]:
    given = os.environ.get("BENCH_FILES")
    return [int(size) for size in given.split(",")] if given else SIZES


def _parse_alone(files: Sequence[Path]) -> float:
    """Seconds for parsing alone: the files have been read before."""
    contents = [(path.read_bytes(), path.as_posix()) for path in files]
    parse(*contents[0])
    began = time.perf_counter()
    for data, path in contents:
        parse(data, path)
    return time.perf_counter() - began


def _stage_by_stage(server: str, files: Sequence[Path], tell: Tell) -> Timed:
    with corpora.copied(files) as folder, postgres.empty_database(server) as conninfo:
        settings = FolderSettings(folder).as_data()
        stages: dict[str, tuple[Callable[..., None], int]] = {
            "discovering": (partial(_alone, _discover), 1),
            "parsing": (partial(_together, "parsing"), PROCESSES),
            "indexing of texts": (partial(_alone, _index), 1),
            "embedding": (_embed, PROCESSES),
        }
        timed = {}
        for name, (work, processes) in stages.items():
            tell(f"{name}, {len(files):,} files")
            timed[name] = _in_processes(conninfo, work, settings, processes)
        asyncio.run(_require_finished(conninfo))
    return timed


def _in_processes(conninfo: str, work: Callable[..., None], settings: dict[str, Any], processes: int) -> Taken:
    """What it takes from when all of them are ready until all have ended."""
    spawning = multiprocessing.get_context("spawn")
    ready = spawning.Barrier(processes + 1)
    crew = [spawning.Process(target=work, args=(conninfo, settings, ready.wait)) for _ in range(processes)]
    for process in crew:
        process.start()
    ready.wait()
    with taking(conninfo) as taken:
        for process in crew:
            process.join()
    if any(process.exitcode for process in crew):
        raise RuntimeError("A process of the benchmark failed; what it said stands above.")
    return taken


def _alone(
    work: Callable[..., Coroutine[Any, Any, None]], conninfo: str, settings: Any, meet: Callable[[], int]
) -> None:
    """In a process: something that is done by one."""

    async def done() -> None:
        source = make(NAME, settings)
        async with Store(conninfo) as store:
            await declare(store, [source])
            meet()
            await work(store, source)

    asyncio.run(done())


async def _discover(store: Store, source: Source) -> None:
    found = await discover(store, [source])
    if found.failure is not None:
        raise found.failure


async def _index(store: Store, _: Source) -> None:
    while await store.texts.index() or await store.texts.tidy():
        pass


def _together(state: str, conninfo: str, settings: Any, meet: Callable[[], int]) -> None:
    """In each of several processes: claim, call the handler of this state, and settle, until nothing is left."""

    async def work() -> None:
        prepare_for_work()
        source = make(NAME, settings)
        handle = next(handler.function for handler in source.handlers if handler.state == state)
        waiting = waiting_state(NODE, state)
        assert waiting is not None
        async with Store(conninfo) as store:
            kinds = [kind for kind in (await declare(store, [source])).values() if kind.label in ENTRIES]
            stage, cursor = Stage(NODE, waiting), Cursor()
            meet()
            while items := await store.claim(stage, owner=f"{os.getpid()}", limit=BATCH, kinds=kinds, cursor=cursor):
                read = await store.contents.with_nodes(items)
                await store.settle(_handled(handle, read))
            await store.tallies.fold()

    asyncio.run(work())


def _handled(handle: Callable[..., Any], items: Sequence[Item]) -> list[tuple[Item, Outcome]]:
    return [(item, handle(item)) for item in items]


def _embed(conninfo: str, settings: Any, meet: Callable[[], int]) -> None:
    """In each of several processes: a worker for which nothing else is left to do."""

    async def work() -> None:
        prepare_for_work()
        source = Source(NAME, make(NAME, settings).lifecycles)
        async with Store(conninfo) as store, work_here(store, [source], load(None)) as worker:
            meet()
            await worker.run(until_idle=True)

    asyncio.run(work())


async def _require_finished(conninfo: str) -> None:
    async with Store(conninfo) as store:
        left = [line for line in await store.count_by_state() if line.count and line.state not in ("ready", "skip")]
        if any(line.state != "error" for line in left):
            raise RuntimeError(f"Not everything is finished: {left}")


def _whole(server: str, files: Sequence[Path], tell: Tell) -> Whole:
    tell(f"{len(files):,} files from `add` to searchable, and again")
    with corpora.copied(files) as folder, postgres.empty_database(server) as conninfo:
        began = time.perf_counter()
        _detent(conninfo, "add", "files", NAME, str(folder))
        _detent(conninfo, "run", "--processes", str(PROCESSES))
        first = time.perf_counter()
        asyncio.run(_require_finished(conninfo))
        looks = [_look(conninfo) for _ in range(LOOKS)]
        return Whole(len(files), corpora.megabytes(files), first - began, median(looks))


def _look(conninfo: str) -> float:
    began = time.perf_counter()
    _detent(conninfo, "run", "--processes", str(PROCESSES))
    return time.perf_counter() - began


def _detent(conninfo: str, *arguments: str) -> None:
    """A run may say by its status that some files could not be read: there are such among real ones."""
    command = [program.DETENT, "--database", conninfo, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 1):
        raise RuntimeError(f"detent {arguments[0]} ended with {ended.returncode}:\n{ended.stderr}")


def _speeds(name: str, files: int, megabytes: float, seconds: float) -> Iterator[Figure]:
    yield Figure(name, files / seconds, "files/s")
    yield Figure(name, megabytes / seconds, "MB/s")


def _stage_figures(stages: Timed, files: int, megabytes: float) -> Iterator[Figure]:
    for name, taken in stages.items():
        yield from _speeds(name, files, megabytes, taken.seconds)
        yield Figure(f"{name}, per file", taken.seconds / files * 1e3, "ms")
        yield Figure(f"{name}, processor per file", taken.processor / files * 1e3, "ms")
        yield Figure(f"{name}, processor of the server per file", taken.server / files * 1e3, "ms")


def _scale_figures(wholes: Sequence[Whole], empty: Whole) -> Iterator[Figure]:
    """What a file costs, beyond what a run costs that has none."""
    for whole in wholes:
        name = f"{whole.files:,} files"
        yield Figure(f"{name}: their size", whole.megabytes, "MB")
        yield from _speeds(f"{name}: from add to searchable", whole.files, whole.megabytes, whole.first)
        yield Figure(f"{name}: per file", _each(whole.first - empty.first, whole), "ms")
        yield Figure(f"{name}: nothing changed", whole.again, "s")
        yield Figure(f"{name}: nothing changed, per file", _each(whole.again - empty.again, whole), "ms")
    yield Figure("no files: from add to the end, and again", empty.first + empty.again, "s")
    small, large = wholes[0], wholes[-1]
    first = _each(large.first - empty.first, large) / _each(small.first - empty.first, small)
    again = _each(large.again - empty.again, large) / _each(small.again - empty.again, small)
    size = (large.megabytes / large.files) / (small.megabytes / small.files)
    ratio = f"{large.files:,} ÷ {small.files:,} files"
    yield Figure(f"{ratio}: size of a file", size, "times")
    yield at_most(FLAT, f"{ratio}: cost of a file", first, "times")
    yield at_most(FLAT, f"{ratio}: cost of a byte", first / size, "times")
    yield at_most(FLAT, f"{ratio}: cost of looking at a file", again, "times")


def _each(seconds: float, whole: Whole) -> float:
    return seconds / whole.files * 1e3
