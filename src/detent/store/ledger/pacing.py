"""Pacing: turns at rate-limited services, shared by all processes through the database."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from detent.knowledge.value import Value
from detent.services.pace import Quota, Wait
from detent.store.database import Database, fetch
from detent.store.values import printable

_LONGEST_STUMBLE_SECONDS = 10.0


@dataclass(frozen=True)
class Held(Value):
    """A service that is left alone, the end of that time, and the service's answer: `refused with 503 Service
    Unavailable`."""

    service: str
    until: datetime
    reason: str


class Pacing:
    """Turns at services. `longest_hold_seconds` is the longest wait for a service that is left alone."""

    def __init__(self, database: Database, longest_hold_seconds: float = math.inf) -> None:
        self._database = database
        self._longest_hold_seconds = longest_hold_seconds

    def impatient(self) -> Pacing:
        """Return the same pace for callers that do not wait for items due for a retry.

        They wait for a service that has stumbled, but not for one that is away: otherwise the items they put off
        would be due again.
        """
        return Pacing(self._database, _LONGEST_STUMBLE_SECONDS)

    async def turn(self, service: str, per_minute: float, at_most: float, quotas: Sequence[Quota] = ()) -> Wait | None:
        """Take the next free turn, and wait for it; return None.

        A turn that is given up meanwhile is lost, and so is one at a time when the service is left alone. A turn
        more than `at_most` seconds away is not taken: returns the wait for it.
        """
        left = at_most
        while True:
            held = min(left, self._longest_hold_seconds)
            wanted = {"service": service, "seconds": 60.0 / per_minute, "most": left, "most_held": held}
            turn = await self._take(wanted, quotas)
            if isinstance(turn, Wait):
                return turn
            if turn is None:
                [found] = await self._database.fetch("next_turn", {"service": service})
                return Wait(max(float(found.seconds), held if found.reason else left), found.reason)
            if turn.seconds <= 0:
                return None
            await asyncio.sleep(turn.seconds)
            if not await self._held_beyond(service, turn.at):
                return None
            left -= turn.seconds

    async def _take(self, wanted: Mapping[str, Any], quotas: Sequence[Quota]) -> Any:
        """Take a turn; return it, or None, or a wait if a quota is spent for longer than the caller may wait."""
        if not quotas:
            return next(iter(await self._database.fetch("take_turn", wanted)), None)
        service = {"service": wanted["service"]}
        windows = [each.seconds for each in quotas]
        asked = {"requests": [each.requests for each in quotas], "seconds": windows}
        async with self._database.transaction() as connection:
            await fetch(connection, "lock_pace", service)
            for spent in await fetch(connection, "next_within_quotas", service | asked):
                if spent.wait > wanted["most"]:
                    return Wait(spent.wait, f"allows {spent.requests:,} requests in {spent.seconds:,.0f} seconds")
                await fetch(connection, "put_off_turns", service | {"wait": spent.wait})
            turn = next(iter(await fetch(connection, "take_turn", wanted)), None)
            if turn is not None:
                await fetch(connection, "spend_quotas", service | {"at": turn.at, "seconds": sorted(set(windows))})
        return turn

    async def _held_beyond(self, service: str, at: datetime) -> bool:
        [found] = await self._database.fetch("held_beyond", {"service": service, "at": at})
        return bool(found.held)

    async def hold(self, service: str, seconds: float, reason: str) -> None:
        """Leave a service alone for this long, because of its answer."""
        held = {"service": service, "seconds": seconds, "reason": printable(reason)}
        await self._database.fetch("hold_turns", held)

    async def held(self) -> list[Held]:
        """Return the services that are left alone now, ordered by the end of that time."""
        return [Held(*row) for row in await self._database.fetch("held_services")]
