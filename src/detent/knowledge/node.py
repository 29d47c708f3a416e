"""The graph's values: the content of an item, its links to others, and the nodes that come with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_SORTED = json.JSONEncoder(sort_keys=True, check_circular=False)


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


@dataclass(frozen=True)
class Child:
    """A node that belongs to the item it comes with: a section of an article, a function of a file.

    `edge` is the type of the edge from the item to it; None for none. A child whose content is as it was keeps its
    state and its embedding; content is compared by the node's content hash or, without one, by all it carries.
    """

    label: str
    key: str
    node: Node
    references: Sequence[Reference] = ()
    edge: str | None = "CONTAINS"

    @cached_property
    def fingerprint(self) -> str:
        """What is the same only if the content is."""
        if self.node.content_hash is not None:
            return self.node.content_hash
        links = [(each.type, each.source, each.label, each.key, dict(each.properties)) for each in self.references]
        rest = _SORTED.encode((self.node.title, dict(self.node.properties), links))
        content = f"{rest}\n{self.node.text}"  # the rest is one line
        return hashlib.sha256(content.encode("utf-8", errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Mention:
    """A node that many items may name and none owns: a category, a library, an address. It is made by the first
    that mentions it, and goes when nothing refers to it any more."""

    label: str
    key: str
    node: Node
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """That one key stands for another of the same label: a name that a module took over from another one. It is the
    word of the item whose outcome says it, and neither key has to be the item's own. What has a node stands for
    itself, whatever is said."""

    label: str
    key: str
    of: str
