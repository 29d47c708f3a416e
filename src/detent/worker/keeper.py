"""The keeper: what must go on whatever the handlers do, in another process than theirs.

It renews the leases its workers hold, gives up handlers that are over their time limit when the worker
itself cannot, gives back what a dead worker had, and looks after the ledger: it rescues work from leases
that ran out anywhere, folds the tally and makes the journal's next partitions.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from detent.errors import DatabaseAway, DatabaseBusy
from detent.knowledge import Retry
from detent.lifecycle import RetryPolicy, Trouble
from detent.store import Store
from detent.worker.board import Board, Running
from detent.worker.duty import place
from detent.worker.names import is_dead
from detent.worker.patience import Revive, leave_it

log = logging.getLogger("detent.keeper")

MARGIN_SECONDS = 2.0
"""Grace beyond a handler's time limit, in which the worker itself can cancel most handlers."""

RESCUE_SECONDS = 2.0
DEAD_SECONDS = 4.0
PARTITION_SECONDS = 3600.0
AGAIN_SECONDS = 60.0
"""Longest wait before a failed duty is retried."""

OWNER = "keeper"

_ABOUT_LEASES = ("renew", "rescue")
"""A database that cannot do these now may keep other keepers from renewing too."""

_OVER_LIMIT = "The handler was over its time limit and did not answer"
_MOST_LOOKS, _LOOK_SECONDS = 20, 0.1


@dataclass
class Ward:
    """A worker as its keeper knows it. `expendable`: it may be killed when it does not answer."""

    owner: str
    pid: int
    board: Board
    policies: dict[str, RetryPolicy]
    expendable: bool = False
    given_up: set[tuple[int, int]] = field(default_factory=set)


