"""A node's neighbours, a page at a time: the targets of its edges, and the nodes whose edges lead to it.

There are four lists in a row: its references, its children, the references to it, and its parent. Each has an
index in its own order, so a page begins where the previous one ended, however many edges lie before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from detent.errors import UnknownName
from detent.knowledge.value import Value
from detent.store.database import Connection, fetch
from detent.store.graph.nodes import Direction, EdgeFilters, NamedNode, named
from detent.store.ledger.kinds import Kinds

_LISTS: tuple[tuple[str, Literal["out", "in"]], ...] = (
    ("references_out", "out"),
    ("children_out", "out"),
    ("references_in", "in"),
    ("parent_in", "in"),
)
_MARK = {"list": int, "name": str, "other": int, "position": int}
_BEGINNING = {"name": "", "other": -1, "position": -(2**31)}


@dataclass(frozen=True)
class Neighbour(Value):
    """The other end of one edge; `direction` is `out` if the edge leads to it, `in` if the edge comes from it."""

    direction: Literal["out", "in"]
    type: str
    node: NamedNode
    properties: Mapping[str, Any]


@dataclass(frozen=True)
class Neighbours(Value):
    """A page of neighbours, and the cursor of the next page; None on the last page."""

    neighbours: list[Neighbour]
    next: str | None


async def neighbours(
    connection: Connection,
    kinds: Kinds,
    node: int,
    *,
    direction: Direction,
    filters: EdgeFilters,
    limit: int,
    after: str | None,
) -> Neighbours:
    mark = _read_mark(after)
    found: list[tuple[int, Any]] = []
    for number, (statement, way) in enumerate(_LISTS):
        if number < mark["list"] or direction not in ("both", way) or len(found) > limit:
            continue
        begin = mark if number == mark["list"] else _BEGINNING
        asked = {"id": node, "limit": limit + 1 - len(found), **filters.parameters()}
        asked.update({name: begin[name] for name in _BEGINNING})
        if number == mark["list"] and after is not None and statement == "parent_in":
            continue  # there is at most one parent, and the previous page ended with it
        found += [(number, row) for row in await fetch(connection, statement, asked)]
    page = [
        Neighbour(_LISTS[number][1], row.type, await named(kinds, row), row.properties) for number, row in found[:limit]
    ]
    return Neighbours(page, _write_mark(*found[limit - 1]) if len(found) > limit else None)


def _write_mark(number: int, row: Any) -> str:
    return json.dumps({"list": number, "name": row.name, "other": row.id, "position": row.position})


def _read_mark(after: str | None) -> dict[str, Any]:
    if after is None:
        return {"list": 0, **_BEGINNING}
    try:
        mark = json.loads(after)
    except ValueError:
        mark = None
    if not isinstance(mark, dict) or {name: type(value) for name, value in mark.items()} != _MARK:
        raise UnknownName(f"{after!r} is not a page cursor; use the `next` of the page before.")
    return mark
