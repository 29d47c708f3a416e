"""The verbs of items: add, list, show, retry, reset, skip, pause, resume and remove them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from detent.application.naming import item_named
from detent.application.selecting import (
    Movable,
    Selection,
    anywhere,
    can_be_paused,
    can_be_resumed,
    can_be_skipped,
    has_failed,
    moment,
    split,
)
from detent.application.verbs import Verbs, require_limit
from detent.errors import DetentError, NothingChosen
from detent.knowledge.value import Value
from detent.store.ledger.listing import Listed, Text

if TYPE_CHECKING:
    from datetime import datetime

    from detent.knowledge import NewItem
    from detent.store import Entry, Page, Story, Tally

Move = Callable[[Sequence[int]], Awaitable[int]]


@dataclass(frozen=True)
class Moved(Value):
    """The number of items that were moved by hand or, after a dry run, would be. `refused` holds the items given
    by id that could not be moved."""

    count: int
    refused: Sequence[Listed] = ()
    dry_run: bool = False


class ItemVerbs(Verbs):
    """Add, list, show, retry, reset, skip, pause, resume and remove items."""

    async def add(self, source: str, label: str, items: Iterable[str | NewItem]) -> int:
        """Add items that are not there yet, by key or as NewItem; returns how many were new."""
        return await self.store.add(source, label, items)

    async def mark_changed(self, source: str, label: str, hashes: Mapping[str, str]) -> int:
        """Send items whose content hash has changed back to be worked on; returns how many."""
        return await self.store.mark_changed(source, label, hashes)

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
        text: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """A page of at most `limit` items; `after` is the `next` of the page before.

        `text` is in the key or in the reason of a failure. `since` and `until` are about when items came to their
        state. Names that do not exist are an UnknownName.
        """
        require_limit(limit)
        chosen = Selection(source, label, state, error_kind, text, moment(since), moment(until, ends=True))
        return await chosen.page(self.store, limit, after)

    async def find(self, key: str, *, source: str | None = None, label: str | None = None) -> list[int]:
        """The numbers of the items that have this key, of all sources and labels or of those named.

        A key that no item has is an UnknownName, with a suggestion; the list is never empty.
        """
        return await self.store.listing.find(key, source=source, label=label)

    async def find_one(self, key: str, *, source: str | None = None, label: str | None = None) -> int:
        """The number of the one item that has this key; Ambiguous if several have it."""
        return await item_named(self.store, key, source, label)

    async def show(
        self, item: int | str, *, source: str | None = None, label: str | None = None, texts: bool = False
    ) -> Story:
        """All that is known of one item, by its number or key, and with `texts` what it and its parts say.

        An UnknownName if there is none, Ambiguous if several have the key.
        """
        number = item if isinstance(item, int) else await item_named(self.store, item, source, label)
        story = await self.store.show(number)
        if not texts:
            return story
        return replace(story, texts=[Text(title, text) for title, text in await self.store.reading.texts(number)])

    async def history(self, item: int) -> list[Entry]:
        """Every move of one item, oldest first, by its number; an UnknownName if there is none."""
        return (await self.store.show(item)).history

    async def retry(
        self,
        ids: Sequence[int] | None = None,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        text: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        everything: bool = False,
        to: str | None = None,
        dry_run: bool = False,
    ) -> Moved:
        """Retry failed items: those of these numbers, those that a filter chooses as for `items`, or `everything`.

        The attempts made so far still count. `to` is the state to go back to, where the lifecycle allows several. A dry
        run tells how many items it would be.
        """
        chosen = Selection(source, label, state, error_kind, text, moment(since), moment(until, ends=True))
        moving = _Moving(self, has_failed, lambda numbers: self.store.retry(numbers, to=to), dry_run)
        return await moving.move(ids, chosen, everything)

    async def reset(
        self,
        ids: Sequence[int] | None = None,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        text: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> Moved:
        """Put items back to the beginning of their lifecycle, whatever their state: chosen as for `retry`.

        Their attempts are forgotten. A worker that holds such an item loses it.
        """
        chosen = Selection(source, label, state, error_kind, text, moment(since), moment(until, ends=True))
        return await _Moving(self, anywhere, self.store.reset, dry_run).move(ids, chosen, everything)

    async def skip(
        self,
        ids: Sequence[int] | None = None,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        text: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> Moved:
        """Skip items that wait or failed, where their lifecycle has a way to: chosen as for `retry`."""
        chosen = Selection(source, label, state, error_kind, text, moment(since), moment(until, ends=True))
        return await _Moving(self, can_be_skipped, self.store.skip, dry_run).move(ids, chosen, everything)

    async def pause_items(
        self,
        ids: Sequence[int] | None = None,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        text: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> Moved:
        """Pause items, such as crawls, where their lifecycle has a way to: chosen as for `retry`.

        They keep their checkpoints. A worker that holds such an item loses it.
        """
        chosen = Selection(source, label, state, error_kind, text, moment(since), moment(until, ends=True))
        return await _Moving(self, can_be_paused, self.store.pause_items, dry_run).move(ids, chosen, everything)

    async def resume_items(
        self,
        ids: Sequence[int] | None = None,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        text: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> Moved:
        """Resume paused items from their checkpoints: chosen as for `retry`."""
        chosen = Selection(source, label, state, error_kind, text, moment(since), moment(until, ends=True))
        return await _Moving(self, can_be_resumed, self.store.resume_items, dry_run).move(ids, chosen, everything)


class _Moving:
    """Moves items by hand, or counts those that could be moved."""

    def __init__(self, verbs: Verbs, movable: Movable, move: Move, dry_run: bool) -> None:
        self._store = verbs.store
        self._movable = movable
        self._move = move
        self._dry_run = dry_run

    async def move(self, ids: Sequence[int] | None, chosen: Selection, everything: bool) -> Moved:
        _require_choice(ids, chosen, everything)
        moved = await (self._move_chosen(chosen) if ids is None else self._move_named(ids))
        if moved.count and not self._dry_run:
            await self._store.notices.hint()
        return moved

    async def _move_named(self, ids: Sequence[int]) -> Moved:
        movable, refused = await split(self._store, ids, self._movable)
        return Moved(len(movable) if self._dry_run else await self._move(movable), refused, self._dry_run)

    async def _move_chosen(self, chosen: Selection) -> Moved:
        if self._dry_run:
            return Moved(await chosen.count(self._store, self._movable), dry_run=True)
        return Moved(sum([await self._move(ids) async for ids in chosen.ids(self._store, self._movable)]))


def _require_choice(ids: Sequence[int] | None, chosen: Selection, everything: bool) -> None:
    """Items are named, chosen by a filter, or all; never all by forgetting to say which."""
    if ids is not None and (everything or chosen.narrows):
        raise DetentError("Name items by their numbers or choose them by a filter, not both.")
    if ids is None and not everything and not chosen.narrows:
        raise NothingChosen
