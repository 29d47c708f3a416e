"""Refreshing: sources are asked how all that was done or failed stands now, and what has changed goes round again.

So does what failed for a passing reason, once. What a source has told is kept when it fails later. What was done is
asked for first, so that what failed because the source breaks on it keeps nothing else from being told of.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from detent.application.discovery import Tell
from detent.errors import DatabaseAway, DetentError, DiscoveryFailed
from detent.lifecycle import Event, Trouble
from detent.services import pace
from detent.services.keyring import scrubbed
from detent.sources import PartlyTold, Source
from detent.store import Kind, Store
from detent.worker.outcomes import describe

Ask = Callable[[Sequence[str]], Any]

AT_ONCE = 500
_OWNER = "refresh"
_PASSED = "it failed for a reason that may have passed"
_PASSING = frozenset(each.value for each in Trouble if each.transient) - {Trouble.DIED.value}
"""Troubles that may have passed. What its worker died of is sent round by hand alone, or when it has changed."""


@dataclass
class Refreshed:
    """The numbers of changed items and of failed ones to retry, and the sources that could not be checked."""

    changed: int = 0
    again: int = 0
    failures: list[DiscoveryFailed] = field(default_factory=list)


async def refresh(store: Store, sources: Sequence[Source], tell: Tell | None = None) -> Refreshed:
    """Ask the sources for what may have changed, or may not fail any more.

    `tell` is called with the number of items that were asked for so far.
    """
    refreshed = Refreshed()
    refreshing = _Refreshing(store, tell, refreshed)
    pace.keep(store.pacing)
    for source in sources:
        before = refreshing.told
        try:
            for label, ask in source.refresh.items():
                await refreshing.ask(source.name, label, ask)
        except DatabaseAway:
            raise
        except Exception as error:  # whatever a source raises keeps the others from nothing
            reason = str(error) if isinstance(error, DetentError) else describe(error)
            failure = DiscoveryFailed(source.name, refreshing.told - before, scrubbed(reason), did="told of")
            refreshed.failures.append(failure)
    return refreshed


@dataclass
class _Refreshing:
    """Asks sources, and counts what was asked for, and what they told of."""

    store: Store
    tell: Tell | None
    refreshed: Refreshed
    asked: int = 0
    told: int = 0

    async def ask(self, source: str, label: str, ask: Ask) -> None:
        """Ask for all items of a label that were done, and then for those that failed. That some of the first cannot be
        told of is raised at the end. Of the others it is no news."""
        kind = await self.store.kinds.get(source, label)
        resting = set(kind.lifecycle.states) - kind.lifecycle.waiting - kind.lifecycle.working
        untold = await self._ask_for(kind, resting - kind.lifecycle.failures, ask)
        if untold is None or untold.standing:
            await self._ask_for(kind, kind.lifecycle.failures, ask)
        if untold is not None:
            raise untold

    async def _ask_for(self, kind: Kind, states: Set[str], ask: Ask) -> PartlyTold | None:
        """Ask for all items in these states, until none of many can be told of; returns what keeps the source from
        telling of some."""
        ways_back = {move.state for move in kind.lifecycle.moves if move.event is Event.RETRY}
        after, untold = "", None
        while rows := await self.store.items.keyed(kind, states, after=after, limit=AT_ONCE):
            try:
                hashes = await _asked(ask, [row.key for row in rows])
            except PartlyTold as error:
                hashes, untold = error.standing, error
                if not hashes:
                    break
            self.refreshed.changed += await self.store.mark_changed(kind.source, kind.label, hashes, owner=_OWNER)
            passing = [row for row in rows if row.state in ways_back and row.trouble in _PASSING]
            again = [row.id for row in passing if row.key in hashes]
            self.refreshed.again += len(await self.store.items.retry(again, owner=_OWNER, reason=_PASSED))
            after, self.asked, self.told = rows[-1].key, self.asked + len(rows), self.told + len(hashes)
            if self.tell is not None:
                self.tell(self.asked)
        return untold


async def _asked(ask: Ask, keys: Sequence[str]) -> Mapping[str, str]:
    if inspect.iscoroutinefunction(ask):
        answer: Awaitable[Mapping[str, str]] = ask(keys)
        return await answer
    found: Mapping[str, str] = await asyncio.to_thread(ask, keys)
    return found
