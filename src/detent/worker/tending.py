"""Tending: what search and order need, kept in step beside the work.

What was found nearer than it was known to be is drawn nearer, texts that were written are taken into the index, fresh
vectors into indexed parts, nodes that nobody names any more are swept, and with another model everything is embedded
again. Each step is short, finds out for itself what there is to do, and leaves nothing undone that the next does not
find. Among many workers one tends at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID

from detent.errors import DatabaseAway, DatabaseBusy
from detent.store import Store
from detent.worker.outcomes import describe
from detent.worker.patience import patiently

log = logging.getLogger("detent.worker")

Step = Callable[[], Awaitable[bool]]
"""One kind of tending; returns whether there was anything to do."""

_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.5, 5.0
_GLANCE_SECONDS = 0.1
_ANEW_AT_ONCE = 2000
_SWEEP_SECONDS = 60.0
_SHARE_OF_TIME_SPENT_SWEEPING = 0.02


class Tending:
    def __init__(
        self, store: Store, account: Callable[[], Awaitable[None]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._account = account
        self._clock = clock
        self._seen: UUID | None = None
        self._changed = False
        self._anew: int | None = None
        self._next_sweep = clock() + _SWEEP_SECONDS
        self._told: str | None = None
        self._stopped = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """Tend until stopped; the less there is to do, the more seldom. What fails is told, and tried again."""
        pause = _SHORTEST_SECONDS
        while not self._stopped.is_set():
            busy = await self._tend()
            pause = 0.0 if busy else min(max(pause * 2, _SHORTEST_SECONDS), _LONGEST_SECONDS)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), pause)

    def stop(self) -> None:
        self._stopped.set()

    async def run_once(self, *, more_to_come: bool = False) -> bool:
        """Do a step of each kind; returns whether there was anything to do. With `more_to_come`, what is better done
        for much at a time may wait.

        A step that fails does not keep the others from being done. Its error is raised at the end.
        """
        async with self._one_at_a_time:
            failed: list[Exception] = []
            busy = await self._each([self._keep_accounts, self._store.bounds.draw_nearer], failed)
            if await self._store.has_texts():
                merge = partial(self._merge, more_to_come)
                busy |= await self._each([self._index, self._store.texts.tidy, merge, self._embed_anew], failed)
                busy = busy or await self._each([self._sweep], failed)
        if failed:
            raise failed[0]
        return busy

    async def finds_nothing(self) -> bool:
        """Do a step of each kind; returns whether there was nothing to do, and nobody else is at it."""
        await self._look_from_the_start()
        return not (await self.run_once() or await self._store.texts.pending() or await self._store.removal.sweep())

    async def finish(self) -> None:
        """Do all there is to do, or wait until others have: when a run has ended, everything it wrote is found."""
        await self._look_from_the_start()
        while not self._stopped.is_set():
            if await patiently(self.run_once, unless=self._stopped) or self._seen is not None:
                continue
            if await patiently(self._store.texts.pending, unless=self._stopped):
                await asyncio.sleep(_GLANCE_SECONDS)
            elif not await patiently(self._store.removal.sweep, unless=self._stopped):
                return

    async def _tend(self) -> bool:
        """Run once, whatever happens; the same trouble is told once."""
        try:
            busy = await patiently(partial(self.run_once, more_to_come=True), unless=self._stopped)
        except DatabaseAway:  # only once it is stopped
            return False
        except Exception as error:
            reason = describe(error)
            if reason != self._told:
                log.warning("Tending what search needs failed, and is tried again every few seconds: %s", reason)
            self._told = reason
            return False
        if self._told is not None:
            log.warning("Tending what search needs works again.")
        self._told = None
        return busy

    async def _each(self, steps: list[Step], failed: list[Exception]) -> bool:
        """Do these steps; what fails is added to `failed`. A database that is away fails them all."""
        busy = False
        for step in steps:
            try:
                busy |= not self._stopped.is_set() and await step()
            except Exception as error:
                if isinstance(error, DatabaseAway) and not isinstance(error, DatabaseBusy):
                    raise
                failed.append(error)
        return busy

    async def _keep_accounts(self) -> bool:
        await self._account()
        return False

    async def _index(self) -> bool:
        return bool(await self._store.texts.index())

    async def _merge(self, more_to_come: bool) -> bool:
        found = [await self._store.vectors.current(), await self._store.vectors.next()]
        models = [model for model in found if model is not None]
        return any([await self._store.vectors.merge(model, more_to_come=more_to_come) for model in models])

    async def _embed_anew(self) -> bool:
        """Send passages that lack a vector of the model that is being filled back to be embedded, a page at a time;
        when none is left, it takes the others' place.

        A page of passages that are all on their way is nothing to do. After the last page, it begins again with the
        first: at once if there was anything to do on the way, since then less is left.
        """
        model = await self._store.vectors.unfilled()
        if model is None:
            return False
        first = self._seen is None
        hashes = await self._store.vectors.missing(model, _ANEW_AT_ONCE, after=self._seen)
        if first and not hashes:
            return await self._store.vectors.switch(model)
        changed = bool(await self._store.embed_anew(hashes, reason=f"to be embedded with {model.name}"))
        self._changed |= changed
        if changed and self._anew != model.id:
            self._anew = model.id
            log.warning("Passages are embedded again, with %s; until all are, search uses the old vectors.", model)
        self._seen = hashes[-1] if len(hashes) == _ANEW_AT_ONCE else None
        if self._seen is not None:
            return changed
        again, self._changed = self._changed, False
        return again

    async def _look_from_the_start(self) -> None:
        async with self._one_at_a_time:
            self._seen, self._changed = None, False

    async def _sweep(self) -> bool:
        """Sweep now and then: it looks at every node that many may name, and whoever names one waits meanwhile."""
        began = self._clock()
        if began < self._next_sweep:
            return False
        removed = await self._store.removal.sweep()
        ended = self._clock()
        self._next_sweep = ended + max(_SWEEP_SECONDS, (ended - began) / _SHARE_OF_TIME_SPENT_SWEEPING)
        return bool(removed)
