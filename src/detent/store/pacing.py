"""Pacing: turns at services that want to be asked seldom, shared by all processes through the database."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from detent.knowledge import Wait
from detent.store.database import Database
from detent.store.values import printable


@dataclass(frozen=True)
class Held:
    """A service that is left alone, until when, and what it did: `refused with 503 Service Unavailable`."""

    service: str
    until: datetime
    reason: str


class Pacing:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def turn(self, service: str, per_minute: float, at_most: float) -> Wait | None:
        """Take the next turn that is free, and wait for it; returns None. One that is given up meanwhile is lost, and
        so is one at which the service is left alone by then. A turn that is more than `at_most` seconds away is not
        taken: returns how far it is."""
        left = at_most
        while True:
            wanted = {"service": service, "seconds": 60.0 / per_minute, "most": left}
            taken = await self._database.fetch("take_turn", wanted)
            if not taken:
                [found] = await self._database.fetch("next_turn", {"service": service})
                return Wait(max(float(found.seconds), left), found.reason)
            [turn] = taken
            if turn.seconds <= 0:
                return None
            await asyncio.sleep(turn.seconds)
            if not await self._held_beyond(service, turn.at):
                return None
            left -= turn.seconds

    async def _held_beyond(self, service: str, at: datetime) -> bool:
        [found] = await self._database.fetch("held_beyond", {"service": service, "at": at})
        return bool(found.held)

    async def hold(self, service: str, seconds: float, reason: str) -> None:
        """Let nobody have a turn for so long, because of what the service did."""
        held = {"service": service, "seconds": seconds, "reason": printable(reason)}
        await self._database.fetch("hold_turns", held)

    async def held(self) -> list[Held]:
        """The services that are left alone now, those first that are asked again first."""
        return [Held(*row) for row in await self._database.fetch("held_services")]
