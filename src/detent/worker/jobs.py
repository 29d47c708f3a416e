"""Some items in a thread's hands, for handlers that are ordinary functions.

The thread calls the handler for one item after the other, or once for all of a batch, and one by one after
that raised. The event loop watches: it passes outcomes on, takes back what is not begun, and gives up a call
that is over its time limit. Then the thread is left to itself, and what it still says is not used.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from typing import Any, cast

from detent.knowledge import NOTHING, Item, Outcome, Step
from detent.worker.board import Board
from detent.worker.duty import Duty
from detent.worker.outcomes import outcome_of, outcome_of_result, outcomes_of_batch, over_limit
from detent.worker.tasks import Receiver
from detent.worker.threads import Thread

_GATHER_SECONDS = 0.02
_GLANCE_SECONDS = 1.0


class Job:
    def __init__(self, duty: Duty, board: Board, thread: Thread, items: Sequence[Item], receiver: Receiver) -> None:
        self._duty = duty
        self._board = board
        self._thread = thread
        self._receiver = receiver
        self._lock = threading.Lock()
        self._left = deque(items)
        self._current: list[Item] = []
        self._began = 0.0
        self._together = duty.handler.batch
        self._given_up = False
        self._ended: tuple[list[Item], list[Outcome]] = ([], [])
        self._telling = False

    async def run(self) -> bool:
        """Have the thread do it all; returns False if it had to be given up."""
        ended = self._thread.call(self._work)
        try:
            while not ended.done():
                await asyncio.wait({ended}, timeout=self._until_limit())
                self._deliver()
                if not ended.done() and self._give_up_overdue():
                    return False
        except asyncio.CancelledError:
            self._given_up = True
            raise
        return True

    def take_back(self) -> list[Item]:
        """The items that are not begun; they are the caller's again."""
        with self._lock:
            items = list(self._left)
            self._left.clear()
        return items

    @property
    def unbegun(self) -> int:
        """Number of items not started."""
        return len(self._left)

    def share(self) -> list[Item]:
        """The latter half of the items that are not begun, for a thread that has nothing to do."""
        with self._lock:
            return [self._left.pop() for _ in range(-(-len(self._left) // 2))][::-1]

    def _until_limit(self) -> float:
        limit = self._duty.time_limit_seconds
        with self._lock:
            left = self._began + limit - time.monotonic() if self._current else limit
        return min(max(left, 0.01), _GLANCE_SECONDS)

    def _give_up_overdue(self) -> bool:
        limit = self._duty.time_limit_seconds
        with self._lock:
            overdue = self._current if time.monotonic() - self._began >= limit else []
            self._given_up = bool(overdue)
        self._board.finish((item.token, item.id) for item in overdue)
        self._receiver.report(overdue, [over_limit(limit, len(overdue))] * len(overdue))
        return bool(overdue)

    def _deliver(self) -> None:
        """In the event loop: pass on the outcomes so far."""
        self._telling = False
        with self._lock:
            items, outcomes = self._ended
            self._ended = ([], [])
        self._receiver.report(items, outcomes)

    def _work(self) -> None:
        """In the thread: everything."""
        while items := self._begin():
            outcomes = self._attempt(items)
            if not self._end(self._current, outcomes):
                return
            if not self._telling:
                self._telling = True
                self._thread.tell(_GATHER_SECONDS, self._deliver)

    def _begin(self) -> list[Item]:
        with self._lock:
            if self._given_up or not self._left:
                return []
            items = list(self._left) if self._together else [self._left[0]]
            for _ in items:
                self._left.popleft()
            self._current, self._began = items, time.monotonic()
            held = [(item.token, item.id) for item in items]
            self._board.begin(held, self._began + self._duty.time_limit_seconds)
        return items

    def _attempt(self, items: list[Item]) -> list[Outcome] | None:
        """The outcomes of one call; None when a batch of several raised and is to be tried one by one."""
        handler = self._duty.handler
        try:
            if handler.batch:
                return outcomes_of_batch(items, handler.function(list(items)))
            if handler.steps:
                return self._walk(items[0])
            return [outcome_of_result(handler.function(items[0]))]
        except BaseException as error:  # in a thread of its own even SystemExit is the handler's
            return None if len(items) > 1 else [outcome_of(error)]

    def _walk(self, item: Item) -> list[Outcome]:
        """The outcome of a generator, each of whose steps is written before it is asked for the next; none if the item
        was lost on the way."""
        generator: Generator[object, Item, object] = cast(Any, self._duty.handler.function(item))
        try:
            produced = next(generator)
            while isinstance(produced, Step):
                advanced = self._advance(item, produced)
                if advanced is None:
                    return []
                item = advanced
                produced = generator.send(item)
            return [outcome_of_result(produced)]
        except StopIteration:
            return [NOTHING]
        finally:
            generator.close()

    def _advance(self, item: Item, step: Step) -> Item | None:
        """Have the event loop write a step, and wait for it; None if the item is lost or was given up."""
        written: Future[Item | None] = Future()
        with self._lock:
            if self._given_up:
                return None
            self._began = math.inf
            self._board.finish([(item.token, item.id)])

        def begin() -> None:
            self._receiver.commit(item, step).add_done_callback(lambda done: written.set_result(done.result()))

        self._thread.tell(0, begin)
        advanced = written.result()
        with self._lock:
            self._current = [] if advanced is None else [advanced]
            if advanced is None or self._given_up:
                return None
            self._began = time.monotonic()
            self._board.begin([(item.token, item.id)], self._began + self._duty.time_limit_seconds)
        return advanced

    def _end(self, items: list[Item], outcomes: list[Outcome] | None) -> bool:
        """Note the outcomes; returns whether anybody wants them."""
        with self._lock:
            if self._given_up:
                return False
            self._current = []
            self._board.finish((item.token, item.id) for item in items)
            if outcomes is None:
                self._together = False
                self._left.extendleft(reversed(items))
            else:
                self._ended[0].extend(items)
                self._ended[1].extend(outcomes)
        return True
