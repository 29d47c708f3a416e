"""Walks over the graph, level by level: the shortest path between two nodes, and the surroundings of one.

A level is read through a cursor and only as far as it is needed, so a node with a hundred thousand edges costs no
more than the walk's limit. All levels of a walk see the graph at one moment.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from detent.knowledge.value import Value
from detent.store.database import Connection, fetch
from detent.store.graph.nodes import Direction, Edge, EdgeFilters, NamedNode
from detent.store.statements import SQL

MOST_VISITED = 100_000
"""Number of nodes that a path search adds to one level before it gives up."""

MOST_READ = 500_000
"""Number of edges that a walk follows before it gives up; many of them may lead to the same nodes."""

MOST_EDGES = 100_000
"""Largest number of edges in a subgraph."""

_BATCH = 500
_FEW = 1_000
_WAYS: dict[Direction, tuple[str, ...]] = {"out": ("step_out",), "in": ("step_in",), "both": ("step_out", "step_in")}
_AGAINST: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}


@dataclass(frozen=True)
class GraphPath(Value):
    """The nodes of a shortest path, from its beginning to its end, and the edge of each step between them.

    Without nodes there is no path: if `complete`, none within the length limit; otherwise none was found before
    the search reached its limits.
    """

    nodes: list[NamedNode]
    edges: list[Edge]
    complete: bool


@dataclass(frozen=True)
class Subgraph(Value):
    """Nodes, nearest first, and the edges among them. `complete`: no limit cut anything off."""

    nodes: list[NamedNode]
    edges: list[Edge]
    complete: bool


class Allowance:
    """The number of edges that a walk may still read."""

    def __init__(self, most: int = MOST_READ) -> None:
        self.left = most


async def level(
    connection: Connection,
    ids: Iterable[int],
    *,
    direction: Direction,
    filters: EdgeFilters,
    allowance: Allowance,
    goal: int | None = None,
) -> AsyncGenerator[tuple[int, int], None]:
    """Yield the neighbours of these nodes, each after the node it is next to, until the caller stops."""
    asked = {"ids": list(ids), "goal": goal, **filters.parameters()}
    for statement in _WAYS[direction]:
        async with connection.cursor(name=statement) as cursor:
            await cursor.execute(SQL[statement], asked)
            while allowance.left > 0 and (rows := await cursor.fetchmany(min(_BATCH, allowance.left))):
                allowance.left -= len(rows)
                for row in rows:
                    yield row.at_id, row.id


async def edges_among(
    connection: Connection, ids: list[int], filters: EdgeFilters, limit: int = MOST_EDGES
) -> tuple[list[Edge], bool]:
    """Return the edges among nodes, in the order of the nodes and of their edges, and True if these are all."""
    rows = await fetch(connection, "edges_among", {"ids": ids, "types": filters.types, "limit": limit + 1})
    order = {number: place for place, number in enumerate(ids)}
    ordered = sorted(rows[:limit], key=lambda row: (order[row.from_id], row.position, order[row.to_id]))
    return [Edge(row.from_id, row.type, row.to_id, row.properties) for row in ordered], len(rows) <= limit


async def edges_along(connection: Connection, ids: list[int], direction: Direction, filters: EdgeFilters) -> list[Edge]:
    """Return for each step of a path the first edge that makes it, preferably one that leads onward."""
    onward = list(pairwise(ids))
    backward = [(there, here) for here, there in onward]
    asked = {"out": onward, "in": backward, "both": onward + backward}[direction]
    parameters = {"froms": [pair[0] for pair in asked], "tos": [pair[1] for pair in asked], "types": filters.types}
    rows = await fetch(connection, "first_edges", parameters)
    found = {(row.from_id, row.to_id): Edge(row.from_id, row.type, row.to_id, row.properties) for row in rows}
    first = backward if direction == "in" else onward
    return [found.get(pair) or found[pair[::-1]] for pair in first]


@dataclass
class _Side:
    """The progress of a search from one end: how each node was reached, and the outermost nodes."""

    start: int
    direction: Direction
    reached: dict[int, int] = field(default_factory=dict)
    outermost: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reached[self.start] = self.start
        self.outermost = [self.start]

    def way(self, node: int) -> list[int]:
        """Return the nodes from this end to one that it reached."""
        way = [node]
        while way[-1] != self.start:
            way.append(self.reached[way[-1]])
        return way[::-1]

    def go_on(self, level: dict[int, int]) -> None:
        self.reached |= level
        self.outermost = list(level)


class _TooMany(Exception):
    """A level has more nodes than allowed."""


class PathSearch:
    """Searches for a shortest path from both ends at once.

    It continues from the end with fewer outermost nodes, unless these lead to too many: then it tries the other
    end, and raises the limit only if both lead to too many. No node is known to both ends before the level in
    which they meet, so the first common node lies on a shortest path.
    """

    def __init__(
        self, start: int, goal: int, direction: Direction, filters: EdgeFilters, most: int = MOST_VISITED
    ) -> None:
        self._sides = (_Side(start, direction), _Side(goal, _AGAINST[direction]))
        self._filters = filters
        self._most = most
        self._allowed = min(_FEW, most)
        self._allowance = Allowance()
        self.complete = True

    async def run(self, connection: Connection, max_length: int) -> list[int]:
        """Return the nodes of a shortest path; none if there is no path within this length."""
        start, goal = self._sides
        if start.start == goal.start:
            return [start.start]
        for _ in range(max_length):
            try:
                met = await self._level(connection)
            except _TooMany:
                self.complete = False
                return []
            if met is not None:
                return start.way(met) + goal.way(met)[-2::-1]
            if not start.outermost or not goal.outermost:
                return []
        return []

    async def _level(self, connection: Connection) -> int | None:
        """Go one level on from one of the ends; return the node where it meets the other."""
        while True:
            near, far = sorted(self._sides, key=lambda side: len(side.outermost))
            for side, other in ((near, far), (far, near)):
                with contextlib.suppress(_TooMany):
                    return await self._meet(connection, side, other)
            if self._allowed >= self._most or self._allowance.left <= 0:
                raise _TooMany
            self._allowed = min(self._allowed * 10, self._most)

    async def _meet(self, connection: Connection, side: _Side, other: _Side) -> int | None:
        found: dict[int, int] = {}
        steps = level(
            connection,
            side.outermost,
            direction=side.direction,
            filters=self._filters,
            allowance=self._allowance,
            goal=other.start,
        )
        async with contextlib.aclosing(steps):
            async for at, node in steps:
                if node in side.reached or node in found:
                    continue
                found[node] = at
                if node in other.reached:
                    side.go_on(found)
                    return node
                if len(found) >= self._allowed:
                    raise _TooMany
        if self._allowance.left <= 0:
            raise _TooMany
        side.go_on(found)
        return None


async def surroundings(
    connection: Connection, start: int, *, depth: int, limit: int, direction: Direction, filters: EdgeFilters
) -> tuple[list[int], bool]:
    """Return the nodes within `depth` edges of one, nearest first, at most `limit`; and True if these are all."""
    found = {start: None}
    allowance = Allowance()
    outermost = [start]
    for _ in range(depth):
        following: list[int] = []
        steps = level(connection, outermost, direction=direction, filters=filters, allowance=allowance)
        async with contextlib.aclosing(steps):
            async for _, node in steps:
                if node in found:
                    continue
                if len(found) >= limit:
                    return list(found), False
                found[node] = None
                following.append(node)
        if allowance.left <= 0:
            return list(found), False
        if not following:
            break
        outermost = following
    return list(found), True
