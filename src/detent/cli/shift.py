"""A shift: a crew at work, shown as it goes on, and ended by signals in two steps.

The first Ctrl-C or SIGTERM lets the workers finish what they have begun, for the grace period; a second one,
or a worker that does not end by then, has them killed. What was unfinished is given back uncounted.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Coroutine, Sequence
from datetime import datetime
from textwrap import shorten
from typing import Any

from detent.application.connecting import Connected
from detent.cli.display import Display
from detent.cli.drawing import plain
from detent.cli.output import counted, duration, moment
from detent.cli.progress import Later, Progress
from detent.errors import DatabaseAway, DetentError
from detent.store import Kind
from detent.store.ledger.leases import Holder
from detent.store.ledger.pacing import Held
from detent.worker.crew import Crew
from detent.worker.duty import Duty
from detent.worker.remaining import reasons_to_wait, remaining

LOOK_SECONDS = 0.5
LATER_SECONDS = 2.0
_MARGIN_SECONDS = 5.0
_REASONS, _REASON_CHARACTERS = 3, 300


class Shift:
    """Runs a crew until it has ended. `signal` is what ended it early, if anything did; `killed` says whether at
    once, and `away` whether the database did not answer when it was last asked."""

    def __init__(self, opened: Connected, crew: Crew, duties: Sequence[Duty], display: Display) -> None:
        self.signal: signal.Signals | None = None
        self.killed = False
        self.away = False
        self._opened = opened
        self._crew = crew
        self._duties = duties
        self._display = display
        self._progress = Progress(duties)
        self._grace = opened.settings.worker.grace_seconds
        self._later: list[Later] = []
        self._asked_later = float("-inf")
        self._working: asyncio.Task[None] | None = None

    async def run(self, beside: Coroutine[Any, Any, None] | None = None) -> None:
        """Run it, and something beside it for as long."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)
        others = [asyncio.create_task(each) for each in (self._watch(), beside) if each is not None]
        self._working = asyncio.create_task(self._crew.run())
        try:
            await asyncio.wait({self._working})
            if not self._working.cancelled():
                self._working.result()
        finally:
            for other in others:
                other.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await other
            if not self.away:
                with contextlib.suppress(DatabaseAway):
                    await self._count_later()
                    await self._look()

    def _stop(self, number: signal.Signals) -> None:
        if self.signal is not None:
            self._kill("Stopping at once; what was being worked on is given back.")
            return
        self.signal = number
        self._crew.stop()
        self._display.say(
            f"Stopping: what is being worked on may finish, for up to {duration(self._grace)}. "
            "Ctrl-C again stops at once."
        )
        late = f"Workers have not ended within {duration(self._grace)}; they are ended now."
        asyncio.get_running_loop().call_later(self._grace + _MARGIN_SECONDS, self._kill, late)

    def _kill(self, sentence: str) -> None:
        if not self.killed:
            self.killed = True
            self._display.say(sentence)
        self._crew.kill()
        if self._working is not None:  # without the database, what the workers had cannot be given back
            asyncio.get_running_loop().call_later(3 * _MARGIN_SECONDS, self._working.cancel)

    async def _watch(self) -> None:
        while True:
            try:
                await self._look_for_later()
                await self._look()
                self.away = False
            except DatabaseAway as away:
                await self._wait_for_database(away)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        counts = await self._opened.store.count_by_state()
        self._display.show(self._progress.update(counts, time.monotonic(), self._later))

    async def _look_for_later(self) -> None:
        """See what waits for a later retry or is in others' hands, and say so when that is all that is left."""
        if time.monotonic() - self._asked_later < LATER_SECONDS:
            return
        self._asked_later = time.monotonic()
        await self._count_later()
        self._display.note(await self._all_that_is_left())

    async def _all_that_is_left(self) -> str | None:
        """What the crew waits for, if it has nothing else to do, or what it may be waiting for."""
        store = self._opened.store
        left = await remaining(store, self._duties)
        if left.now or left.working:
            others = None if left.now else await self._in_other_hands()
            return others or told_of(await store.pacing.held())
        if not left.first_due:
            return None
        reasons = await reasons_to_wait(store, self._duties)
        return waiting(left.later, left.first_due) + (f": {why(reasons)}" if reasons else "")

    async def _in_other_hands(self) -> str | None:
        """Who has what is left, if that is nobody of this crew."""
        holders = [holder for holder in await self._opened.store.workers() if holder.items]
        if not holders or any(holder.owner in self._crew.owners for holder in holders):
            return None
        return held(holders)

    async def _count_later(self) -> None:
        self._later = [await self._later_at(kind, state) for kind, state in self._progress.places]

    async def _later_at(self, kind: Kind, state: str) -> Later:
        store = self._opened.store
        count, _, seconds = await store.tallies.later([(kind, state)])
        beyond = await store.bounds.shut_out(kind, [state]) if kind.bounds.most is not None else 0
        return Later(count, seconds or 0.0, beyond)

    async def _wait_for_database(self, away: DatabaseAway) -> None:
        if not self.away:
            self.away = True
            self._display.say(f"{away} Waiting for it.")
        with contextlib.suppress(DetentError):
            await self._opened.located.revive()


def waiting(count: int, until: datetime) -> str:
    """`12 items wait for a later retry, the first until 2025-11-15 09:30:00`."""
    verb = "waits" if count == 1 else "wait"
    return f"{counted(count, 'item')} {verb} for a later retry, the first until {moment(until)}"


def held(holders: Sequence[Holder]) -> str:
    """`Waiting for 2 items in the hands of host:4703, free at 2025-11-15 09:30:00 if it has died`."""
    items = counted(sum(holder.items for holder in holders), "item")
    names = " and ".join(holder.owner for holder in holders)
    free = moment(max(holder.deadline for holder in holders))
    died = "it has died" if len(holders) == 1 else "they have died"
    return f"Waiting for {items} in the hands of {names}, free at {free} if {died}"


def why(reasons: Sequence[str]) -> str:
    """The first of some reasons, on one line and not too long."""
    shown = [shorten(each, _REASON_CHARACTERS, placeholder=" …").rstrip(".") for each in reasons[:_REASONS]]
    return plain(". ".join(shown)).plain


def told_of(services: Sequence[Held]) -> str | None:
    """`wiki.example refused with 503 Service Unavailable; it is asked again at 2025-11-15 09:30:00`."""
    told = [f"{each.service} {each.reason}; it is asked again at {moment(each.until)}" for each in services]
    return plain(". ".join(told)).plain or None
