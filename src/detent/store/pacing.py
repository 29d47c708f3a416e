"""Pacing: turns at services that want to be asked seldom, shared by all processes through the database."""

from __future__ import annotations

import asyncio

from detent.store.database import Database


class Pacing:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def turn(self, service: str, per_minute: float, at_most: float) -> float:
        """Take the next turn that is free, and wait for it; returns 0. One that is given up meanwhile is lost. A turn
        that is more than `at_most` seconds away is not taken: returns how far it is."""
        wanted = {"service": service, "seconds": 60.0 / per_minute, "most": at_most}
        taken = await self._database.fetch("take_turn", wanted)
        if not taken:
            [found] = await self._database.fetch("next_turn", {"service": service})
            return max(float(found.seconds), at_most)
        if taken[0].seconds > 0:
            await asyncio.sleep(taken[0].seconds)
        return 0.0

    async def hold(self, service: str, seconds: float) -> None:
        """Let nobody have a turn for so long."""
        await self._database.fetch("hold_turns", {"service": service, "seconds": seconds})
