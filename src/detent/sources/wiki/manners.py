"""Manners: how often a wiki is asked, by the pace of its settings."""

from __future__ import annotations

from collections.abc import Callable

from detent.services.failure import ServiceFailed
from detent.services.manners import Manners
from detent.sources.wiki.client import TOO_MANY, Client
from detent.sources.wiki.settings import WikiSettings

_REQUESTS_OF_A_BATCH = 20
"""More than a batch takes whose answers come in pieces."""


def client_of(
    settings: WikiSettings, agent: str, *, patient: bool = False, tell: Callable[[str], None] | None = None
) -> Client:
    """A client that keeps to the pace of its wiki. A patient one asks again what failed, when the wiki wants it, and
    tells why it waits."""
    manners = Manners(settings.service, settings.requests_per_minute, tell)

    async def hold(error: ServiceFailed, failed_in_a_row: int) -> None:
        if error.code != TOO_MANY:  # otherwise it is asked for fewer at once, and not later
            await manners.hold(error, failed_in_a_row)

    return Client(settings.asked, agent, manners.turn, hold, manners.again if patient else None)


def batches_at_once(settings: WikiSettings, usually: int) -> int:
    """The number of batches under way."""
    return Manners(settings.service, settings.requests_per_minute).batches_at_once(usually)


def time_limit_seconds(settings: WikiSettings) -> float | None:
    """The time limit of a batch, if its turns alone take longer than is usual for handlers."""
    return Manners(settings.service, settings.requests_per_minute).time_limit_seconds(_REQUESTS_OF_A_BATCH)
