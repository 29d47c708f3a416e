"""Pacing: turns at services that want to be asked seldom, shared by all processes through the database."""

from __future__ import annotations

import asyncio

from detent.store.database import Database


class Pacing:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def turn(self, service: str, per_minute: float) -> None:
        """Take the next turn that is free, and wait for it. One that is given up meanwhile is lost."""
        rows = await self._database.fetch("take_turn", {"service": service, "seconds": 60.0 / per_minute})
        if rows[0].seconds > 0:
            await asyncio.sleep(rows[0].seconds)

    async def hold(self, service: str, seconds: float) -> None:
        """Let nobody have a turn for so long."""
        await self._database.fetch("hold_turns", {"service": service, "seconds": seconds})
