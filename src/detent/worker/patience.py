"""Waiting out a database that is away or busy: no work is lost, and nobody is asked anything."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from detent.errors import DatabaseAway
from detent.store import Store

log = logging.getLogger("detent.worker")

T = TypeVar("T")

Revive = Callable[[], Awaitable[object]]
"""Called when the database is away, to bring it back if that can be done from here."""

_FIRST_SECONDS, _LONGEST_SECONDS = 0.25, 5.0


async def leave_it() -> None:
    """A database of somebody else's is left to them."""


async def patiently(
    call: Callable[[], Awaitable[T]], *, unless: asyncio.Event | None = None, revive: Revive = leave_it
) -> T:
    """Make the call until the database does it. The call must be one that may be repeated.

    Once `unless` is set, a database that is away or busy is an error like any other.
    """
    stopped = unless or asyncio.Event()
    delay = _FIRST_SECONDS
    while True:
        try:
            result = await call()
        except DatabaseAway as away:
            if stopped.is_set():
                raise
            if delay == _FIRST_SECONDS:
                log.warning("%s Work goes on when it can.", away)
            await revive()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), delay)
            delay = min(delay * 2, _LONGEST_SECONDS)
        else:
            if delay > _FIRST_SECONDS:
                log.warning("The database answers, and work goes on.")
            return result


@contextlib.asynccontextmanager
async def opened(
    conninfo: str, *, size: int = 4, unless: asyncio.Event | None = None, revive: Revive = leave_it
) -> AsyncIterator[Store]:
    """A store that is open as soon as the database answers."""
    store = await patiently(lambda: Store(conninfo, size=size).open(), unless=unless, revive=revive)
    try:
        yield store
    finally:
        await store.close()
