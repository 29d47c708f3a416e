"""Lists of items, a page at a time: always through an index, and never by counting past earlier pages."""

from __future__ import annotations

import difflib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from detent.errors import UnknownName
from detent.knowledge import Embedding
from detent.knowledge.value import Value, as_data
from detent.lifecycle import Trouble
from detent.store.database import Database
from detent.store.ledger.bounds import HELD_BACK
from detent.store.ledger.journal import Entry
from detent.store.ledger.kinds import Kind, Kinds, unknown
from detent.store.values import beginning_like, check_key, check_text


@dataclass(frozen=True)
class Listed(Value):
    """An item as lists show it."""

    id: int
    source: str
    label: str
    key: str
    state: str
    since: datetime
    attempt: int
    priority: int
    content_hash: str | None
    added_at: datetime
    not_before: datetime | None
    error_kind: str | None
    trouble: str | None
    error: str | None

    @property
    def held_back(self) -> bool:
        """True if it waits until there is room for it."""
        return self.not_before == HELD_BACK


@dataclass(frozen=True)
class Page(Value):
    """A page of items, and the cursor of the next page; None on the last page."""

    items: list[Listed]
    next: str | None


@dataclass(frozen=True)
class Text(Value):
    """The text of an item, or of one of its parts, with its title."""

    title: str
    text: str


_MADE = ("provider", "model", "content_hash", "hash")


@dataclass(frozen=True)
class Story(Value):
    """Everything known about one item.

    `alias_of` is the key that it is only another name of. `texts` are its own text and those of its parts, if
    requested.
    """

    item: Listed
    lifecycle: str
    changed: bool
    owner: str | None
    deadline: datetime | None
    token: int | None
    title: str | None
    properties: dict[str, Any] | None
    alias_of: str | None
    embedding: Embedding | None
    checkpoint: dict[str, Any] | None
    error_at: datetime | None
    history: list[Entry]
    texts: list[Text] | None = None

    @property
    def reached(self) -> dict[str, datetime]:
        """The last time the item entered each state, as far as the journal goes back."""
        return {entry.to_state: entry.at for entry in self.history}

    def as_data(self) -> dict[str, Any]:
        """Return the story for JSON, with its lease, and with the origin of its embedding but without the vector."""
        lease = {"owner": self.owner, "deadline": self.deadline, "token": self.token} if self.owner else None
        told = ("item", "lifecycle", "changed", "title", "properties", "alias_of", "error_at", "checkpoint", "reached")
        made = self.embedding
        return {
            **{name: as_data(getattr(self, name)) for name in (*told, "history", "texts")},
            "embedding": as_data(dict(zip(_MADE, made, strict=False))) if made else None,
            "lease": as_data(lease),
        }


_NEAR = 0.6
"""Least similarity of a suggested key that begins with another letter."""

_MARKS = [{"kind": int, "key": str, "id": int, "priority": int, "time": time} for time in (str, type(None))]


_Rows = Callable[[Kind, int, dict[str, Any]], Awaitable[list[Any]]]
"""Reads up to this many rows of a kind, after a cursor."""


