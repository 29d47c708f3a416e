"""The process of a keeper for a worker that runs in somebody's own program: `python -m detent.worker.keeper_process`.

It says so when it is ready, and lives as long as the other end of its lifeline. When that is cut without the
worker having settled what it held, the worker has died, and what it held is given back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from detent.errors import DatabaseAway, DetentError
from detent.lifecycle import RetryPolicy
from detent.postgres import Attachment, attach
from detent.worker.board import Board
from detent.worker.keeper import Keeper, Ward
from detent.worker.lifeline import watch
from detent.worker.patience import Revive, leave_it, opened, patiently
from detent.worker.spec import Spec, read_spec

log = logging.getLogger("detent.keeper")

READY = b"ready\n"
_LOOK_SECONDS = 1.0
"""Shortest time between two checks that the server runs."""


class OwnServer:
    """The project's own server: this process is one of its users, and starts it again when it has ended."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._looked = clock()
        self._looking = asyncio.Lock()
        self._attachment: Attachment = attach(folder)

    async def revive(self) -> None:
        """See to it that the server runs, unless that was done a moment ago. What cannot be done now is tried
        again with the next call."""
        async with self._looking:
            if self._clock() - self._looked < _LOOK_SECONDS:
                return
            try:
                attachment = await asyncio.to_thread(attach, self._folder)
            except DetentError as error:
                log.warning("%s", error)
            else:
                self._attachment.close()
                self._attachment = attachment
            self._looked = self._clock()

    def close(self) -> None:
        self._attachment.close()


async def keep(spec: Spec, revive: Revive) -> None:
    policies = {name: RetryPolicy(*values) for name, values in spec.policies.items()}
    ward = Ward(spec.owner, spec.parent, Board(spec.board), policies)
    cut = asyncio.Event()
    watch(spec.lifeline, spec.parent, cut.set)
    async with opened(spec.conninfo, size=2, unless=cut, revive=revive) as store:
        keeper = Keeper(store, lease_seconds=spec.lease_seconds, retention_days=spec.retention_days, revive=revive)
        keeper.wards.append(ward)
        _say_ready()
        await keeper.run(cut)
        with contextlib.suppress(TimeoutError):  # by then the lease has run out, and others take it back
            async with asyncio.timeout(spec.lease_seconds):
                await patiently(lambda: keeper.bury(ward), revive=revive)


def _say_ready() -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(READY)
        sys.stdout.buffer.flush()


def main() -> None:
    logging.basicConfig(level=logging.ERROR, format="%(message)s", stream=sys.stderr)
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    spec = read_spec(sys.stdin.readline())
    with contextlib.ExitStack() as stack, contextlib.suppress(DatabaseAway):  # its worker has ended meanwhile
        revive = leave_it
        if spec.server:
            revive = stack.enter_context(contextlib.closing(OwnServer(Path(spec.server)))).revive
        asyncio.run(keep(spec, revive))


if __name__ == "__main__":
    main()
