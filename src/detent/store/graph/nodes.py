"""Nodes and edges as they are read, and the filters of reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from detent.knowledge.value import Value
from detent.store.ledger.kinds import Kind, Kinds, unknown

Direction = Literal["out", "in", "both"]
"""Along the edges, against them, or both."""


@dataclass(frozen=True)
class NamedNode(Value):
    """A node as a list of nodes shows it. `id` is its item's number."""

    id: int
    source: str
    label: str
    key: str
    title: str

    def __str__(self) -> str:
        return f"{self.source}/{self.label}/{self.key}"


@dataclass(frozen=True)
class Edge(Value):
    """An edge between two nodes, given by their items' numbers."""

    from_id: int
    type: str
    to_id: int
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Content(Value):
    """The full content of a node. `parent_id` is the item it came with, and `edge` the type of the edge from there."""

    node: NamedNode
    state: str
    text: str
    properties: Mapping[str, Any]
    content_hash: str | None
    parent_id: int | None
    edge: str | None
    shared: bool
    written_at: datetime
    aliases: Sequence[str]


@dataclass(frozen=True)
class EdgeFilters:
    """The edges and nodes that count; None means all. Nodes are filtered by their kinds."""

    types: list[str] | None = None
    kinds: list[int] | None = None

    def parameters(self) -> dict[str, Any]:
        return {"types": self.types, "kinds": self.kinds}


async def filters(
    kinds: Kinds, types: Iterable[str] | None, labels: Iterable[str] | None, sources: Iterable[str] | None
) -> EdgeFilters:
    """Return the filters for these names; an unknown source or label is an error."""
    wanted = None if types is None else list(types)
    if labels is None and sources is None:
        return EdgeFilters(wanted)
    known = await kinds.select()
    chosen = _chosen(known, "label", labels) & _chosen(known, "source", sources)
    return EdgeFilters(wanted, sorted(chosen))


def _chosen(known: Sequence[Kind], attribute: str, names: Iterable[str] | None) -> set[int]:
    if names is None:
        return {kind.id for kind in known}
    chosen: set[int] = set()
    for name in names:
        found = {kind.id for kind in known if getattr(kind, attribute) == name}
        if not found:
            raise unknown(attribute, name, [getattr(kind, attribute) for kind in known])
        chosen |= found
    return chosen


async def named(kinds: Kinds, row: Any) -> NamedNode:
    """Return the named node of a row with number, kind, key and title."""
    kind = await kinds.by_id(row.kind_id)
    return NamedNode(row.id, kind.source, kind.label, row.key, row.title)
