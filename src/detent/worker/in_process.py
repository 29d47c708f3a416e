"""Working inside the caller's own process, with the keeper in a process beside it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from detent.configuration import Configuration
from detent.sources import Source
from detent.store import Store
from detent.worker.board import Board, make_descriptor
from detent.worker.duty import declare, duties, policies
from detent.worker.names import worker_name
from detent.worker.spec import Spec
from detent.worker.worker import Worker

log = logging.getLogger("detent.worker")

_LEAVE_SECONDS = 10.0
_AGAIN_SECONDS = 1.0


@contextlib.asynccontextmanager
async def work_here(
    store: Store, sources: Sequence[Source], settings: Configuration, *, server: Path | None = None
) -> AsyncIterator[Worker]:
    """A worker in this process; its keeper lives as long as the block.

    `server` is the folder of the project's own database, where that is used.
    """
    owner = worker_name()
    found = duties(sources, await declare(store, sources), settings)
    with contextlib.closing(_Ends()) as ends:
        spec = Spec(
            conninfo=store.database.conninfo,
            owner=owner,
            board=ends.board,
            lifeline=ends.reading,
            server=str(server) if server else None,
            lease_seconds=settings.worker.lease_seconds,
            retention_days=settings.journal.retention_days,
            policies={
                name: (policy.max_attempts, policy.base_seconds, policy.ceiling_seconds)
                for name, policy in policies(found).items()
            },
        )
        first = await _start(spec)
        keeping = asyncio.create_task(_keep_going(spec, first))
        try:
            with contextlib.closing(Board(ends.board)) as board:
                yield Worker(store, sources, settings, owner=owner, board=board)
        finally:
            ends.cut()
            await _leave(keeping)


class InProcess:
    """A worker in this process, in the shape of a crew: it runs, is stopped and killed, and says what it did."""

    def __init__(
        self,
        store: Store,
        sources: Sequence[Source],
        settings: Configuration,
        *,
        server: Path | None = None,
        until_idle: bool = False,
        wait_for_later: bool = True,
    ) -> None:
        self._store = store
        self._sources = sources
        self._settings = settings
        self._server = server
        self._until_idle = until_idle
        self._wait_for_later = wait_for_later
        self._worker: Worker | None = None
        self._running: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def owners(self) -> set[str]:
        """The name under which it holds items."""
        return {self._worker.owner} if self._worker else set()

    @property
    def completed(self) -> int:
        """The number of steps of items that succeeded, or turned out to have nothing to do."""
        return self._worker.completed if self._worker else 0

    async def run(self) -> None:
        """Work until nothing is left to do, or `stop` was called."""
        async with work_here(self._store, self._sources, self._settings, server=self._server) as worker:
            self._worker = worker
            if self._stopping:
                worker.stop()
            self._running = asyncio.ensure_future(
                worker.run(until_idle=self._until_idle, wait_for_later=self._wait_for_later)
            )
            await self._running

    def stop(self) -> None:
        """No new claims; what runs may finish within the grace period."""
        self._stopping = True
        if self._worker is not None:
            self._worker.stop()

    def kill(self) -> None:
        """Give back at once what is unfinished; it does not count as an attempt."""
        self.stop()
        if self._running is not None:
            self._running.cancel()


class _Ends:
    """The board, and both ends of the lifeline, on this side."""

    def __init__(self) -> None:
        self.board = make_descriptor()
        self.reading, self._lifeline = os.pipe()
        self._open = {self.board, self.reading, self._lifeline}

    def cut(self) -> None:
        """Tell the keeper that this is the end."""
        self._close(self._lifeline)

    def close(self) -> None:
        for descriptor in list(self._open):
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)


async def _start(spec: Spec) -> asyncio.subprocess.Process:
    """Start a keeper, and wait until it keeps: no lease is taken before somebody renews it."""
    keeper = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "detent.worker.keeper_process",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(spec.board, spec.lifeline),
        start_new_session=True,
    )
    assert keeper.stdin is not None and keeper.stdout is not None  # noqa: S101  they were asked for
    keeper.stdin.write(spec.line())
    keeper.stdin.close()
    await keeper.stdout.readline()
    return keeper


async def _keep_going(spec: Spec, keeper: asyncio.subprocess.Process) -> None:
    """Replace a keeper that dies. It ends well when the lifeline is cut."""
    try:
        while await keeper.wait() != 0:
            log.warning("The keeper ended with status %d; another takes its place.", keeper.returncode)
            await asyncio.sleep(_AGAIN_SECONDS)
            keeper = await _start(spec)
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            keeper.kill()
        await keeper.wait()
        raise


async def _leave(keeping: asyncio.Task[None]) -> None:
    """Wait for the keeper to end. With the database away it would wait longer than anybody wants to."""
    await asyncio.wait({keeping}, timeout=_LEAVE_SECONDS)
    keeping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keeping
