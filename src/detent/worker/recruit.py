"""A worker process that has been started and not been told yet what to do. Meanwhile it imports what it will need."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Self

from detent.worker.board import make_descriptor
from detent.worker.spec import Spec


@dataclass(frozen=True)
class Recruit:
    """The process, its board, and both ends of its lifeline. Who has one either tells it what to do, and owns `board`
    and `lifeline` from then on, or dismisses it."""

    process: asyncio.subprocess.Process
    board: int
    reading: int
    lifeline: int

    @classmethod
    async def start(cls) -> Self:
        board = make_descriptor()
        reading, lifeline = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "detent.worker.process",
                stdin=subprocess.PIPE,
                pass_fds=(board, reading),
                start_new_session=True,
            )
        except BaseException:
            for descriptor in (board, reading, lifeline):
                os.close(descriptor)
            raise
        return cls(process, board, reading, lifeline)

    def tell(self, spec: Spec) -> None:
        """Say what it is to do."""
        assert self.process.stdin is not None  # noqa: S101  it was asked for
        self.process.stdin.write(spec.line())
        self.process.stdin.close()
        os.close(self.reading)

    async def dismiss(self) -> None:
        """There is nothing to do for it."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        for descriptor in (self.board, self.reading, self.lifeline):
            os.close(descriptor)


@contextlib.asynccontextmanager
async def recruiting() -> AsyncIterator[list[Recruit]]:
    """A recruit that starts while it is found out whether there is work; nobody, if it is taken from the list."""
    recruits = [await Recruit.start()]
    try:
        yield recruits
    finally:
        while recruits:
            await recruits.pop().dismiss()
