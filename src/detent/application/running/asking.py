"""Asking the sources what there is, and what has changed, before work begins and beside it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from detent.application.discovery import Discovery, discover
from detent.application.refreshing import refresh
from detent.application.running.news import (
    Discovered,
    Discovering,
    Listener,
    Refreshed,
    Refreshing,
    SourceFailed,
    Waiting,
    WatchEnded,
)
from detent.errors import DatabaseAway, DetentError, DiscoveryFailed
from detent.sources import Source
from detent.store import Store

LOOK_SECONDS = 2.0
_AGAIN_SECONDS = 10.0


class Asking:
    """Asks sources, and tells what came of it. `found` is the number of items that were named so far."""

    def __init__(self, store: Store, sources: Sequence[Source], tell: Listener) -> None:
        self.found = 0
        self._store = store
        self._sources = sources
        self._tell = tell

    async def discover(self) -> list[DiscoveryFailed]:
        """Let the sources name their items; returns what went wrong with some of them."""

        def tell(count: int) -> None:
            self.found = count
            self._tell(Discovering(count))

        discovered = await discover(self._store, self._sources, tell)
        self._tell(_discovered(discovered))
        return self._told(discovered.failures)

    async def refresh(self) -> list[DiscoveryFailed]:
        """Ask what has changed of what was done or failed; returns what went wrong with some of the sources."""
        telling = asyncio.create_task(self._tell_of_held_services())
        try:
            refreshed = await refresh(self._store, self._sources, lambda count: self._tell(Refreshing(count)))
        finally:
            telling.cancel()
        self._tell(Refreshed(refreshed.changed, refreshed.again))
        return self._told(refreshed.failures)

    async def keep_up(self) -> None:
        """Discover again whenever a source tells of changes, until none can be watched any more."""
        await asyncio.gather(*(self._keep_up_with(source) for source in self._sources))

    async def close(self) -> None:
        """Close the sources; that they cannot be closed keeps nobody from going on."""
        for source in self._sources:
            if source.close is not None:
                with contextlib.suppress(Exception):
                    await source.close()

    def _told(self, failures: list[DiscoveryFailed]) -> list[DiscoveryFailed]:
        for failure in failures:
            self._tell(SourceFailed(str(failure)))
        return failures

    async def _tell_of_held_services(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with contextlib.suppress(DatabaseAway):
                if services := await self._store.pacing.held():
                    self._tell(Waiting(services=tuple(services)))

    async def _keep_up_with(self, source: Source) -> None:
        if source.watch is None:
            return
        try:
            async for _ in source.watch():
                await self._discover_again(source)
        except OSError as error:
            self._tell(WatchEnded(source.name, error.strerror or str(error)))

    async def _discover_again(self, source: Source) -> None:
        """Discover again; retry a failure after a delay."""
        while True:
            try:
                discovered = await discover(self._store, [source])
                break
            except DetentError as error:
                self._tell(SourceFailed(str(error), keeping_up=True))
                await asyncio.sleep(_AGAIN_SECONDS)
        self._tell(_discovered(discovered, keeping_up=True))
        for failure in discovered.failures:
            self._tell(SourceFailed(str(failure), keeping_up=True))


def _discovered(found: Discovery, *, keeping_up: bool = False) -> Discovered:
    return Discovered(found.added, found.changed, found.removed, keeping_up)
