"""Threads for handlers that are ordinary functions.

They are daemons: a function that never returns can be given up, and does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from functools import partial


class Thread:
    """One thread that calls functions for an event loop, one after the other."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], None], asyncio.Future[None]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="detent-handler", daemon=True).start()

    def call(self, function: Callable[[], None]) -> asyncio.Future[None]:
        """Call the function in the thread. It must not raise."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._jobs.put((function, future))
        return future

    def tell(self, seconds: float, function: Callable[[], None]) -> None:
        """From inside the thread: have the event loop call a function in so many seconds."""
        self._in_loop(lambda: self._loop.call_later(seconds, function))

    def end(self) -> None:
        """Let the thread end when it has done what it was given, if it ever does."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, future = job
            function()
            self._in_loop(partial(_finish, future))

    def _in_loop(self, function: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(function)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
