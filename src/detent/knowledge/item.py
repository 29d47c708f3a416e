"""Items as a handler sees them: one that it was given, and one that it found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from detent.knowledge.embedding import Passage
from detent.knowledge.node import Node


class Item(NamedTuple):
    """An item under a lease. `state` is the working state; `token` is what every write on it must show.

    `alone`: a worker died while it held the item, so nothing is to run beside it. `node` and `passage` are there
    if the handler asks for them: the item's content so far, and its text as it is to be embedded.
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
    node: Node | None = None
    passage: Passage | None = None

    def __str__(self) -> str:
        return f"{self.source}/{self.label}/{self.key}"


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
