"""Removing a source: all it brought, and what was made for it in files."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from detent.sources import types
from detent.store import Store
from detent.store.ledger.sources import Configured


async def remove_source(store: Store, name: str) -> AsyncGenerator[int, None]:
    """Remove a source with all it brought; says after each step how many items are gone."""
    before = await store.sources.find(name)
    async with aclosing(store.remove_source(name)) as steps:
        async for gone in steps:
            yield gone
    if before is not None:
        await tidy(store, before)


async def tidy(store: Store, before: Configured) -> None:
    """Remove what was made in files for a source as it was before, and is of no use to those that there are now."""
    others = [each.settings for each in await store.sources.configured() if each.type == before.type]
    types.tidy(before.type, before.settings, others)
