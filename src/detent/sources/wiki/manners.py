"""Manners: how often a wiki is asked, and for how long it is left alone when it fails.

A handler does not wait for long: what fails there, the engine tries again. Who asks by hand has a patient client, which
tries again by itself, a few times.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from detent.knowledge import Wait
from detent.services import pace
from detent.sources.wiki.client import TOO_MANY, Client, WikiFailed
from detent.sources.wiki.settings import WikiSettings

_TRIES = 4
_SILENT_SECONDS = 2.0
_SLOW_SECONDS = 3.0
_REQUESTS_OF_A_BATCH = 20
"""More than a batch takes whose answers come in pieces."""
_USUAL_LIMIT_SECONDS = 300.0
_SHORTEST_HOLD_SECONDS, _SHORTEST_TOLD_SECONDS, _LONGEST_HOLD_SECONDS = 1.0, 0.1, 60.0


def client_of(
    settings: WikiSettings, agent: str, *, patient: bool = False, tell: Callable[[str], None] | None = None
) -> Client:
    """A client that keeps to the pace of its wiki. A patient one asks again what failed, when the wiki wants it, and
    tells why it waits."""
    per_minute = math.inf if settings.requests_per_minute is None else settings.requests_per_minute
    # whoever set a slow pace waits for it, and for one other who does
    at_most = max(pace.LONGEST_WAIT_SECONDS, 2 * _seconds_between(settings))

    unusual = max(_SILENT_SECONDS, 2 * _seconds_between(settings))

    async def turn(host: str) -> Wait | None:
        with _telling_of_a_wait(settings, tell, unusual, at_most):
            return await pace.turn(settings.service, per_minute, at_most)

    async def hold(error: WikiFailed, failed_in_a_row: int) -> None:
        if error.code == TOO_MANY:  # it is asked for fewer at once, and not later
            return
        await pace.hold(settings.service, hold_seconds(error.retry_after, failed_in_a_row), error.what)

    async def again(error: WikiFailed, failed: int) -> bool:
        asks = error.trouble.transient and not error.held and failed < _TRIES
        if asks and tell is not None and (error.retry_after or 0.0) <= at_most:
            tell(f"{error} It is asked again.")
        return asks

    return Client(settings.api or "", agent, turn, hold, again if patient else None)


@contextmanager
def _telling_of_a_wait(
    settings: WikiSettings, tell: Callable[[str], None] | None, unusual: float, at_most: float
) -> Iterator[None]:
    """Tell of a wait that is longer than those that the pace makes."""
    if tell is None:
        yield
        return
    words = f"Waiting, for {at_most:.0f} seconds at most, until {settings.service} may be asked again."
    telling = asyncio.get_running_loop().call_later(unusual, tell, words)
    try:
        yield
    finally:
        telling.cancel()


def batches_at_once(settings: WikiSettings, usually: int) -> int:
    """How many batches are under way. Where the pace is slow, several would only wait for each other's turns."""
    return 1 if _seconds_between(settings) > _SLOW_SECONDS else usually


def time_limit_seconds(settings: WikiSettings) -> float | None:
    """How long a batch may take, if its turns alone take longer than is usual for handlers."""
    turns = _REQUESTS_OF_A_BATCH * _seconds_between(settings)
    return turns if turns > _USUAL_LIMIT_SECONDS else None


def _seconds_between(settings: WikiSettings) -> float:
    """How far apart the turns at a wiki are."""
    return 60.0 / settings.requests_per_minute if settings.requests_per_minute else 0.0


def hold_seconds(retry_after: float | None, failed_in_a_row: int) -> float:
    """How long a wiki is left alone that has failed so many times: as long as it says, but longer each time."""
    shortest = _SHORTEST_HOLD_SECONDS if retry_after is None else _SHORTEST_TOLD_SECONDS
    grown = min(shortest * 2.0 ** min(failed_in_a_row - 1, 10), _LONGEST_HOLD_SECONDS)
    return max(grown, retry_after or 0.0)
