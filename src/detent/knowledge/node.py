"""The graph's values: the content of an item, and its links to others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """An item's content."""

    title: str
    text: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    content_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A link to an item by its key. It is an edge from the moment that item's node exists."""

    type: str
    label: str
    key: str
    source: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
