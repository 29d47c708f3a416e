"""Manners: how often a service is asked, and for how long it is left alone when it fails.

A handler does not wait for long: what fails there, the engine tries again. Who asks by hand is patient: the question is
repeated a few times, and the person is told why it takes so long.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from detent.services import pace
from detent.services.failure import ServiceFailed
from detent.services.pace import Quota, Wait

_TRIES = 4
_SILENT_SECONDS = 2.0
_SLOW_SECONDS = 3.0
_USUAL_LIMIT_SECONDS = 300.0
_SHORTEST_HOLD_SECONDS, _SHORTEST_TOLD_SECONDS, _LONGEST_HOLD_SECONDS = 1.0, 0.1, 60.0


@dataclass(frozen=True)
class Manners:
    """The pace of a service, None for any, and its quotas. `turn`, `hold` and `again` are what a `Connection` takes;
    `tell` is called with a sentence for whoever waits."""

    service: str
    per_minute: float | None = None
    tell: Callable[[str], None] | None = None
    quotas: tuple[Quota, ...] = ()

    async def turn(self, host: str) -> Wait | None:
        with self._telling_of_a_wait():
            return await pace.turn(self.service, self.per_minute or math.inf, self._at_most, self.quotas)

    async def hold(self, error: ServiceFailed, failed_in_a_row: int) -> None:
        await pace.hold(self.service, hold_seconds(error.retry_after, failed_in_a_row), error.what)

    async def again(self, error: ServiceFailed, failed: int) -> bool:
        """Say whether a patient asker repeats a question: a few times, when the service wants it."""
        asks = error.trouble.transient and not error.held and failed < _TRIES
        if asks and self.tell is not None and (error.retry_after or 0.0) <= self._at_most:
            self.tell(f"{error} It is asked again.")
        return asks

    @property
    def seconds_between(self) -> float:
        """The time between two turns."""
        return 60.0 / self.per_minute if self.per_minute else 0.0

    def batches_at_once(self, usually: int) -> int:
        """The number of batches under way. At a slow pace, several would only wait for each other's turns."""
        return 1 if self.seconds_between > _SLOW_SECONDS else usually

    def time_limit_seconds(self, requests: int) -> float | None:
        """The time limit of a handler that makes so many requests, if their turns alone take longer than is usual."""
        turns = requests * self.seconds_between
        return turns if turns > _USUAL_LIMIT_SECONDS else None

    @property
    def _at_most(self) -> float:
        """The longest wait for a turn. Whoever set a slow pace waits for it, and for one other who does."""
        return max(pace.LONGEST_WAIT_SECONDS, 2 * self.seconds_between)

    @contextmanager
    def _telling_of_a_wait(self) -> Iterator[None]:
        """Tell of a wait that is longer than those that the pace makes."""
        if self.tell is None:
            yield
            return
        words = f"Waiting, for {self._at_most:.0f} seconds at most, until {self.service} may be asked again."
        unusual = max(_SILENT_SECONDS, 2 * self.seconds_between)
        telling = asyncio.get_running_loop().call_later(unusual, self.tell, words)
        try:
            yield
        finally:
            telling.cancel()


def hold_seconds(retry_after: float | None, failed_in_a_row: int) -> float:
    """The time for which a service is left alone after so many failures: as long as it says, but longer each time."""
    shortest = _SHORTEST_HOLD_SECONDS if retry_after is None else _SHORTEST_TOLD_SECONDS
    grown = min(shortest * 2.0 ** min(failed_in_a_row - 1, 10), _LONGEST_HOLD_SECONDS)
    return max(grown, retry_after or 0.0)
