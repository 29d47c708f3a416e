"""Refreshing: sources are asked how all that was done or failed stands now, and what has changed goes round again.

So does what failed for a passing reason, once. What a source has told is kept when it fails later.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from detent.application.discovery import Tell
from detent.errors import DatabaseAway, DetentError, DiscoveryFailed
from detent.lifecycle import Trouble
from detent.sources import PartlyTold, Source, pace
from detent.store import Kind, Store
from detent.worker.outcomes import describe

AT_ONCE = 500
_OWNER = "refresh"
_PASSED = "it failed for a reason that may have passed"


async def refresh(
    store: Store, sources: Sequence[Source], tell: Tell | None = None
) -> tuple[int, list[DiscoveryFailed]]:
    """Ask the sources for what may have changed; returns how many items had, and which sources failed.

    `tell` is called with the number of items that were asked for so far.
    """
    refreshing, failures = _Refreshing(store, tell), []
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
            failures.append(DiscoveryFailed(source.name, refreshing.told - before, reason, did="told of"))
    return refreshing.changed, failures


@dataclass
class _Refreshing:
    """Asks sources, and counts what was asked for, what they told of, and what of it had changed."""

    store: Store
    tell: Tell | None
    asked: int = 0
    told: int = 0
    changed: int = 0

    async def ask(self, source: str, label: str, ask: Callable[[Sequence[str]], Any]) -> None:
        """Ask for all items of a label that were done or failed. If some cannot be told of, that is raised at the end;
        if none of many, at once."""
        kind = await self.store.kinds.get(source, label)
        after = ""
        failure: PartlyTold | None = None
        while found := await _found(self.store, kind, after):
            keys = list(found)
            try:
                hashes = await _asked(ask, keys)
            except PartlyTold as error:
                hashes, failure = error.standing, error
                if not hashes:
                    raise
            self.changed += await self.store.mark_changed(source, label, hashes, owner=_OWNER)
            passing = [number for key, number in found.items() if number is not None and key in hashes]
            self.changed += await self.store.items.retry(passing, owner=_OWNER, reason=_PASSED)
            after, self.asked, self.told = keys[-1], self.asked + len(keys), self.told + len(hashes)
            if self.tell is not None:
                self.tell(self.asked)
        if failure is not None:
            raise failure


async def _found(store: Store, kind: Kind, after: str) -> dict[str, int | None]:
    """Some keys of items that were done or failed, in order; with the numbers of those whose reason may have passed."""
    lifecycle = kind.lifecycle
    resting = sorted(set(lifecycle.states) - lifecycle.waiting - lifecycle.working)
    parameters = {"kind": kind.id, "states": resting, "after": after, "limit": AT_ONCE}
    rows = await store.database.fetch("keys_in", parameters)
    return {row.key: row.id if row.trouble and Trouble(row.trouble).transient else None for row in rows}


async def _asked(ask: Callable[[Sequence[str]], Any], keys: Sequence[str]) -> Mapping[str, str]:
    if inspect.iscoroutinefunction(ask):
        answer: Awaitable[Mapping[str, str]] = ask(keys)
        return await answer
    found: Mapping[str, str] = await asyncio.to_thread(ask, keys)
    return found
