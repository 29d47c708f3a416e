"""Pace: how often a service may be asked, by all processes that share a database together: so many times a minute,
evenly, and within quotas, such as 50 requests an hour and 125 a day.

Handlers and discovery call `turn` before each request, and `hold` when the service says that it wants to be left alone
for a while. Whoever runs them says by which clock they wait; where nobody has, as in a test, there is no waiting. Who
only waits for a turn has nothing under way, and may be let go when it is time to stop.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from detent.services.keyring import scrubbed

LONGEST_WAIT_SECONDS = 60.0
"""Longest wait for a turn. A longer one is an error at once: a handler has a time limit, and a person wants to know."""

_LONG_SECONDS = 2.0


@dataclass(frozen=True)
class Wait:
    """The seconds until a service may be asked. If it is left alone until then, the reason is its refusal:
    `refused with 503 Service Unavailable`."""

    seconds: float
    reason: str | None = None


@dataclass(frozen=True)
class Quota:
    """A service allows so many requests in any so many seconds: `Quota(125, 86_400)`."""

    requests: int
    seconds: float


class Pace(Protocol):
    async def turn(self, service: str, per_minute: float, at_most: float, quotas: Sequence[Quota] = ()) -> Wait | None:
        """Wait until this service may be asked again; returns None. If it would take more than `at_most` seconds,
        nobody waits and no turn is taken: returns how long it would take."""

    async def hold(self, service: str, seconds: float, reason: str) -> None:
        """Let nobody ask this service for so long, because of what it did: `refused with 503 Service Unavailable`."""


class Waiting:
    """The callers that wait for a turn, of those that belong to one call."""

    def __init__(self) -> None:
        self.count = 0
        self.since = 0.0
        self.granted = 0

    @property
    def has_nothing_to_lose(self) -> bool:
        """Tell whether a caller waits that has sent no request yet, or that waits long."""
        return self.count > 0 and (not self.granted or time.monotonic() - self.since > _LONG_SECONDS)


_PACE: ContextVar[Pace | None] = ContextVar("pace", default=None)
_WAITING: ContextVar[Waiting | None] = ContextVar("waiting", default=None)


def keep(pace: Pace) -> None:
    """Let all that is called from here on keep to this pace."""
    _PACE.set(pace)


def watch(waiting: Waiting) -> None:
    """Count there who waits for a turn, of all that is called from here on."""
    _WAITING.set(waiting)


async def turn(
    service: str, per_minute: float, at_most: float = LONGEST_WAIT_SECONDS, quotas: Sequence[Quota] = ()
) -> Wait | None:
    pace, waiting = _PACE.get(), _WAITING.get() or Waiting()
    if pace is None:
        return None
    waiting.count, waiting.since = waiting.count + 1, time.monotonic()
    try:
        wait = await pace.turn(service, per_minute, at_most, quotas)
    finally:
        waiting.count -= 1
    waiting.granted += wait is None
    return wait


async def hold(service: str, seconds: float, reason: str) -> None:
    if (pace := _PACE.get()) is not None:
        await pace.hold(service, seconds, scrubbed(reason))
