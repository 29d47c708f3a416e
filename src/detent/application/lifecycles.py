"""Lifecycles by name: Detent's own, and those that the sources of a database follow."""

from __future__ import annotations

from detent.lifecycle import BUILTIN, Lifecycle
from detent.store import Store
from detent.store.ledger.kinds import unknown


async def lifecycle_named(store: Store, name: str) -> Lifecycle:
    """The lifecycle of this name."""
    if name not in store.kinds.lifecycles:
        await store.kinds.refresh()
    known = {**BUILTIN, **store.kinds.lifecycles}
    if name not in known:
        raise unknown("lifecycle", name, known)
    return known[name]
