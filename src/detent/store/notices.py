"""NOTIFY as a hint: "look again", at most a few times a second. The tables are the truth."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import psycopg

from detent.store.database import Database, connection_options

CHANNEL = "detent"
QUIET_SECONDS = 0.25


class Notices:
    """Sends hints from this process, and listens for those of others."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last_sent = 0.0

    async def hint(self) -> bool:
        """Send a hint unless one was sent a moment ago; return True if it was sent."""
        now = time.monotonic()
        if now - self._last_sent < QUIET_SECONDS:
            return False
        self._last_sent = now
        async with self._database.connection() as connection:
            await connection.execute(f"NOTIFY {CHANNEL}")
        return True

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set whenever a hint arrives. Without the database it stays unset."""
        heard = asyncio.Event()
        task = asyncio.create_task(self._listen(heard))
        try:
            yield heard
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _listen(self, heard: asyncio.Event) -> None:
        while True:
            with contextlib.suppress(psycopg.Error):
                options = connection_options(self._database.conninfo)
                async with await psycopg.AsyncConnection.connect(self._database.conninfo, **options) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    async for _ in connection.notifies():
                        heard.set()
            await asyncio.sleep(1.0)
