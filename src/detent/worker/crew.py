"""A crew: several worker processes under one keeper, as `detent run` and `detent work` have them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from detent.configuration import Configuration, Project
from detent.errors import DatabaseAway, WorkerStartFailed
from detent.store import Store
from detent.worker.board import Board
from detent.worker.duty import Duty, policies
from detent.worker.keeper import Keeper, Ward
from detent.worker.names import worker_name
from detent.worker.patience import patiently
from detent.worker.recruit import Recruit
from detent.worker.spec import RETIRED, Spec

log = logging.getLogger("detent.crew")

_SOON_SECONDS = 5.0
_MOST_FALSE_STARTS = 5


@dataclass
class Member:
    """One worker process of the crew."""

    process: asyncio.subprocess.Process
    ward: Ward
    lifeline: int
    started: float

    @property
    def started_in_vain(self) -> bool:
        """True if it ended soon after its start, and held no items that could have been the cause."""
        return time.monotonic() - self.started < _SOON_SECONDS and not self.ward.board.held()


class Crew:
    """Starts workers, keeps them, replaces those that die, and stops them. Recruits go before others. `processes` is
    the number of workers; without it the settings say it, or there is one."""

    def __init__(
        self,
        store: Store,
        settings: Configuration,
        duties: Sequence[Duty],
        *,
        project: Project | None,
        modules: Sequence[str],
        flags: dict[str, object],
        until_idle: bool = False,
        wait_for_later: bool = True,
        recruits: list[Recruit] | None = None,
        processes: int | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._project = project
        self._modules = list(modules)
        self._flags = flags
        self._until_idle = until_idle
        self._wait_for_later = wait_for_later
        self._recruits = [] if recruits is None else recruits
        self._processes = processes or settings.worker.processes or 1
        self._policies = policies(duties)
        self._keeper = Keeper(
            store, lease_seconds=settings.worker.lease_seconds, retention_days=settings.journal.retention_days
        )
        self._members: list[Member] = []
        self._stopping = False
        self._killed = asyncio.Event()
        self._false_starts = 0
        self.deaths = 0
        self.completed = 0
        """The number of steps of items that succeeded, or turned out to have nothing to do."""

    @property
    def owners(self) -> set[str]:
        """The names under which its workers hold items."""
        return {member.ward.owner for member in self._members}

    async def run(self) -> None:
        """Work until all workers have ended by themselves, or `stop` was called."""
        ended = asyncio.Event()
        keeping = asyncio.create_task(self._keeper.run(ended))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._processes):
                    group.create_task(self._employ())
        except ExceptionGroup as problems:
            raise problems.exceptions[0] from None
        finally:
            ended.set()
            await keeping

    def stop(self) -> None:
        """Ask the workers to end: no new claims, a grace period."""
        self._stopping = True
        for member in self._members:
            with contextlib.suppress(ProcessLookupError):
                member.process.terminate()

    def kill(self) -> None:
        """End the workers at once; what they were running does not count as an attempt."""
        self._stopping = True
        self._killed.set()
        for member in self._members:
            with contextlib.suppress(ProcessLookupError):
                member.process.kill()

    @property
    def pids(self) -> list[int]:
        return [member.process.pid for member in self._members]

    async def _employ(self) -> None:
        """Keep one worker process going until its work is done."""
        replacement = False
        while not self._stopping:
            member = await self._start(replacement)
            status = await self._outlive(member)
            in_vain = member.started_in_vain
            await self._bury(member)
            if status == 0:
                return
            self._count_death(member, status, in_vain)
            replacement |= status == RETIRED or not in_vain

    async def _outlive(self, member: Member) -> int:
        """Wait for a worker to end; returns its exit status."""
        if self._stopping:
            self.stop()  # once more: this worker was starting when it was asked
        try:
            return await member.process.wait()
        except asyncio.CancelledError:
            self.kill()
            await member.process.wait()
            await self._bury(member)
            raise
        finally:
            self._members.remove(member)
            os.close(member.lifeline)

    async def _start(self, replacement: bool) -> Member:
        recruit = self._recruits.pop() if self._recruits else await Recruit.start()
        owner = worker_name(recruit.process.pid)
        recruit.tell(self._spec(owner, recruit.board, recruit.reading, replacement))
        ward = Ward(owner, recruit.process.pid, Board(recruit.board), self._policies, expendable=True)
        member = Member(recruit.process, ward, recruit.lifeline, time.monotonic())
        os.close(recruit.board)
        self._members.append(member)
        self._keeper.wards.append(ward)
        return member

    def _spec(self, owner: str, board: int, lifeline: int, replacement: bool) -> Spec:
        own_server = self._project if self._settings.database is None else None
        return Spec(
            conninfo=self._store.database.conninfo,
            owner=owner,
            board=board,
            lifeline=lifeline,
            server=str(own_server.folder) if own_server else None,
            root=str(self._project.root) if self._project else None,
            flags=self._flags,
            modules=self._modules,
            until_idle=self._until_idle,
            wait_for_later=self._wait_for_later,
            replacement=replacement,
        )

    async def _bury(self, member: Member) -> None:
        """Give back what a worker had, and its board. When all is to end at once, a database that is away is not
        waited for."""

        async def bury() -> None:
            await self._keeper.bury(member.ward, blameless=self._killed.is_set())

        try:
            with contextlib.suppress(DatabaseAway):
                await patiently(bury, unless=self._killed)
        finally:
            self.completed += member.ward.board.completed
            member.ward.board.close()

    def _count_death(self, member: Member, status: int, in_vain: bool) -> None:
        """A worker that dies with work in its hands is no reason to give up: each attempt counts, and they end."""
        if status == RETIRED or self._stopping:
            return
        self.deaths += 1
        log.warning("Worker %s ended with status %d; another takes its place.", member.ward.owner, status)
        self._false_starts = self._false_starts + 1 if in_vain else 0
        if self._false_starts >= _MOST_FALSE_STARTS:
            self.stop()
            raise WorkerStartFailed(
                f"{_MOST_FALSE_STARTS} workers in a row ended within {_SOON_SECONDS:g} s of their start, "
                f"the last with status {status}. What they said stands above."
            )
