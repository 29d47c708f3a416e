"""The process of a keeper for a worker that runs in somebody's own program: `python -m detent.worker.keeping`.

It says so when it is ready, and lives as long as the other end of its lifeline. When that is cut without the
worker having settled what it held, the worker has died, and what it held is given back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from pathlib import Path

from detent.errors import DatabaseAway
from detent.lifecycle import RetryPolicy
from detent.store.embedded import attach
from detent.worker.board import Board
from detent.worker.keeper import Keeper, Ward
from detent.worker.lifeline import watch
from detent.worker.patience import opened, patiently
from detent.worker.spec import Spec, read_spec

READY = b"ready\n"


async def keep(spec: Spec) -> None:
    policies = {name: RetryPolicy(*values) for name, values in spec.policies.items()}
    ward = Ward(spec.owner, spec.parent, Board(spec.board), policies)
    cut = asyncio.Event()
    watch(spec.lifeline, spec.parent, cut.set)
    async with opened(spec.conninfo, size=2, unless=cut) as store:
        keeper = Keeper(store, lease_seconds=spec.lease_seconds, retention_days=spec.retention_days)
        keeper.wards.append(ward)
        _say_ready()
        await keeper.run(cut)
        with contextlib.suppress(TimeoutError):  # by then the lease has run out, and others take it back
            async with asyncio.timeout(spec.lease_seconds):
                await patiently(lambda: keeper.bury(ward))


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
        if spec.server:
            stack.enter_context(attach(Path(spec.server)))
        asyncio.run(keep(spec))


if __name__ == "__main__":
    main()
