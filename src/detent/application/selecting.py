"""The items that a filter selects: a page at a time, or only their number."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from detent.errors import DetentError
from detent.lifecycle import Event, Lifecycle
from detent.store import Kind, Listed, Page, Store
from detent.store.ledger.items import way_to_skip
from detent.store.ledger.listing import require_state

Movable = Callable[[Lifecycle, str], bool]
"""Tells whether items of a lifecycle can be moved from a state."""

_PAGE = 5_000


@dataclass(frozen=True)
class Selection:
    """A filter of items. A name that does not exist is a mistake, never an empty result."""

    source: str | None = None
    label: str | None = None
    state: str | None = None
    error_kind: str | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def narrows(self) -> bool:
        """Tells whether anything is left out."""
        return self != Selection()

    async def page(self, store: Store, limit: int, after: str | None) -> Page:
        """A page of the items, of all their kinds."""
        return await store.list(
            source=self.source,
            label=self.label,
            state=self.state,
            error_kind=self.error_kind,
            text=self.text,
            since=self.since,
            until=self.until,
            limit=limit,
            after=after,
        )

    async def ids(self, store: Store, movable: Movable) -> AsyncIterator[list[int]]:
        """The numbers of the items that can be moved, a page at a time, while they are being moved."""
        kinds = {(kind.source, kind.label): kind for kind in await self._kinds(store)}
        parts = [self] if self.error_kind is not None else self._parts(kinds.values(), movable)
        for part in parts:
            mark, more = None, True
            while more:
                page = await part.page(store, _PAGE, mark)
                found = [(item, kinds.get((item.source, item.label))) for item in page.items]
                yield [item.id for item, kind in found if kind is not None and movable(kind.lifecycle, item.state)]
                mark, more = page.next, page.next is not None

    async def count(self, store: Store, movable: Movable) -> int:
        """The number of items that can be moved: from the counts that are kept, where those tell."""
        if (self.error_kind, self.text, self.since, self.until) != (None, None, None, None):
            return sum([len(ids) async for ids in self.ids(store, movable)])
        kinds = {(kind.source, kind.label): kind for kind in await self._kinds(store)}
        return sum(
            line.count
            for line in await store.count_by_state()
            if (kind := kinds.get((line.source, line.label))) and line.state in self._states_of(kind, movable)
        )

    async def _kinds(self, store: Store) -> list[Kind]:
        kinds = await store.kinds.select(self.source, self.label)
        if kinds and self.state is not None:
            require_state(self.state, kinds)
        return kinds

    def _parts(self, kinds: Iterable[Kind], movable: Movable) -> Iterator[Selection]:
        """The same for each kind and each state in which items can be moved; where that is all, for all at once."""
        for kind in kinds:
            states = self._states_of(kind, movable)
            everywhere = len(states) == len(kind.lifecycle.states)
            for state in [None] if everywhere else states:
                yield replace(self, source=kind.source, label=kind.label, state=state)

    def _states_of(self, kind: Kind, movable: Movable) -> Sequence[str]:
        states = kind.lifecycle.states
        return [state for state in states if self.state in (None, state) and movable(kind.lifecycle, state)]


def has_failed(lifecycle: Lifecycle, state: str) -> bool:
    """Items that failed can be retried."""
    return state in lifecycle.failures


def can_be_skipped(lifecycle: Lifecycle, state: str) -> bool:
    """Items that wait or failed can be skipped, where their lifecycle has a way to."""
    return bool(way_to_skip(lifecycle, state))


def can_be_paused(lifecycle: Lifecycle, state: str) -> bool:
    """Items can be paused where their lifecycle has a row for it."""
    return lifecycle.target(state, Event.PAUSE) is not None


def can_be_resumed(lifecycle: Lifecycle, state: str) -> bool:
    """Items that are paused can be resumed."""
    return lifecycle.target(state, Event.RESUME) is not None


def anywhere(lifecycle: Lifecycle, state: str) -> bool:
    """Items can be put back to the beginning from every state."""
    return True


async def split(store: Store, ids: Sequence[int], movable: Movable) -> tuple[list[int], list[Listed]]:
    """The numbers of the items that can be moved, and the items that cannot."""
    found = await store.listing.by_id(ids)
    kinds = {(kind.source, kind.label): kind.lifecycle for kind in await store.kinds.select()}
    fit = {item.id for item in found if movable(kinds[item.source, item.label], item.state)}
    return [item.id for item in found if item.id in fit], [item for item in found if item.id not in fit]


def moment(given: datetime | str | None, *, ends: bool = False) -> datetime | None:
    """A time, given as one or as a text such as 2025-06-30 or 2025-06-30T14:30, in UTC where no zone is named.

    A day that `ends` something belongs to it.
    """
    if not isinstance(given, str):
        return given if given is None or given.tzinfo else given.replace(tzinfo=UTC)
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        raise DetentError(f"{given!r} is no day or time, such as 2025-06-30 or 2025-06-30T14:30.") from None
    if ends and len(given) <= len("2025-06-30"):
        at += timedelta(days=1)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
