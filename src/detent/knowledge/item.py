"""Items as a handler sees them: the item it is given, and the items it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from detent.knowledge.embedding import Passage
from detent.knowledge.node import Node, Reference


class Item(NamedTuple):
    """An item under a lease.

    `state` is the working state; `token` fences every write on the item. `alone`: a worker died while it held the
    item, so nothing may run beside it. `put_off`: this item, or another from the same claim, was waiting for a
    later time, so a failure may be on record. `node`, `links` and `passage` are set if the handler asks for them:
    the item's content so far, its links, and its text as it is embedded. `steps` counts the steps committed under
    this lease.
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
    """The limits within which links are followed.

    The priority of an item is its depth: the depth of the item that found it, plus one. `depth`: items found at a
    greater depth are not added. When `depth` is raised, the items that found deeper ones are processed again; so
    is an item that is found at a smaller depth than before. `most`: at most this many items come to rest in
    `state`; the others wait, nearest first, to replace those that fail to. `breadth`: of the items that one item
    finds deeper than itself, only this many count; when `breadth` is raised, every item that found any is
    processed again.
    """

    depth: int | None = None
    most: int | None = None
    state: str | None = None
    breadth: int | None = None


NO_BOUNDS = Bounds()


class NewItem(NamedTuple):
    """An item to add, unless it exists.

    Items are claimed by `priority`, lowest first (a wiki's depth). Default source: that of the item that found it.
    Default state: the lifecycle's initial state.
    """

    key: str
    label: str
    priority: int = 0
    source: str | None = None
    state: str | None = None
    content_hash: str | None = None
