"""The verbs of items: add, list, show, retry, reset and remove them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from detent.application.verbs import Verbs, require_limit

if TYPE_CHECKING:
    from detent.knowledge import NewItem
    from detent.store import Entry, Page, Story, Tally


class ItemVerbs(Verbs):
    """Add, list, show, retry, reset and remove items."""

    async def add(self, source: str, label: str, items: Iterable[str | NewItem]) -> int:
        """Add items that are not there yet, by key or as NewItem; returns how many were new."""
        return await self.store.add(source, label, items)

    async def mark_changed(self, source: str, label: str, hashes: Mapping[str, str]) -> int:
        """Send items whose content hash has changed back to be worked on; returns how many."""
        return await self.store.mark_changed(source, label, hashes)

    async def retry(self, ids: Sequence[int], *, to: str | None = None) -> int:
        """Retry failed items; returns how many."""
        return await self.store.retry(ids, to=to)

    async def reset(self, ids: Sequence[int]) -> int:
        """Put items back to the beginning of their lifecycle; returns how many."""
        return await self.store.reset(ids)

    async def remove(self, source: str, label: str, keys: Sequence[str]) -> int:
        """Remove items that vanished at the source, with all that belongs to them; returns how many."""
        return await self.store.remove(source, label, keys)

    async def count_by_state(self) -> list[Tally]:
        """The number of items of each source and label in each state."""
        return await self.store.count_by_state()

    async def items(
        self,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """A page of at most `limit` items; `after` is the `next` of the page before."""
        require_limit(limit)
        return await self.store.list(
            source=source, label=label, state=state, error_kind=error_kind, limit=limit, after=after
        )

    async def find(self, key: str, *, source: str | None = None, label: str | None = None) -> list[int]:
        """The numbers of the items that have this key, of all sources and labels or of those named.

        A key that no item has is an UnknownName, with a suggestion; the list is never empty.
        """
        return await self.store.listing.find(key, source=source, label=label)

    async def show(self, item: int) -> Story:
        """All that is known of one item, by its number; an UnknownName if there is none."""
        return await self.store.show(item)

    async def history(self, item: int) -> list[Entry]:
        """Every move of one item, oldest first, by its number; an UnknownName if there is none."""
        return (await self.store.show(item)).history
