"""Pacing: turns at services that want to be asked seldom, shared by all processes through the database."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from datetime import datetime

from detent.services.pace import Wait
from detent.store.database import Database
from detent.store.values import printable

_LONGEST_STUMBLE_SECONDS = 10.0


@dataclass(frozen=True)
class Held:
    """A service that is left alone, until when, and what it did: `refused with 503 Service Unavailable`."""

    service: str
    until: datetime
    reason: str


class Pacing:
    """`longest_hold_seconds` is how long somebody waits at most for a service that is left alone."""

    def __init__(self, database: Database, longest_hold_seconds: float = math.inf) -> None:
        self._database = database
        self._longest_hold_seconds = longest_hold_seconds

    def impatient(self) -> Pacing:
        """The same pace for those who do not wait for what is tried again later. They wait for a service that has
        stumbled, and leave one that is away to later: else they would find what they put off due again."""
        return Pacing(self._database, _LONGEST_STUMBLE_SECONDS)

    async def turn(self, service: str, per_minute: float, at_most: float) -> Wait | None:
        """Take the next turn that is free, and wait for it; returns None. One that is given up meanwhile is lost, and
        so is one at which the service is left alone by then. A turn that is more than `at_most` seconds away is not
        taken: returns how far it is."""
        left = at_most
        while True:
            held = min(left, self._longest_hold_seconds)
            wanted = {"service": service, "seconds": 60.0 / per_minute, "most": left, "most_held": held}
            taken = await self._database.fetch("take_turn", wanted)
            if not taken:
                [found] = await self._database.fetch("next_turn", {"service": service})
                return Wait(max(float(found.seconds), held if found.reason else left), found.reason)
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
