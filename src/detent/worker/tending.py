"""Tending: what search needs, kept in step beside the work.

Texts that were written are taken into the index, fresh vectors into indexed parts, nodes that nobody names any more
are swept, and with another model everything is embedded again. Each step is short, finds out for itself what there
is to do, and leaves nothing undone that the next one does not find. Among many workers one tends at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from uuid import UUID

from detent.errors import DatabaseAway
from detent.store import Store
from detent.worker.patience import patiently

_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.5, 5.0
_GLANCE_SECONDS = 0.1
_ANEW_AT_ONCE = 2000


class Tending:
    def __init__(self, store: Store, account: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._account = account
        self._seen: UUID | None = None
        self._stopped = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """Tend until stopped; the less there is to do, the more seldom."""
        pause = _SHORTEST_SECONDS
        with contextlib.suppress(DatabaseAway):  # only once it is stopped
            while not self._stopped.is_set():
                busy = await patiently(self.run_once, unless=self._stopped)
                pause = 0.0 if busy else min(max(pause * 2, _SHORTEST_SECONDS), _LONGEST_SECONDS)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), pause)

    def stop(self) -> None:
        self._stopped.set()

    async def run_once(self) -> bool:
        """Do a step of each kind; returns whether there was anything to do."""
        steps: list[Callable[[], Awaitable[bool]]] = [
            self._index,
            self._store.texts.tidy,
            self._merge,
            self._embed_anew,
        ]
        async with self._one_at_a_time:
            await self._account()
            if not await self._store.has_texts():
                return False
            return any([await step() for step in steps if not self._stopped.is_set()])

    async def finish(self) -> None:
        """Do all there is to do, or wait until others have: when a run has ended, everything it wrote is found."""
        while not self._stopped.is_set():
            if await patiently(self.run_once, unless=self._stopped):
                continue
            if await patiently(self._store.texts.pending, unless=self._stopped):
                await asyncio.sleep(_GLANCE_SECONDS)
            elif not await patiently(self._store.removal.sweep, unless=self._stopped):
                return

    async def _index(self) -> bool:
        return bool(await self._store.texts.index())

    async def _merge(self) -> bool:
        models = [await self._store.vectors.current(), await self._store.vectors.next()]
        return any([await self._store.vectors.merge(model) for model in models if model is not None])

    async def _embed_anew(self) -> bool:
        """Send passages that have no vector of the next model back to be embedded; when none is left, it takes the
        current one's place."""
        model = await self._store.vectors.next()
        if model is None:
            return False
        from_the_start = self._seen is None
        hashes = await self._store.vectors.missing(model, _ANEW_AT_ONCE, after=self._seen)
        self._seen = hashes[-1] if len(hashes) == _ANEW_AT_ONCE else None
        if hashes:
            changed = await self._store.embed_anew(hashes, reason=f"to be embedded with {model.name}")
            return bool(changed) or self._seen is not None
        if not from_the_start:
            return True
        return await self._store.vectors.switch(model)
