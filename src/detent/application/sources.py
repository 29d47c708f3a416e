"""The verbs of sources: declare, pause, resume and remove them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from detent.application.verbs import Verbs

if TYPE_CHECKING:
    from detent.application.discovery import Tell
    from detent.lifecycle import Lifecycle


class SourceVerbs(Verbs):
    """Declare, pause, resume and remove sources."""

    async def declare(self, source: str, label: str, lifecycle: Lifecycle) -> None:
        """Declare a source's label, with the lifecycle that its items follow."""
        await self.store.declare(source, label, lifecycle)

    async def pause(self, source: str) -> None:
        """Stop claiming items of this source; workers finish what they hold."""
        await self.store.pause(source)

    async def resume(self, source: str) -> None:
        """Let workers claim items of a paused source again."""
        await self.store.resume(source)

    async def remove_source(self, name: str, *, tell: Tell | None = None) -> int:
        """Remove a source with all it brought; returns the number of items removed.

        It is removed in steps, and after each `tell` is called with the number of items removed so far. After an
        interruption call it again.
        """
        from detent.application.removing import remove_source

        gone = 0
        async with contextlib.aclosing(remove_source(self.store, name)) as steps:
            async for gone in steps:
                if tell is not None:
                    tell(gone)
        return gone
