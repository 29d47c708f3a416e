"""Refreshing: sources are asked how all that was done stands now, and what has changed goes round again."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from detent.application.discovery import Tell
from detent.errors import DatabaseAway, DetentError, DiscoveryFailed
from detent.sources import Source, pace
from detent.store import Kind, Store
from detent.worker.outcomes import describe

AT_ONCE = 500
_OWNER = "refresh"


async def refresh(
    store: Store, sources: Sequence[Source], tell: Tell | None = None
) -> tuple[int, list[DiscoveryFailed]]:
    """Ask the sources for what may have changed; returns how many items had, and which sources failed.

    `tell` is called with the number of items that were asked for so far.
    """
    changed, asked, failures = 0, 0, []
    pace.keep(store.pacing)
    for source in sources:
        for label, ask in source.refresh.items():
            kind = await store.kinds.get(source.name, label)
            after = ""
            try:
                while keys := await _done(store, kind, after):
                    hashes = await _asked(ask, keys)
                    changed += await store.mark_changed(source.name, label, hashes, owner=_OWNER)
                    after, asked = keys[-1], asked + len(keys)
                    if tell is not None:
                        tell(asked)
            except DatabaseAway:
                raise
            except Exception as error:  # whatever a source raises keeps the others from nothing
                reason = str(error) if isinstance(error, DetentError) else describe(error)
                failures.append(DiscoveryFailed(source.name, asked, reason))
    return changed, failures


async def _done(store: Store, kind: Kind, after: str) -> list[str]:
    """Some keys of items that were done, in order."""
    lifecycle = kind.lifecycle
    resting = set(lifecycle.states) - lifecycle.waiting - lifecycle.working - lifecycle.failures
    parameters = {"kind": kind.id, "states": sorted(resting), "after": after, "limit": AT_ONCE}
    return [row.key for row in await store.database.fetch("keys_in", parameters)]


async def _asked(ask: Callable[[Sequence[str]], Any], keys: Sequence[str]) -> Mapping[str, str]:
    if inspect.iscoroutinefunction(ask):
        answer: Awaitable[Mapping[str, str]] = ask(keys)
        return await answer
    found: Mapping[str, str] = await asyncio.to_thread(ask, keys)
    return found
