"""Workers to test: one alone in the test's own process, or a crew of real processes in the workshop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from detent.configuration import Configuration, Project, load
from detent.postgres import Attachment, attach
from detent.sources import Source
from detent.store import Entry, Store
from detent.worker.board import Board, make_descriptor
from detent.worker.crew import Crew
from detent.worker.duty import declare, duties
from detent.worker.modules import load_sources
from detent.worker.names import worker_name
from detent.worker.worker import Worker

PROJECT = Project(Path(__file__).parent / "workshop")
QUICK: dict[str, object] = {"worker.poll_seconds": 0.05, "retry.base_seconds": 0, "worker.lease_seconds": 5}


class Bench:
    """A store with items in it, and the means to work on them and to see what became of them."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder

    def settings(self, **flags: object) -> Configuration:
        return load(None, flags={**self.flags(flags), "database": self.store.database.conninfo})

    def flags(self, given: dict[str, object]) -> dict[str, object]:
        return QUICK | {name.replace("__", "."): value for name, value in given.items()}

    async def add(self, source: Source, *keys: str, label: str = "Task") -> None:
        await declare(self.store, [source])
        await self.store.add(source.name, label, keys)

    def worker(self, *sources: Source, board: Board | None = None, **flags: object) -> Worker:
        """A worker in this process, without a keeper unless the test plays it."""
        board = board or Board(make_descriptor())
        return Worker(self.store, sources, self.settings(**flags), owner=worker_name(), board=board)

    async def run(self, *sources: Source, wait: bool = True, **flags: object) -> Worker:
        """Work in this process until nothing is left."""
        worker = self.worker(*sources, board=None, **flags)
        async with asyncio.timeout(60):
            await worker.run(until_idle=True, wait_for_later=wait)
        return worker

    def sources(self, module: str = "workshop") -> list[Source]:
        """The sources that a module of the workshop declares."""
        return load_sources([module], PROJECT)

    def source(self, name: str) -> Source:
        """A source of the workshop."""
        found = {source.name: source for source in self.sources()}
        return found[name]

    async def crew(
        self, *, until_idle: bool = True, module: str = "workshop", sources: list[Source] | None = None, **flags: object
    ) -> Crew:
        """Real worker processes, which load their sources from a module of the workshop."""
        settings = self.settings(**flags)
        sources = self.sources() if sources is None else sources
        found = duties(sources, await declare(self.store, sources), settings)
        told = self.flags(flags)
        return Crew(self.store, settings, found, project=PROJECT, modules=[module], flags=told, until_idle=until_idle)

    @contextlib.asynccontextmanager
    async def working(self, crew: Crew) -> AsyncIterator[asyncio.Task[None]]:
        """The crew at work; what is left of it at the end of the block is killed."""
        running = asyncio.create_task(crew.run())
        try:
            async with asyncio.timeout(120):
                yield running
        finally:
            running.cancel()
            await asyncio.wait({running})

    async def until(self, condition: Callable[[], Awaitable[object]]) -> None:
        """Wait for something to become true."""
        async with asyncio.timeout(60):
            while not await condition():  # noqa: ASYNC110  it becomes true in another process
                await asyncio.sleep(0.02)

    async def called(self, key: str, times: int = 1) -> None:
        """Wait until the handler was called with this key."""

        async def enough() -> bool:
            return len([call for call in self.calls() if call.key == key]) >= times

        await self.until(enough)

    def open_gate(self, name: str) -> None:
        (self.folder / name).open("a").close()

    def calls(self) -> list[Call]:
        """The calls of the workshop's handlers so far, in order."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [Call(key, int(pid), int(attempt), alone == "True") for key, pid, attempt, alone in map(_split, lines)]

    async def states(self) -> dict[str, str]:
        """Every item's state, by its key."""
        page = await self.store.list(limit=1000)
        return {item.key: item.state for item in page.items}

    async def errors(self) -> dict[str, tuple[str | None, str | None]]:
        """The trouble and the message kept on items, by key."""
        page = await self.store.list(limit=1000)
        return {item.key: (item.trouble, item.error) for item in page.items if item.error is not None}

    async def attempts(self) -> dict[str, int]:
        page = await self.store.list(limit=1000)
        return {item.key: item.attempt for item in page.items}

    async def history(self, key: str) -> list[Entry]:
        [number] = await self.store.listing.find(key)
        return await self.store.history(number)

    async def moves(self, key: str) -> list[tuple[str, str]]:
        return [(entry.from_state, entry.to_state) for entry in await self.history(key)]

    async def sound(self) -> bool:
        """Whether states, places, leases and counts agree, and nobody holds anything."""
        return await self.store.tallies.check() == [] and not await self.store.workers()


@dataclass(frozen=True)
class Call:
    key: str
    pid: int
    attempt: int
    alone: bool


def _split(line: str) -> list[str]:
    return line.split("\t")


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


@pytest.fixture
def bench(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("WORKSHOP", str(tmp_path))
    return Bench(store, tmp_path)
