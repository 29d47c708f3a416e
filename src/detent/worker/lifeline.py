"""The lifeline: how a worker or keeper process learns that the process which started it has ended.

It is a pipe whose other end only the parent has, and the kernel closes it however the parent dies. Programs
that the parent forked may keep that end open, so the parent itself is watched too.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable


def watch(lifeline: int, parent: int, cut: Callable[[], None]) -> None:
    """Have the event loop call `cut`, once, when the parent has let go of the lifeline or has ended."""
    loop = asyncio.get_running_loop()
    watched = [lifeline]

    def end() -> None:
        while watched:
            loop.remove_reader(watched.pop())
        cut()

    loop.add_reader(lifeline, end)
    with contextlib.suppress(OSError):  # it has ended already, or the kernel is too old to watch it
        process = os.pidfd_open(parent)
        watched.append(process)
        loop.add_reader(process, end)
    if os.getppid() != parent:
        end()
