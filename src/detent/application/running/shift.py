"""A shift: workers at work, in this process or in several, looked on while they are, and stopped in two steps.

The first stop lets them finish what they have begun, for the grace period; a second one, or a worker that does not end
by then, ends them at once. What was unfinished is given back uncounted.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from detent.application.connecting import Connected
from detent.application.running.asking import LOOK_SECONDS
from detent.application.running.news import DatabaseGone, Listener, Progress, Stopping, StoppingAtOnce, Waiting
from detent.application.running.report import AT_ONCE, GENTLY
from detent.application.running.stages import Later, Stages
from detent.errors import DatabaseAway, DetentError
from detent.store import Holder, Kind
from detent.worker.duty import Duty
from detent.worker.remaining import reasons_to_wait, remaining

_COUNT_SECONDS = 0.5
_MARGIN_SECONDS = 5.0


class Workers(Protocol):
    """A crew of processes, or a worker in this one."""

    @property
    def owners(self) -> set[str]: ...

    @property
    def completed(self) -> int: ...

    async def run(self) -> None: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...


class Shift:
    """Runs workers until they have ended. `stopped` says how they were stopped, if they were, and `away` whether the
    database did not answer when it was last asked."""

    def __init__(self, opened: Connected, workers: Workers, duties: Sequence[Duty], tell: Listener | None) -> None:
        self.stopped: str | None = None
        self.away = False
        self._opened = opened
        self._workers = workers
        self._duties = duties
        self._tell = tell or _tell_nobody
        self._looks_on = tell is not None
        self._stages = Stages(duties)
        self._grace = opened.settings.worker.grace_seconds
        self._later: list[Later] = []
        self._waiting = Waiting()
        self._asked_later = float("-inf")
        self._working: asyncio.Task[None] | None = None
        self._alarms: list[asyncio.TimerHandle] = []

    @property
    def completed(self) -> int:
        """The number of steps that the workers completed."""
        return self._workers.completed

    async def run(self, beside: Coroutine[Any, Any, None] | None = None) -> None:
        """Run it, and something beside it for as long."""
        looking = self._look_on() if self._looks_on else None
        others = [asyncio.create_task(each) for each in (looking, beside) if each is not None]
        self._working = asyncio.create_task(self._workers.run())
        try:
            await self._to_its_end(self._working)
        finally:
            for alarm in self._alarms:
                alarm.cancel()
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            if self._looks_on and not self.away:
                with contextlib.suppress(DatabaseAway):
                    await self._count_later()
                    await self._count()

    async def _to_its_end(self, working: asyncio.Task[None]) -> None:
        try:
            await working
        except asyncio.CancelledError:
            here = asyncio.current_task()
            if self.stopped != AT_ONCE or (here is not None and here.cancelling()):
                raise

    def stop(self, *, at_once: bool = False) -> None:
        """Let the workers finish what they have begun; a second time, or `at_once`, end them."""
        if self.stopped is not None or at_once:
            self._end(StoppingAtOnce(None))
            return
        self.stopped = GENTLY
        self._workers.stop()
        self._tell(Stopping(self._grace))
        self._after(self._grace + _MARGIN_SECONDS, lambda: self._end(StoppingAtOnce(self._grace)))

    def _end(self, news: StoppingAtOnce) -> None:
        if self.stopped != AT_ONCE:
            self.stopped = AT_ONCE
            self._tell(news)
        self._workers.kill()
        if self._working is not None:  # without the database, what the workers had cannot be given back
            self._after(3 * _MARGIN_SECONDS, self._working.cancel)

    def _after(self, seconds: float, act: Any) -> None:
        self._alarms.append(asyncio.get_running_loop().call_later(seconds, act))

    async def _look_on(self) -> None:
        while True:
            try:
                await self._look_for_later()
                await self._count()
                self.away = False
            except DatabaseAway as away:
                await self._wait_for_database(away)
            await asyncio.sleep(_COUNT_SECONDS)

    async def _count(self) -> None:
        counts = await self._opened.store.count_by_state()
        stages = self._stages.update(counts, time.monotonic(), self._later)
        self._tell(Progress(tuple(stages), self._waiting))

    async def _look_for_later(self) -> None:
        """See what waits for a later retry or is in others' hands, and whether that is all that is left."""
        if time.monotonic() - self._asked_later < LOOK_SECONDS:
            return
        self._asked_later = time.monotonic()
        await self._count_later()
        self._waiting = await self._all_that_is_left()

    async def _all_that_is_left(self) -> Waiting:
        """The work that the workers wait for, or may wait for, if they have nothing else to do."""
        store = self._opened.store
        left = await remaining(store, self._duties)
        if left.now or left.working:
            holders = () if left.now else await self._in_other_hands()
            return Waiting(holders=holders, services=() if holders else tuple(await store.pacing.held()))
        if not left.first_due:
            return Waiting()
        return Waiting(left.later, left.first_due, tuple(await reasons_to_wait(store, self._duties)))

    async def _in_other_hands(self) -> tuple[Holder, ...]:
        """The workers that have what is left, if they are none of these."""
        holders = [holder for holder in await self._opened.store.workers() if holder.items]
        ours = self._workers.owners
        return () if any(holder.owner in ours for holder in holders) else tuple(holders)

    async def _count_later(self) -> None:
        self._later = [await self._later_at(kind, state) for kind, state in self._stages.places]

    async def _later_at(self, kind: Kind, state: str) -> Later:
        store = self._opened.store
        count, _, seconds = await store.tallies.later([(kind, state)])
        beyond = await store.bounds.shut_out(kind, [state]) if kind.bounds.most is not None else 0
        return Later(count, seconds or 0.0, beyond)

    async def _wait_for_database(self, away: DatabaseAway) -> None:
        if not self.away:
            self.away = True
            self._tell(DatabaseGone(str(away)))
        with contextlib.suppress(DetentError):
            await self._opened.located.revive()


def _tell_nobody(_: object) -> None:
    """Nobody looks on."""
