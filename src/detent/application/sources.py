"""The verbs of sources: declare, list, pause, resume and remove them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from detent.application.verbs import Verbs
from detent.knowledge.value import Value
from detent.store.ledger.kinds import unknown
from detent.store.ledger.sources import IMPORTED

if TYPE_CHECKING:
    from detent.application.discovery import Tell
    from detent.lifecycle import Lifecycle


@dataclass(frozen=True)
class SourceLabel(Value):
    """A label of a source: the lifecycle that its items follow, and how many there are."""

    label: str
    lifecycle: str
    items: int


@dataclass(frozen=True)
class ListedSource(Value):
    """A source as lists show it. `type` and `settings` are None unless it was added by `detent add`; `settings` are
    those that may be shown."""

    name: str
    added_at: datetime
    paused_at: datetime | None
    type: str | None
    settings: Mapping[str, Any] | None
    labels: Sequence[SourceLabel]

    @property
    def is_read_by_detent(self) -> bool:
        """Tells whether Detent itself reads it: it was added as a source of a type, and did not come from a file."""
        return self.type not in (None, IMPORTED)

    @property
    def items(self) -> int:
        """The number of its items."""
        return sum(each.items for each in self.labels)


class SourceVerbs(Verbs):
    """Declare, list, pause, resume and remove sources."""

    async def declare(self, source: str, label: str, lifecycle: Lifecycle) -> None:
        """Declare a source's label, with the lifecycle that its items follow."""
        await self.store.declare(source, label, lifecycle)

    async def list_sources(self) -> list[ListedSource]:
        """The sources, by name."""
        from detent.application.adding import shown_settings
        from detent.services.keyring import Keyring

        keyring = Keyring(self.project.folder if self.project else None)
        counts: dict[tuple[str, str], int] = {}
        for line in await self.store.count_by_state():
            counts[line.source, line.label] = counts.get((line.source, line.label), 0) + line.count
        configured = {each.name: each for each in await self.store.sources.configured()}
        labels: dict[str, list[SourceLabel]] = {}
        for kind in sorted(await self.store.kinds.select(), key=lambda kind: kind.label):
            items = counts.get((kind.source, kind.label), 0)
            labels.setdefault(kind.source, []).append(SourceLabel(kind.label, kind.lifecycle.name, items))
        return [
            ListedSource(
                name=origin.name,
                added_at=origin.added_at,
                paused_at=origin.paused_at,
                type=configured[origin.name].type if origin.name in configured else None,
                settings=shown_settings(configured[origin.name], keyring) if origin.name in configured else None,
                labels=labels.get(origin.name, []),
            )
            for origin in await self.store.sources.all()
        ]

    async def show_source(self, name: str) -> ListedSource:
        """One source, by its name; an UnknownName if there is none."""
        sources = {each.name: each for each in await self.list_sources()}
        if name not in sources:
            raise unknown("source", name, sources)
        return sources[name]

    async def pause(self, source: str) -> None:
        """Stop claiming items of this source; workers finish what they hold."""
        await self.store.pause(source)

    async def resume(self, source: str) -> bool:
        """Let workers claim items of a paused source again; returns whether it was paused."""
        paused = {origin.name for origin in await self.store.sources.all() if origin.paused_at}
        await self.store.resume(source)
        return source in paused

    async def remove_source(self, name: str, *, tell: Tell | None = None) -> int:
        """Remove a source with all it brought; returns the number of items removed.

        It is removed in steps, and after each `tell` is called with the number of items removed so far. After an
        interruption call it again.
        """
        from detent.application.removing import remove_source

        gone, folder = 0, self.project.folder if self.project else None
        async with contextlib.aclosing(remove_source(self.store, name, folder)) as steps:
            async for gone in steps:
                if tell is not None:
                    tell(gone)
        return gone
