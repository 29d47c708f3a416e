"""Manners: how often a wiki is asked, and for how long it is left alone when it fails.

A handler does not wait for long: what fails there, the engine tries again. Who asks by hand has a patient client, which
tries again by itself, a few times.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from detent.knowledge import Wait
from detent.sources import pace
from detent.sources.wiki.client import TOO_MANY, Client, WikiFailed
from detent.sources.wiki.settings import WikiSettings

_TRIES = 4
_SHORTEST_HOLD_SECONDS, _SHORTEST_TOLD_SECONDS, _LONGEST_HOLD_SECONDS = 1.0, 0.1, 60.0


def client_of(
    settings: WikiSettings, agent: str, *, patient: bool = False, tell: Callable[[str], None] | None = None
) -> Client:
    """A client that keeps to the pace of its wiki. A patient one asks again what failed, when the wiki wants it, and
    tells why it waits."""
    per_minute = math.inf if settings.requests_per_minute is None else settings.requests_per_minute
    at_most = pace.LONGEST_WAIT_SECONDS
    if patient:  # whoever set a slow pace waits for it, and for one other who does
        at_most = max(at_most, 2 * 60.0 / per_minute)

    async def turn(host: str) -> Wait | None:
        return await pace.turn(settings.service, per_minute, at_most)

    async def hold(error: WikiFailed, failed_in_a_row: int) -> None:
        if error.code == TOO_MANY:  # it is asked for fewer at once, and not later
            return
        await pace.hold(settings.service, hold_seconds(error.retry_after, failed_in_a_row), error.what)

    async def again(error: WikiFailed, failed: int) -> bool:
        asks = error.trouble.transient and not error.held and failed < _TRIES
        if asks and tell is not None:
            tell(f"{error} It is asked again.")
        return asks

    return Client(settings.api or "", agent, turn, hold, again if patient else None)


def hold_seconds(retry_after: float | None, failed_in_a_row: int) -> float:
    """How long a wiki is left alone that has failed so many times: as long as it says, but longer each time."""
    shortest = _SHORTEST_HOLD_SECONDS if retry_after is None else _SHORTEST_TOLD_SECONDS
    grown = min(shortest * 2.0 ** min(failed_in_a_row - 1, 10), _LONGEST_HOLD_SECONDS)
    return max(grown, retry_after or 0.0)
