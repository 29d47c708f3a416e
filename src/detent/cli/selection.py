"""Choosing items: by their keys, or by what they have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from detent.errors import UnknownName

if TYPE_CHECKING:
    from detent.store import Kind, Store

_PAGE = 5_000


@dataclass(frozen=True)
class Selection:
    """What a command line asks for. Names that do not exist are mistakes, never an empty result."""

    source: str | None = None
    label: str | None = None
    state: str | None = None
    error_kind: str | None = None

    @property
    def narrows(self) -> bool:
        return any((self.source, self.label, self.state, self.error_kind))

    async def kinds(self, store: Store) -> list[Kind]:
        """The kinds of the items that are meant."""
        from detent.store.ledger.listing import require_error_kind, require_state

        kinds = await store.kinds.select(self.source, self.label)
        if kinds and self.state is not None:
            require_state(self.state, kinds)
        if kinds and self.error_kind is not None:
            require_error_kind(self.error_kind, kinds)
        return kinds

    async def pages(self, store: Store, *, failed: bool = False) -> AsyncIterator[list[int]]:
        """The ids of the items, a page at a time; with `failed` only of those that have failed for good."""
        for kind in await self.kinds(store):
            for state in self._states(kind, failed):
                async for ids in self._pages_of(store, kind, state):
                    yield ids

    def _states(self, kind: Kind, failed: bool) -> Sequence[str | None]:
        """The states to look in; None stands for all of them at once."""
        lifecycle = kind.lifecycle
        if failed:
            return [state for state in lifecycle.states if state in lifecycle.failures]
        return [self.state] if self.state is None or self.state in lifecycle.states else []

    async def _pages_of(self, store: Store, kind: Kind, state: str | None) -> AsyncIterator[list[int]]:
        more, mark = True, None
        while more:
            page = await store.list(
                source=kind.source,
                label=kind.label,
                state=state,
                error_kind=self.error_kind,
                limit=_PAGE,
                after=mark,
            )
            yield [item.id for item in page.items]
            mark, more = page.next, page.next is not None


async def find(store: Store, key: str, selection: Selection) -> int:
    """The one item with this key; if there are several, a mistake that lists them."""
    ids = await _ids(store, key, selection)
    if len(ids) == 1:
        return ids[0]
    stories = [await store.show(each) for each in ids[:10]]
    lines = [f"  --source {story.item.source} --label {story.item.label}  ({story.item.state})" for story in stories]
    raise click.UsageError(
        f"{len(ids)} items have the key {key!r}. Say which one, with one of these:\n" + "\n".join(lines)
    )


async def _ids(store: Store, key: str, selection: Selection) -> list[int]:
    try:
        return await store.listing.find(key, source=selection.source, label=selection.label)
    except UnknownName:
        if not selection.narrows:
            raise
        await selection.kinds(store)
        elsewhere = await store.show((await store.listing.find(key))[0])
        raise UnknownName(
            f"There is no such item with the key {key!r}, but there is one with "
            f"--source {elsewhere.item.source} --label {elsewhere.item.label}."
        ) from None
