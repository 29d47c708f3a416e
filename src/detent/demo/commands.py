"""Run real commands: each is printed as a person would type it, and its output goes where the demo's goes."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.markup import escape

_PATIENCE_SECONDS = 10.0


class CommandFailed(Exception):
    """A command of the demo ended with an exit status other than 0."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


out = _Console(highlight=False, soft_wrap=True, emoji=False)


class Commands:
    """The commands of one project. They see no setting of the environment, so that the demo is the same everywhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("DETENT_")}

    async def run(self, *words: str) -> None:
        """Print a command, run it, and raise CommandFailed unless it succeeds."""
        async with self.running(*words):
            pass

    @asynccontextmanager
    async def running(self, *words: str) -> AsyncIterator[Process]:
        """Run a command beside the body, and wait for its end. It does not outlive this."""
        typed = shlex.join(["detent", *words])
        out.print(f"\n[bold cyan]$[/] [bold]{escape(typed)}[/]")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "detent", *words, cwd=self.folder, env=self._environment, stderr=sys.stdout.fileno()
        )
        try:
            yield process
            status = await process.wait()
        finally:
            await _end(process)
        if status:
            raise CommandFailed(f"`{typed}` ended with exit status {status}.")


async def _end(process: Process) -> None:
    """Stop a command that still runs: gently, then at once."""
    for stop in (process.terminate, process.terminate, process.kill):
        if process.returncode is None:
            with suppress(ProcessLookupError):
                stop()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 1.0 if stop is not process.kill else _PATIENCE_SECONDS)
