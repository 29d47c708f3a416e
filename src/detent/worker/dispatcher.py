"""The dispatcher of one duty: it takes claimed items, calls the handler, and passes the outcomes on.

Async handlers run as tasks, ordinary functions in threads, at most `concurrency` calls at a time. A handler
over its time limit is given up: a task is cancelled, a thread abandoned, and its late result is not used.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from detent.knowledge import Item, Outcome, Step
from detent.worker.board import Board
from detent.worker.duty import Duty
from detent.worker.jobs import Job
from detent.worker.tasks import TaskCall
from detent.worker.threads import Thread

Finish = Callable[[Duty, Sequence[tuple[Item, Outcome]]], None]
Commit = Callable[[Duty, Item, Step], "asyncio.Future[Item | None]"]
"""Writes a step, and says what the item is then; None if it is no longer the worker's."""

_CHUNK = 64
_STUBBORN_SECONDS = 2.0
"""Time to wait for a cancelled handler."""


class Dispatcher:
    def __init__(self, duty: Duty, board: Board, finish: Finish, commit: Commit) -> None:
        self.duty = duty
        self.abandoned = 0
        self._board = board
        self._finish = finish
        self._commit_step = commit
        self._cancelled = False
        self._commits: set[asyncio.Future[Item | None]] = set()
        self._waiting: deque[Item] = deque()
        self._taken: dict[tuple[int, int], Item] = {}
        self._calls: dict[asyncio.Task[None], TaskCall | Job] = {}
        self._threads: list[Thread] = []

    @property
    def room(self) -> int:
        """Number of items that may be claimed: one batch, once fewer than half a batch wait for their turn."""
        unfinished = len(self._waiting) + len(self._taken)
        size, calls = self.duty.batch_size, self.duty.concurrency
        if self.duty.handler.steps:  # each may take long, and is better begun by whoever is free
            return max(0, calls - unfinished)
        batch, running = (size, size * (calls - 1)) if self.duty.handler.batch else (max(size, calls), 0)
        return batch if unfinished <= running + batch // 2 else 0

    @property
    def busy(self) -> bool:
        return bool(self._waiting or self._taken)

    def take(self, items: Sequence[Item]) -> None:
        self._waiting.extend(items)
        self._fill()

    def give_back(self) -> list[Item]:
        """The items that were not begun; they are the caller's again."""
        items = [*self._waiting, *(item for call in self._calls.values() for item in self._taken_from(call))]
        self._waiting.clear()
        return items

    def forget(self, tokens: set[int]) -> list[Item]:
        """Drop what was not begun and was held under tokens that are lost; returns it."""
        items = self.give_back()
        self.take([item for item in items if item.token not in tokens])
        return [item for item in items if item.token in tokens]

    async def cancel(self) -> list[Item]:
        """Give up everything that is running; returns those items. What a handler still says is not used."""
        self._cancelled = True
        await _cancel(list(self._calls))
        if self._commits:  # until then nobody knows in which state these items are
            await asyncio.wait(self._commits, timeout=_STUBBORN_SECONDS)
        items = list(self._taken.values())
        self._taken.clear()
        return items

    async def let_go(self) -> list[Item]:
        """Give up what only waits for its turn at a service; returns those items."""
        waiting = {task: call for task, call in self._calls.items() if isinstance(call, TaskCall) and call.waits}
        given = [(item.token, item.id) for call in waiting.values() for item in call.items]
        items = [item for each in given if (item := self._taken.pop(each, None)) is not None]
        await _cancel(list(waiting))
        return items

    def close(self) -> None:
        """Let the threads end that have nothing to do."""
        while self._threads:
            self._threads.pop().end()

    def _fill(self) -> None:
        while len(self._calls) < self.duty.concurrency and (self._waiting or self._share_out()):
            items = self._next()
            self._taken.update(((item.token, item.id), item) for item in items)
            self._start(items)

    def _share_out(self) -> bool:
        """Take from the thread that has most before it, so that none is idle while another has items to begin."""
        jobs = [call for call in self._calls.values() if isinstance(call, Job)]
        if jobs and not self.duty.handler.batch:
            self._waiting.extend(self._no_longer_taken(max(jobs, key=lambda job: job.unbegun).share()))
        return bool(self._waiting)

    def _next(self) -> list[Item]:
        """The items of the next call. Threads are given several items at once, to be called one by one."""
        if self.duty.handler.batch:
            size = self.duty.batch_size
        elif self.duty.handler.is_async or self.duty.handler.steps:
            size = 1
        else:
            free = self.duty.concurrency - len(self._calls)
            size = min(_CHUNK, -(-len(self._waiting) // free))
        return [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]

    def _start(self, items: list[Item]) -> None:
        if self.duty.handler.is_async:
            call = TaskCall(self.duty, self._board, items, self)
            self._watch(call, call.run())
        else:
            thread = self._threads.pop() if self._threads else Thread()
            job = Job(self.duty, self._board, thread, items, self)
            self._watch(job, self._run_in_thread(job, thread))

    def _watch(self, call: TaskCall | Job, running: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(running)
        self._calls[task] = call
        task.add_done_callback(self._ended)

    async def _run_in_thread(self, job: Job, thread: Thread) -> None:
        finished = False
        try:
            finished = await job.run()
        finally:
            if finished:
                self._threads.append(thread)
            else:
                thread.end()
        if not finished:
            self.abandoned += 1
            self._waiting.extendleft(reversed(self._taken_from(job)))

    def _taken_from(self, call: TaskCall | Job) -> list[Item]:
        return self._no_longer_taken(call.take_back())

    def _no_longer_taken(self, items: list[Item]) -> list[Item]:
        return [item for item in items if self._taken.pop((item.token, item.id), None) is not None]

    def commit(self, item: Item, step: Step) -> asyncio.Future[Item | None]:
        """Have a step written; nothing of it if the item was given up."""
        name = (item.token, item.id)
        if self._cancelled or name not in self._taken:
            given_up = asyncio.get_running_loop().create_future()
            given_up.set_result(None)
            return given_up
        future = self._commit_step(self.duty, item, step)
        self._commits.add(future)
        future.add_done_callback(partial(self._committed, name))
        return future

    def _committed(self, name: tuple[int, int], future: asyncio.Future[Item | None]) -> None:
        self._commits.discard(future)
        item = None if future.cancelled() else future.result()
        if item is None:
            self._taken.pop(name, None)
        elif name in self._taken:
            self._taken[name] = item

    def report(self, items: Sequence[Item], outcomes: Sequence[Outcome]) -> None:
        """Pass outcomes on; those of items that were given up meanwhile are not used."""
        if self._cancelled:
            return
        taken = self._taken
        wanted = [
            (item, outcome)
            for item, outcome in zip(items, outcomes, strict=True)
            if taken.pop((item.token, item.id), None) is not None
        ]
        if wanted:
            self._finish(self.duty, wanted)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._calls[task]
        if not task.cancelled():
            self._fill()
            task.result()


async def _cancel(calls: Sequence[asyncio.Task[None]]) -> None:
    for call in calls:
        call.cancel()
    if calls:
        await asyncio.wait(calls, timeout=_STUBBORN_SECONDS)