class Keeper:
    """Keeps any number of workers on this machine."""

    def __init__(
        self,
        store: Store,
        *,
        lease_seconds: float,
        retention_days: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        revive: Revive = leave_it,
    ) -> None:
        self._store = store
        self._revive = revive
        self._clock = clock
        self._retention_days = retention_days
        self._awake = _since_boot()
        self._renew_seconds = min(lease_seconds / 4, 30.0)
        self._due: dict[str, float] = {}
        self._dead: dict[str, float] = {}
        self.wards: list[Ward] = []

    async def run(self, stopped: asyncio.Event, *, poll_seconds: float = 1.0) -> None:
        """Do the duties over and over; the database being away is waited out.

        Renewing goes on beside the others: none of them, waiting for whatever it may be, makes it late.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(self._keep_leases, stopped, poll_seconds))
            group.create_task(self._repeat(self._look_after_the_rest, stopped, poll_seconds))

    async def run_once(self) -> None:
        """Each duty that is due, once. One that fails does not keep the others from being done."""
        await self._keep_leases()
        await self._look_after_the_rest()

    async def renew_all(self) -> None:
        for ward in list(self.wards):
            await self.renew(ward)

    async def renew(self, ward: Ward) -> None:
        """Moves the deadlines of a worker's leases ahead, and tells it which it has lost."""
        tokens = ward.board.held()
        if tokens:
            try:
                async with asyncio.timeout(self._renew_seconds):
                    kept = await self._store.renew(tokens)
            except TimeoutError:
                raise DatabaseAway("a renewal was not answered in time") from None
            ward.board.mark_lost(set(tokens) - kept)

    async def give_up_all_overdue(self) -> None:
        for ward in list(self.wards):
            await self.give_up_overdue(ward)

    async def give_up_overdue(self, ward: Ward) -> None:
        """Fails the attempt of items whose handler is over its time limit and does not let the worker say so.

        They are tried alone the next time: a handler that keeps its worker from answering makes its
        neighbours late too, and nobody knows which of them it was.
        """
        now = self._clock()
        overdue = [run for run in ward.board.running() if run.deadline + MARGIN_SECONDS < now]
        new = [run for run in overdue if (run.token, run.item) not in ward.given_up]
        if not new:
            return
        await self._fail_attempts(ward, new)
        ward.given_up.update((run.token, run.item) for run in new)
        if ward.expendable:
            log.warning("Worker %s does not answer; it is killed and started anew.", ward.owner)
            with contextlib.suppress(ProcessLookupError):
                os.kill(ward.pid, signal.SIGKILL)

    async def rescue(self) -> None:
        """Takes back work from leases that ran out, whoever had them; the workers here are alive and keep theirs."""
        await self.renew_all()
        await self._store.rescue(owner=OWNER)

    async def bury_strangers(self) -> None:
        """Takes back work of those who were killed together with their keeper, and need not be waited for. Their own
        keeper, if there is one, knows better what they were doing, and has a few seconds to say it."""
        now = self._clock()
        strangers = {holder.owner for holder in await self._store.leases.workers()} - {w.owner for w in self.wards}
        self._dead = {owner: self._dead.get(owner, now) for owner in strangers if is_dead(owner)}
        for owner in [owner for owner, since in self._dead.items() if now - since >= DEAD_SECONDS]:
            tokens = await self._store.leases.of(owner)
            await self._store.rescue(owner=OWNER, tokens=tokens, overdue=False, alone=False)

    async def make_partitions(self) -> None:
        """Makes the journal's partitions for the months to come, and drops those past their retention."""
        await self._store.journal.extend(datetime.now(UTC))
        if self._retention_days is not None:
            await self._store.journal.prune(datetime.now(UTC) - timedelta(days=self._retention_days))

    async def bury(self, ward: Ward, *, blameless: bool = False) -> None:
        """Gives back what a dead worker had: what was running counts as an attempt, the rest does not.

        Nothing counts where the death is nobody's fault, because a person wanted it. A statement that the
        worker had sent may still be at work, and is waited for.
        """
        if ward in self.wards:
            self.wards.remove(ward)
        running = set() if blameless else {(run.token, run.item) for run in ward.board.running()}
        reason = "its worker was stopped at once" if blameless else "its worker died before beginning with it"
        for _ in range(_MOST_LOOKS):
            tokens = await self._store.leases.of(ward.owner)
            if not tokens:
                return
            for token in tokens:
                held = await self._store.held(token)
                await self._store.release([item for item in held if (token, item.id) not in running], reason)
            await self._store.rescue(owner=OWNER, tokens=tokens, overdue=False)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _fail_attempts(self, ward: Ward, runs: Sequence[Running]) -> None:
        overdue = {(run.token, run.item) for run in runs}
        for token in {run.token for run in runs}:
            for item in await self._store.held(token):
                if (token, item.id) in overdue:
                    policy = ward.policies.get(place(item.source, item.label, item.state), RetryPolicy())
                    await self._store.settle([(item, Retry(_OVER_LIMIT, Trouble.TIMEOUT, alone=True))], policy)

    async def _repeat(self, duties: Callable[[], Awaitable[None]], stopped: asyncio.Event, seconds: float) -> None:
        while not stopped.is_set():
            try:
                await duties()
            except DatabaseAway as away:
                log.warning("%s Trying again.", away)
                self._spare_the_others()
                await self._revive()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), seconds)

    async def _keep_leases(self) -> None:
        await self._attempt("renew", self._renew_seconds, self.renew_all)

    async def _look_after_the_rest(self) -> None:
        await self._attempt("give up", 0.0, self.give_up_all_overdue)
        await self._attempt("rescue", RESCUE_SECONDS, self.rescue)
        await self._attempt("bury strangers", DEAD_SECONDS, self.bury_strangers)
        await self._attempt("fold", RESCUE_SECONDS, self._store.tallies.fold)
        await self._attempt("make partitions", PARTITION_SECONDS, self.make_partitions)

    async def _attempt(self, name: str, every: float, duty: Callable[[], Awaitable[object]]) -> None:
        """Do a duty if it is due. If it fails, it is due again before long."""
        self._notice_sleep()
        if not self._is_due(name, every):
            return
        try:
            await duty()
        except DatabaseAway as away:
            if name in _ABOUT_LEASES or not isinstance(away, DatabaseBusy):
                raise
            log.warning("The keeper could not %s. %s", name, away)
        except Exception:
            log.exception("The keeper could not %s; it will try again.", name)
        else:
            return
        self._due[name] = min(self._due[name], self._clock() + AGAIN_SECONDS)

    def _notice_sleep(self) -> None:
        """A machine that was suspended wakes up with leases that have run out, of workers that are alive."""
        before, self._awake = self._awake, _since_boot()
        if self._awake - before > self._renew_seconds:
            self._spare_the_others()

    def _spare_the_others(self) -> None:
        """Leases may have run out while nobody could renew them: every keeper first renews its own, and only
        later takes back what others do not."""
        self._due["renew"] = 0.0
        self._due["rescue"] = self._clock() + 2 * self._renew_seconds

    def _is_due(self, duty: str, every: float) -> bool:
        now = self._clock()
        if now < self._due.get(duty, 0.0):
            return False
        self._due[duty] = now + every
        return True


def _since_boot() -> float:
    """Seconds on a clock that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
