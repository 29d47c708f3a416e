"""Items as a handler sees them: one that it was given, and one that it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from detent.knowledge.embedding import Passage
from detent.knowledge.node import Node, Reference


class Item(NamedTuple):
    """An item under a lease. `state` is the working state; `token` is what every write on it must show.

    `alone`: a worker died while it held the item, so nothing is to run beside it. `put_off`: it, or another that was
    claimed with it, was to be tried again later, so that there may be a failure on record. `node`, `links` and
    `passage` are there if the handler asks for them: the item's content so far, what it refers to, and its text as it
    is to be embedded. `steps` counts those that were committed under this lease.
    """

    id: int
    source: str
    label: str
    key: str
    lifecycle: str
    state: str
    token: int
    attempt: int
    priority: int = 0
    content_hash: str | None = None
    checkpoint: Mapping[str, Any] | None = None
    alone: bool = False
    put_off: bool = False
    node: Node | None = None
    passage: Passage | None = None
    links: Sequence[Reference] | None = None
    steps: int = 0

    def __str__(self) -> str:
        return f"{self.source}/{self.label}/{self.key}"


class Bounds(NamedTuple):
    """How far what is found is followed. The priority of an item is its depth: that of what found it, and one more.

    `depth`: what is found deeper is not added. When the depth becomes greater, what found it goes round again; and so
    does an item that is found nearer than it was known to be. `most`: so many items at most come to rest in `state`;
    the others wait, the nearest first, for those that do not get there. `breadth`: of what one item finds deeper than
    itself, only the first so many count; when it becomes greater, all go round again that found something.
    """

    depth: int | None = None
    most: int | None = None
    state: str | None = None
    breadth: int | None = None


NO_BOUNDS = Bounds()


class NewItem(NamedTuple):
    """An item to be added, unless it is there already.

    `priority` is claimed lowest first (a wiki's depth). With `source` left out it is the source of the item
    it was found in; with `state` left out it is the lifecycle's initial one.
    """

    key: str
    label: str
    priority: int = 0
    source: str | None = None
    state: str | None = None
    content_hash: str | None = None
