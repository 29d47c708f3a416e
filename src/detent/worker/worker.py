"""A worker: claims, dispatches, settles, and goes on until it is told to stop or nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence, Set

from detent.configuration import Configuration
from detent.errors import DatabaseAway
from detent.knowledge import Item, Outcome, Step
from detent.services import pace
from detent.sources import Source
from detent.store import Cursor, Store
from detent.worker.board import Board
from detent.worker.dispatcher import Dispatcher
from detent.worker.duty import Duty, declare, duties
from detent.worker.embedder import Embedder
from detent.worker.outcomes import describe
from detent.worker.patience import patiently
from detent.worker.remaining import Remaining, remaining
from detent.worker.settler import Settler
from detent.worker.supplies import SUPERSEDED, Supplies
from detent.worker.tending import Tending

log = logging.getLogger("detent.worker")

_MOST_UNSETTLED = 10_000
_SHARE_OF_TIME_SPENT_COUNTING = 0.05
_NEVER = float("inf")
_MOMENT_SECONDS = 0.05
"""Delay after the due time of an item before the worker looks for it, so that it is due for certain."""
_PAST_SECONDS = 5.0
_SOON_SECONDS = 1.0
"""Items due within this time are waited for in any case: their text may just be embedded for another item."""
_LAST_SECONDS = 10.0
"""Time after the grace period to release unfinished items."""

STOPPED = "the worker stopped"


class Worker:
    """One worker in one process. `stop()` ends it gently; cancelling `run()` ends it at once. Either way
    what is unfinished is given back, and does not count as an attempt. A `replacement` takes the place of one
    that died, and changes nothing of what that one was started for."""

    def __init__(
        self,
        store: Store,
        sources: Sequence[Source],
        settings: Configuration,
        *,
        owner: str,
        board: Board,
        replacement: bool = False,
    ) -> None:
        self.owner = owner
        self._replacement = replacement
        self._store = store
        self._sources = sources
        self._settings = settings
        self._board = board
        self._wake = asyncio.Event()
        self._stopped = asyncio.Event()
        self._settler = Settler(store, board, self._look_again, self._over)
        self._supplies = Supplies(store, self._settler)
        self._tending = Tending(store, self._account)
        self._dispatchers: list[Dispatcher] = []
        self._cursors: dict[Dispatcher, Cursor] = {}
        self._looked: dict[Dispatcher, float] = {}
        self._suspects: list[tuple[Dispatcher, Item]] = []
        self._suspect_runs = False
        self._claim_in_doubt = False
        self._tended = False
        self._next_count = 0.0
        self._put_off = False
        self._doubtful = False
        self._due_at = _NEVER

    @property
    def retiring(self) -> bool:
        """True if a thread was abandoned, so that the process should be replaced."""
        return any(dispatcher.abandoned for dispatcher in self._dispatchers)

    @property
    def completed(self) -> int:
        """Number of steps that succeeded, or had nothing to do."""
        return self._settler.completed

    def stop(self) -> None:
        """No new claims; what runs may finish within the grace period."""
        self._stopped.set()
        self._tending.stop()
        self._wake.set()

    async def run(self, *, until_idle: bool = False, wait_for_later: bool = True, retire: bool = False) -> None:
        """Work until stopped; with `until_idle` until nothing is left; with `retire` until a thread had to be
        abandoned."""
        pace.keep(self._store.pacing if wait_for_later else self._store.pacing.impatient())
        settling = asyncio.create_task(self._settler.run())
        settling.add_done_callback(lambda _: self.stop())
        tending = asyncio.create_task(self._tending.run())
        try:
            with contextlib.suppress(DatabaseAway):  # only once it is stopped
                await self._work(until_idle, wait_for_later, retire)
            await self._wind_down(0.0 if settling.done() else self._settings.worker.grace_seconds)
        except BaseException:
            await self._wind_down(0.0)
            raise
        finally:
            self._tending.stop()
            await asyncio.gather(tending, return_exceptions=True)
            await self._end(settling)

    async def _work(self, until_idle: bool, wait_for_later: bool, retire: bool) -> None:
        await patiently(self._prepare, unless=self._stopped)
        async with self._store.notices.listening() as heard:
            while not self._stopped.is_set() and not (retire and self.retiring):
                claimed = await self._claim_round()
                if not claimed and until_idle and await self._is_finished(wait_for_later):
                    return
                if not claimed and not self._doubtful:
                    await self._pause(heard)

    async def _prepare(self) -> None:
        kinds = await declare(self._store, self._sources)
        found = duties(self._sources, kinds, self._settings)
        self._dispatchers = [Dispatcher(duty, self._board, self._finished, self._commit) for duty in found]
        self._cursors = {dispatcher: Cursor() for dispatcher in self._dispatchers}
        for duty in found:
            if duty.embedder:
                await duty.embedder.prepare(self._store, replacement=self._replacement)
                await duty.embedder.account(self._store, self.owner)

    def _finished(self, duty: Duty, ended: Sequence[tuple[Item, Outcome]]) -> None:
        self._settler.finish(duty, ended)
        self._wake.set()

    def _commit(self, duty: Duty, item: Item, step: Step) -> asyncio.Future[Item | None]:
        committed = self._settler.commit(duty, item, step)
        if item.alone:
            committed.add_done_callback(lambda _: self._end_suspicion())
        return committed

    def _end_suspicion(self) -> None:
        """An item that was tried alone got on, and does no harm: others may run beside it."""
        self._suspect_runs = False
        self._wake.set()

    def _over(self, items: Sequence[Item]) -> None:
        self._supplies.over(items)
        self._board.complete(self.completed)

    def _look_again(self, states: Set[str] | None = None) -> None:
        """There may be work again: in these states, or in any."""
        found = [dispatcher for dispatcher in self._looked if states is None or dispatcher.duty.stage.waiting in states]
        for dispatcher in found:
            del self._looked[dispatcher]
        self._wake.set()

    async def _claim_round(self) -> bool:
        """Claim for each duty that has room, far end first; returns whether anything was claimed."""
        self._drop_lost()
        await self._give_back_superseded()
        if self._suspects or self._suspect_runs:
            return await self._begin_suspect()
        claimed = False
        for dispatcher in self._dispatchers:
            if not self._stopped.is_set() and self._should_look(dispatcher):
                claimed |= await patiently(lambda: self._claim(dispatcher), unless=self._stopped)  # noqa: B023  called here
        return claimed

    def _should_look(self, dispatcher: Dispatcher) -> bool:
        """Tell whether there is room for more, and this duty is served here and had work at the last look."""
        if dispatcher.duty.superseded:
            return False
        looked = self._looked.get(dispatcher)
        if looked is not None and time.monotonic() - looked < self._settings.worker.poll_seconds:
            return False
        room = dispatcher.room
        leases = room if dispatcher.duty.handler.steps else 1
        fits = self._board.has_room(self._settler.items + room, leases)
        return bool(room) and self._settler.backlog < _MOST_UNSETTLED and fits

    async def _claim(self, dispatcher: Dispatcher) -> bool:
        if self._claim_in_doubt:
            await self._give_back_unknown()
        self._claim_in_doubt = True
        await self._store.bounds.let_in(dispatcher.duty.kinds, dispatcher.duty.stage.waiting, dispatcher.room)
        items = await self._store.claim(
            dispatcher.duty.stage,
            owner=self.owner,
            limit=dispatcher.room,
            lease_seconds=self._settings.worker.lease_seconds,
            kinds=dispatcher.duty.kinds,
            cursor=self._cursors[dispatcher],
            apart=dispatcher.duty.handler.steps,
        )
        items = await self._supplies.fill(dispatcher.duty, items)
        self._claim_in_doubt = False
        if not items:
            self._looked[dispatcher] = time.monotonic()
            return False
        self._tended = False
        self._settler.hold(items)
        if items[0].alone:
            self._suspects.append((dispatcher, items[0]))
        else:
            dispatcher.take(items)
        return True

    async def _keep_last_account(self, embedder: Embedder) -> None:
        """Keep what was spent since the last tending, so that the next run's budget is what is left of it."""
        try:
            async with asyncio.timeout(_LAST_SECONDS):
                await embedder.account(self._store, self.owner)
        except Exception as error:  # the worker ends all the same
            log.warning("What embedding cost in the last seconds could not be kept: %s", describe(error))

    async def _account(self) -> None:
        await self._supplies.flush()
        for dispatcher in self._dispatchers:
            if dispatcher.duty.embedder:
                await dispatcher.duty.embedder.account(self._store, self.owner)

    async def _give_back_unknown(self) -> None:
        """Give back what was claimed for this worker without its learning of it: the answer was lost."""
        for token in set(await self._store.leases.of(self.owner)) - set(self._board.held()):
            await self._store.release(await self._store.held(token), "the answer to its claim was lost")
        self._claim_in_doubt = False

    async def _begin_suspect(self) -> bool:
        """An item that may do harm to its worker is run when all others are settled, and settled before them."""
        if self._settler.items > len(self._suspects):
            return False
        self._suspect_runs = bool(self._suspects)
        if self._suspects:
            dispatcher, item = self._suspects[0]
            await patiently(lambda: self._store.leases.begin_alone(item.token), unless=self._stopped)
            del self._suspects[0]
            dispatcher.take([item])
        return True

    def _drop_lost(self) -> None:
        lost = self._board.lost()
        if not lost:
            return
        for dispatcher in self._dispatchers:
            self._settler.lose(dispatcher.forget(lost))
        self._settler.lose([item for _, item in self._suspects if item.token in lost])
        self._suspects = [(dispatcher, item) for dispatcher, item in self._suspects if item.token not in lost]

    async def _give_back_superseded(self) -> None:
        """Leave it to others to embed what was claimed for that and not begun, once another model is wanted."""
        for dispatcher in self._dispatchers:
            if dispatcher.duty.superseded:
                await self._settler.release(dispatcher.give_back(), SUPERSEDED)

    async def _left(self) -> Remaining:
        """The work left for this worker, without items that only other workers embed."""
        for dispatcher in self._dispatchers:
            if dispatcher.duty.embedder:
                await dispatcher.duty.embedder.is_wanted(self._store)
        return await remaining(
            self._store, [dispatcher.duty for dispatcher in self._dispatchers if not dispatcher.duty.superseded]
        )

    async def _is_finished(self, wait_for_later: bool) -> bool:
        began = time.monotonic()
        doubted, self._doubtful = self._doubtful, False
        self._put_off = self._settler.idle and began < self._next_count
        if not self._settler.idle or self._put_off:
            return False
        left = await patiently(self._left, unless=self._stopped)
        ended = time.monotonic()
        self._next_count = ended + (ended - began) / _SHARE_OF_TIME_SPENT_COUNTING
        self._due_at = ended + (0.0 if left.now else left.due_seconds if left.due_seconds is not None else _NEVER)
        if left.now:
            self._doubt(at_once=not doubted)
        late = not wait_for_later and self._seconds_until_due() > _SOON_SECONDS
        finished = left.nothing or (late and not left.now and not left.working)
        if finished and not self._tended:
            await self._tending.finish()
            self._tended = True
            self._next_count = 0.0
            self._look_again()  # it may have found passages to be embedded again
            return False
        return finished

    def _doubt(self, *, at_once: bool) -> None:
        """There is work that was not found: look for it from the beginning, now or at the next look."""
        for cursor in self._cursors.values():
            cursor.doubt()
        self._doubtful = at_once
        if at_once:
            self._looked.clear()

    async def _pause(self, heard: asyncio.Event) -> None:
        """Wait for a finished item, a hint, the moment when an item is due, or the next time to look."""
        waits = [asyncio.create_task(event.wait()) for event in (self._wake, heard)]
        seconds, due = self._settings.worker.poll_seconds, self._seconds_until_due()
        if self._put_off:  # counting what is left was, so that it does not take all the time
            seconds = min(seconds, self._next_count - time.monotonic())
        try:
            await asyncio.wait(waits, timeout=min(seconds, due), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if heard.is_set() or due < seconds:
            self._looked.clear()
        self._wake.clear()
        heard.clear()

    def _seconds_until_due(self) -> float:
        """Seconds until the next waiting item is due, plus a margin. An item that is long due, and was not found, is
        left to the next look."""
        seconds = self._due_at - time.monotonic()
        return max(seconds, 0.0) + _MOMENT_SECONDS if seconds > -_PAST_SECONDS else _NEVER

    async def _wind_down(self, grace_seconds: float) -> None:
        """Give back what was not begun or waits for its turn at a service, let the rest finish within the grace period,
        give back the rest."""
        try:
            async with asyncio.timeout(grace_seconds + _LAST_SECONDS):
                await self._give_back_waiting()
                await self._let_finish(grace_seconds)
                cancelled = await asyncio.gather(*[dispatcher.cancel() for dispatcher in self._dispatchers])
                await self._settler.release([item for items in cancelled for item in items], STOPPED)
                await self._settler.flush()
                if self._claim_in_doubt:
                    await patiently(self._give_back_unknown)
        except TimeoutError:
            log.warning("The database does not answer; what was in hand is given back when its lease ends.")

    async def _let_finish(self, grace_seconds: float) -> None:
        end = time.monotonic() + grace_seconds
        while any(dispatcher.busy for dispatcher in self._dispatchers) and time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), 0.1)
            self._wake.clear()
            await self._give_back_waiting()

    async def _give_back_waiting(self) -> None:
        waiting = [
            item for dispatcher in self._dispatchers for item in [*dispatcher.give_back(), *await dispatcher.let_go()]
        ]
        suspects = [item for _, item in self._suspects]
        self._suspects.clear()
        await self._settler.release([*waiting, *suspects], STOPPED)

    async def _end(self, settling: asyncio.Task[None]) -> None:
        """End the settler; if it has ended by itself, that is an error, and this raises it."""
        for dispatcher in self._dispatchers:
            dispatcher.close()
            if dispatcher.duty.embedder:
                await self._keep_last_account(dispatcher.duty.embedder)
                dispatcher.duty.embedder.close()
        for source in self._sources:
            if source.close is not None:
                await source.close()
        await self._supplies.close()
        settling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await settling
