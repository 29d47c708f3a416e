"""Watching a folder: telling when something in it may have changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from watchfiles import DefaultFilter, awatch

from detent.sources.files.folder import NEVER

_FIRST_MS = 1_000
_PATIENCE_MS = 500
"""Changes that come within this time after each other are told once."""


class _Wanted(DefaultFilter):
    """All but what belongs to other programs or to Detent itself; what is ignored is found out by looking."""

    ignore_dirs = tuple(NEVER)
    ignore_entity_patterns = ()


async def watch(root: Path) -> AsyncIterator[None]:
    """Tells of changes, some time after the last of several that come together; and once at the beginning, of those
    that came before it was watched."""
    changes = awatch(
        root,
        watch_filter=_Wanted(),
        debounce=_PATIENCE_MS,
        recursive=True,
        rust_timeout=_FIRST_MS,
        yield_on_timeout=True,
    )
    is_first = True
    async for changed in changes:
        if changed or is_first:
            yield None
        is_first = False
