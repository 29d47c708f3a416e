"""The portal of the synchronous verbs: an event loop that runs in a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from detent.errors import Closed

if TYPE_CHECKING:
    from detent.application.asynchronous import Opening

T = TypeVar("T")


class Wait(Protocol):
    """Runs a coroutine, and returns its result."""

    def __call__(self, work: Coroutine[Any, Any, T]) -> T: ...


class Portal:
    """An open database whose verbs run in an event loop of its own; close it, or use it in a `with` block."""

    def __init__(self, opening: Opening) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="detent", daemon=True)
        self._thread.start()
        try:
            self.asynchronous = self.wait(opening.__aenter__())
        except BaseException:
            self._end_loop()
            raise

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in this database's event loop and wait for its result.

        Ctrl-C cancels it, and waits until it has ended; a second one does not wait. After `close()` it is refused.
        """
        if self._loop.is_closed():
            work.close()
            raise Closed
        running = _Running(work)
        future = asyncio.run_coroutine_threadsafe(running.run(), self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(running.cancel)
            concurrent.futures.wait([future])
            raise

    def close(self) -> None:
        """Close the database; after that, no verb can be called. Closing it again does nothing."""
        if self._loop.is_closed():
            return
        try:
            self.wait(self.asynchronous.close())
        finally:
            self._end_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Running(Generic[T]):
    """A coroutine that can be cancelled from outside and still be waited for."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._task: asyncio.Task[T] | None = None
        self._cancelled = False

    async def run(self) -> T:
        self._task = asyncio.create_task(self._work)
        if self._cancelled:
            self._task.cancel()
        return await self._task

    def cancel(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()