class Listing:
    def __init__(self, database: Database, kinds: Kinds) -> None:
        self._database = database
        self._kinds = kinds

    async def page(
        self,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        text: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """Return a page of items. Without a state they are ordered by key, with one by the order of claiming.

        `text` occurs in the key or in the reason of a failure, ignoring case; items entered their state at `since`
        or later, and before `until`. With these filters items are ordered by key too, and all of them may have to
        be read.
        """
        kinds = await self._kinds.select(source, label)
        limit = max(limit, 1)
        if state is not None:
            require_state(state, kinds)
        mark = _read_mark(after)
        if text is not None or since is not None or until is not None:
            check_text("the text to look for", text)
            looked_for = {"state": state, "error_kind": error_kind, "text": text, "since": since, "until": until}
            return await self._matching(kinds, looked_for, limit, mark)
        if error_kind is not None:
            return await self._failures(kinds, error_kind, state, limit, mark)
        return await _each(kinds, limit, mark, lambda kind, most, place: self._rows(kind, state, most, place))

    async def _matching(
        self, kinds: Sequence[Kind], looked_for: Mapping[str, Any], limit: int, mark: dict[str, Any]
    ) -> Page:
        async def rows(kind: Kind, most: int, place: dict[str, Any]) -> list[Any]:
            named = {"kind": kind.id, "after_key": place.get("key", ""), "limit": most}
            return await self._database.fetch("list_matching", {**looked_for, **named})

        page = await _each(kinds, limit, mark, rows)
        if not page.items and looked_for["error_kind"] is not None:
            require_error_kind(looked_for["error_kind"], kinds)
        return page

    async def by_id(self, ids: Sequence[int]) -> list[Listed]:
        """Return the items with these numbers, in the order of the numbers."""
        rows = await self._database.fetch("list_by_id", {"ids": list(ids)})
        return [listed(row, await self._kinds.by_id(row.kind_id)) for row in rows]

    async def _rows(self, kind: Kind, state: str | None, limit: int, mark: dict[str, Any]) -> list[Any]:
        if state is None:
            parameters = {"kind": kind.id, "after_key": mark.get("key", ""), "limit": limit}
            return await self._database.fetch("list_by_key", parameters)
        if state in kind.lifecycle.working:
            parameters = {"kind": kind.id, "state": state, "after_id": mark.get("id", -1), "limit": limit}
            return await self._database.fetch("list_by_lease", parameters)
        if state not in kind.lifecycle.states:
            return []
        parameters = {
            "kind": kind.id,
            "state": state,
            "after_time": mark.get("time"),
            "after_priority": mark.get("priority", -(2**31)),
            "after_id": mark.get("id", -1),
            "limit": limit,
        }
        return await self._database.fetch("list_by_place", parameters)

    async def _failures(
        self, kinds: Sequence[Kind], error_kind: str, state: str | None, limit: int, mark: dict[str, Any]
    ) -> Page:
        by_id = {kind.id: kind for kind in kinds}
        parameters = {
            "kinds": list(by_id),
            "error_kind": error_kind,
            "state": state,
            "after_id": mark.get("id", -1),
            "limit": limit + 1,
        }
        rows = await self._database.fetch("list_by_failure", parameters)
        if not rows:
            require_error_kind(error_kind, kinds)
        return _page([(by_id[row.kind_id], row) for row in rows], limit)

    async def find(self, key: str, *, source: str | None = None, label: str | None = None) -> list[int]:
        """Return the ids of the items with this key; an unknown key is an error with a suggestion."""
        check_key("a key", key)
        kinds = [kind.id for kind in await self._kinds.select(source, label)]
        rows = await self._database.fetch("find_key", {"key": key, "kinds": kinds})
        if not rows:
            raise await self._unknown_key(key)
        return [row.id for row in rows]

    async def story(self, item: int) -> Story:
        rows = await self._database.fetch("detail", {"id": item})
        if not rows:
            raise UnknownName(f"There is no item number {item}.")
        row = rows[0]
        kind = await self._kinds.by_id(row.kind_id)
        history = [Entry(*entry) for entry in await self._database.fetch("history", {"id": item})]
        return Story(
            item=listed(row, kind),
            lifecycle=kind.lifecycle.name,
            changed=row.changed,
            owner=row.owner,
            deadline=row.deadline,
            token=row.token,
            title=row.title,
            properties=row.properties,
            alias_of=row.alias_of,
            embedding=_embedding(row),
            checkpoint=row.checkpoint,
            error_at=row.error_at,
            history=history,
        )

    async def _unknown_key(self, key: str) -> UnknownName:
        hint = f" Did you mean {nearest!r}?" if (nearest := await self._nearest(key)) is not None else ""
        return UnknownName(f"There is no item with the key {key!r}.{hint}")

    async def _nearest(self, key: str) -> str | None:
        """Return a similar key: one that differs only in case, or has the same beginning."""
        other = key[0].swapcase() + key[1:]
        spellings = [other, key.lower(), key.upper(), key.capitalize(), key.title()]
        if found := await self._database.fetch("any_key", {"keys": [each for each in spellings if each != key]}):
            return str(found[0].key)
        alike = {row.key for row in await self._database.fetch("similar_keys", beginning_like(key))}
        near = {row.key for row in await self._database.fetch("similar_keys", beginning_like(other))}
        alike |= {each for each in near if _likeness(key, each) >= _NEAR}
        return max(sorted(alike), key=lambda each: _likeness(key, each), default=None)


def _likeness(key: str, other: str) -> float:
    return difflib.SequenceMatcher(None, key.lower(), other.lower()).ratio()


def _embedding(row: Any) -> Embedding | None:
    found = Embedding(row.provider, row.model, row.embedded_as, row.embedded_hash)
    return None if found == Embedding() else found


async def _each(kinds: Sequence[Kind], limit: int, mark: dict[str, Any], rows: _Rows) -> Page:
    """Return a page of the items of several kinds, one kind after another."""
    found: list[tuple[Kind, Any]] = []
    for kind in sorted(kinds, key=lambda kind: kind.id):
        if kind.id < mark.get("kind", 0):
            continue
        place = mark if kind.id == mark.get("kind") else {}
        found += [(kind, row) for row in await rows(kind, limit + 1 - len(found), place)]
        if len(found) > limit:
            break
    return _page(found, limit)


def _page(found: Sequence[tuple[Kind, Any]], limit: int) -> Page:
    """Return a page of the items found; one item beyond the limit means that there is another page."""
    items = [listed(row, kind) for kind, row in found[:limit]]
    return Page(items, _write_mark(found[limit - 1][0], items[-1]) if len(found) > limit else None)


def listed(row: Any, kind: Kind) -> Listed:
    return Listed(
        id=row.id,
        source=kind.source,
        label=kind.label,
        key=row.key,
        state=row.state,
        since=row.since,
        attempt=row.attempt,
        priority=row.priority,
        content_hash=row.content_hash,
        added_at=row.added_at,
        not_before=row.not_before,
        error_kind=row.error_kind,
        trouble=row.trouble,
        error=row.error,
    )


def require_state(state: str, kinds: Sequence[Kind]) -> None:
    """Raise UnknownName for a state that none of these kinds has."""
    known = {name for kind in kinds for name in kind.lifecycle.states}
    if known and state not in known:
        raise unknown("state", state, known)


def require_error_kind(error_kind: str, kinds: Sequence[Kind]) -> None:
    """Raise UnknownName for a kind of error that no item of these kinds can ever have."""
    named = {name for kind in kinds for name in kind.lifecycle.failure_kinds.values()}
    known = named | {trouble.value for trouble in Trouble}
    if error_kind not in known:
        raise unknown("kind of error", error_kind, known)


def _write_mark(kind: Kind, item: Listed) -> str:
    time = item.not_before.isoformat() if item.not_before else None
    return json.dumps({"kind": kind.id, "key": item.key, "id": item.id, "priority": item.priority, "time": time})


def _read_mark(after: str | None) -> dict[str, Any]:
    if after is None:
        return {}
    try:
        mark = json.loads(after)
    except ValueError:
        mark = None
    if not isinstance(mark, dict) or {name: type(value) for name, value in mark.items()} not in _MARKS:
        raise UnknownName(f"{after!r} is not a page cursor; use the `next` of the page before.")
    return mark
