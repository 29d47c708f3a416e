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
    """A link to an item by its key. It becomes an edge the moment that item's node exists."""

    type: str
    label: str
    key: str
    source: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Child:
    """A node that belongs to the item it comes with: a section of an article, a function of a file.

    `edge` is the type of the edge from the item to the child; None for no edge. A child with unchanged content
    keeps its state and its embedding. Content is compared by the node's content hash or, without one, by all its
    fields.
    """

    label: str
    key: str
    node: Node
    references: Sequence[Reference] = ()
    edge: str | None = "CONTAINS"

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash that is the same only for the same content."""
        if self.node.content_hash is not None:
            return self.node.content_hash
        links = [(each.type, each.source, each.label, each.key, dict(each.properties)) for each in self.references]
        rest = _SORTED.encode((self.node.title, dict(self.node.properties), links))
        content = f"{rest}\n{self.node.text}"  # the rest is one line
        return hashlib.sha256(content.encode("utf-8", errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Mention:
    """A node that many items may name and none owns: a category, a library, an address.

    The first item that mentions it creates it. It is removed when nothing refers to it any more.
    """

    label: str
    key: str
    node: Node
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """A key that stands for another key of the same label: a name that one module imports from another.

    The alias belongs to the item whose outcome declares it, and neither key has to be the item's own. A key that
    has a node always stands for itself, whatever aliases exist.
    """

    label: str
    key: str
    of: str
