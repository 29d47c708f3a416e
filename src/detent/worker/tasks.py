"""One call of an async handler, in the event loop: cancelled when it is over its time limit.

A batch that raises is tried one by one, so that one bad item does not fail its neighbours.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence

from detent.knowledge import Item, Outcome
from detent.services import pace
from detent.worker.board import Board
from detent.worker.duty import Duty
from detent.worker.outcomes import outcome_of, outcome_of_result, outcomes_of_batch, over_limit

Report = Callable[[Sequence[Item], Sequence[Outcome]], None]
"""Called with items and the outcome of each."""


class TaskCall:
    def __init__(self, duty: Duty, board: Board, items: Sequence[Item], report: Report) -> None:
        self._duty = duty
        self._board = board
        self._items = list(items)
        self._one_by_one: deque[Item] = deque()
        self._report = report
        self._waiting = pace.Waiting()

    @property
    def waits(self) -> bool:
        """Whether the handler only waits for its turn at a service, so that little is lost if it is given up."""
        return self._waiting.has_nothing_to_lose

    @property
    def items(self) -> Sequence[Item]:
        """All that it was given."""
        return self._items

    async def run(self) -> None:
        pace.watch(self._waiting)
        outcomes = await self._attempt(self._items)
        if outcomes is not None:
            self._report(self._items, outcomes)
            return
        if _cancelled_from_outside():
            return
        self._one_by_one.extend(self._items)
        while self._one_by_one:
            item = self._one_by_one.popleft()
            self._report([item], await self._attempt([item]) or [])

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
                return await self._call(items)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a handler raises is its item's trouble, not the worker's
            if isinstance(error, TimeoutError) and limit.expired():
                return [over_limit(limit_seconds, len(items))] * len(items)
            if isinstance(error, asyncio.CancelledError) and _cancelled_from_outside():
                raise
            return None if len(items) > 1 else [outcome_of(error)]
        finally:
            self._board.finish(held)

    async def _call(self, items: list[Item]) -> list[Outcome]:
        handler = self._duty.handler
        if handler.batch:
            return outcomes_of_batch(items, await handler.function(list(items)))
        return [outcome_of_result(await handler.function(items[0]))]


def _cancelled_from_outside() -> bool:
    """Whether this task is being cancelled, and not something that the handler was waiting for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
