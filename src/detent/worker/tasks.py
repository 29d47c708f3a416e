"""One call of an async handler, in the event loop: cancelled when it is over its time limit.

A batch that raises is tried one by one, so that one bad item does not fail its neighbours.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Protocol, cast

from detent.knowledge import NOTHING, Item, Outcome, Step
from detent.services import pace
from detent.worker.board import Board
from detent.worker.duty import Duty
from detent.worker.outcomes import outcome_of, outcome_of_result, outcomes_of_batch, over_limit


class Receiver(Protocol):
    """Takes what comes of a call."""

    def report(self, items: Sequence[Item], outcomes: Sequence[Outcome]) -> None:
        """Called with items and the outcome of each."""

    def commit(self, item: Item, step: Step) -> asyncio.Future[Item | None]:
        """Write a step; the answer is the item after it, or None if it is lost or was given up."""


class TaskCall:
    def __init__(self, duty: Duty, board: Board, items: Sequence[Item], receiver: Receiver) -> None:
        self._duty = duty
        self._board = board
        self._items = list(items)
        self._one_by_one: deque[Item] = deque()
        self._receiver = receiver
        self._waiting = pace.Waiting()

    @property
    def waits(self) -> bool:
        """True while the handler only waits for its turn at a service, so that cancelling it loses little."""
        return self._waiting.has_nothing_to_lose

    @property
    def items(self) -> Sequence[Item]:
        """All that it was given."""
        return self._items

    async def run(self) -> None:
        pace.watch(self._waiting)
        outcomes = await self._attempt(self._items)
        if outcomes is not None:
            self._receiver.report(self._items, outcomes)
            return
        if _cancelled_from_outside():
            return
        self._one_by_one.extend(self._items)
        while self._one_by_one:
            item = self._one_by_one.popleft()
            self._receiver.report([item], await self._attempt([item]) or [])

    def take_back(self) -> list[Item]:
        """The items that are not begun; they are the caller's again."""
        items = list(self._one_by_one)
        self._one_by_one.clear()
        return items

    async def _attempt(self, items: list[Item]) -> list[Outcome] | None:
        """The outcomes of one call; None when a batch of several raised and is to be tried one by one."""
        limit_seconds = self._duty.time_limit_seconds
        held = [(item.token, item.id) for item in items]
        self._board.begin(held, time.monotonic() + limit_seconds)
        try:
            async with asyncio.timeout(limit_seconds) as limit:
                return await (self._walk(limit) if self._duty.handler.steps else self._call(items))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a handler raises is its item's trouble, not the worker's
            if isinstance(error, TimeoutError) and limit.expired():
                return [over_limit(limit_seconds, len(items))] * len(self._items)
            if isinstance(error, asyncio.CancelledError) and _cancelled_from_outside():
                raise
            return None if len(items) > 1 else [outcome_of(error)]
        finally:
            self._board.finish(held)

    async def _walk(self, limit: asyncio.Timeout) -> list[Outcome]:
        """The outcome of a generator, each of whose steps is written before it is asked for the next; none if the item
        was lost on the way."""
        [item] = self._items
        generator: AsyncGenerator[object, Item] = cast(Any, self._duty.handler.function(item))
        try:
            produced = await anext(generator)
            while isinstance(produced, Step):
                limit.reschedule(None)
                self._board.finish([(item.token, item.id)])
                advanced = await asyncio.shield(self._receiver.commit(item, produced))
                if advanced is None:
                    self._items = []
                    return []
                item = advanced
                self._items = [item]
                self._begin_step(item, limit)
                produced = await generator.asend(item)
            return [outcome_of_result(produced)]
        except StopAsyncIteration:
            return [NOTHING]
        finally:
            await generator.aclose()

    def _begin_step(self, item: Item, limit: asyncio.Timeout) -> None:
        limit_seconds = self._duty.time_limit_seconds
        limit.reschedule(asyncio.get_running_loop().time() + limit_seconds)
        self._board.begin([(item.token, item.id)], time.monotonic() + limit_seconds)

    async def _call(self, items: list[Item]) -> list[Outcome]:
        handler = self._duty.handler
        if handler.batch:
            return outcomes_of_batch(items, await handler.function(list(items)))
        return [outcome_of_result(await handler.function(items[0]))]


def _cancelled_from_outside() -> bool:
    """Tell whether this task itself is being cancelled, not something that the handler awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
