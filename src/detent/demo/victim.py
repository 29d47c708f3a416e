"""Kill a worker of a run while it holds items."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from detent.demo.commands import CommandFailed

if TYPE_CHECKING:
    from detent.application import AsyncDetent

_LOOK_SECONDS = 0.05
_FEWEST_ITEMS = 5


@dataclass(frozen=True)
class Victim:
    """A worker that was killed: its process, and the files that it held, by item number and key."""

    process: int
    held: dict[int, str]


async def kill_a_busy_worker(db: AsyncDetent, run: Process) -> Victim:
    """Wait until a worker of the run holds files and others are parsed, and kill it with SIGKILL.

    It is halted first: what it holds then is what it holds when it dies.
    """
    while run.returncode is None:
        await asyncio.sleep(_LOOK_SECONDS)
        for owner in await _busy(db):
            process = int(owner.split(":")[1])
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
                await asyncio.sleep(_LOOK_SECONDS)  # what it had sent to the database arrives
                held = await _held(db, owner)
                os.kill(process, signal.SIGKILL if held else signal.SIGCONT)
                if held:
                    return Victim(process, held)
    raise CommandFailed("`detent run` ended before one of its workers could be killed.")


async def _busy(db: AsyncDetent) -> list[str]:
    """The workers to choose from, once some files are parsed."""
    states = [line.state for line in await db.count_by_state() if line.label == "File" and line.count]
    if set(states) <= {"pending", "parsing"}:
        return []
    return [worker.owner for worker in await db.workers() if worker.items >= _FEWEST_ITEMS]


async def _held(db: AsyncDetent, owner: str) -> dict[int, str]:
    """The files that a worker holds."""
    parsing = await db.items(label="File", state="parsing", limit=1000)
    stories = [await db.show(item.id) for item in parsing.items]
    return {told.item.id: told.item.key for told in stories if told.owner == owner}
