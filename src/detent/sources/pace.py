"""Pace: how often a service may be asked, by all processes that share a database together.

Handlers and discovery call `turn` before each request, and `hold` when the service says that it wants to be left alone
for a while. Whoever runs them says by which clock they wait; where nobody has, as in a test, there is no waiting.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol


class Pace(Protocol):
    async def turn(self, service: str, per_minute: float) -> None:
        """Wait until this service may be asked again."""

    async def hold(self, service: str, seconds: float) -> None:
        """Let nobody ask this service for so long."""


_PACE: ContextVar[Pace | None] = ContextVar("pace", default=None)


def keep(pace: Pace) -> None:
    """Let all that is called from here on keep to this pace."""
    _PACE.set(pace)


async def turn(service: str, per_minute: float) -> None:
    if (pace := _PACE.get()) is not None:
        await pace.turn(service, per_minute)


async def hold(service: str, seconds: float) -> None:
    if (pace := _PACE.get()) is not None:
        await pace.hold(service, seconds)
