"""Removing a source: all it brought, and what was made for it in files."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path

from detent.errors import InvalidConfiguration
from detent.services.keyring import Keyring
from detent.sources import types
from detent.store import Store
from detent.store.ledger.sources import Configured


async def remove_source(store: Store, name: str, folder: Path | None = None) -> AsyncGenerator[int, None]:
    """Remove a source with all it brought; says after each step how many items are gone. Its secrets are removed
    from the file in the project's `folder`."""
    before = await store.sources.find(name)
    async with aclosing(store.remove_source(name)) as steps:
        async for gone in steps:
            yield gone
    if before is not None:
        await tidy(store, before)
    with suppress(InvalidConfiguration):  # nothing is wrong with the source's removal
        Keyring(folder).forget(name)


async def tidy(store: Store, before: Configured) -> None:
    """Remove what was made in files for a source as it was before, and is of no use to those that there are now."""
    others = [each.settings for each in await store.sources.configured() if each.type == before.type]
    types.tidy(before.type, before.settings, others)
