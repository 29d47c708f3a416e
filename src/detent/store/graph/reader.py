"""The verbs of reading, over one database."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence

from detent.errors import InvalidLimit, NoNode, UnknownName
from detent.store.database import Connection, Database, fetch
from detent.store.graph import walking
from detent.store.graph.neighbours import Neighbours, neighbours
from detent.store.graph.nodes import Content, Direction, EdgeFilters, NamedNode, filters, named
from detent.store.graph.walking import GraphPath, Subgraph
from detent.store.ledger.kinds import Kinds
from detent.store.values import check_key

_MOST_ALIASES = 1_000
_DIRECTIONS: tuple[Direction, ...] = ("out", "in", "both")


class GraphReader:
    """Reads the graph. Nodes are named by the numbers of their items."""

    def __init__(self, database: Database, kinds: Kinds) -> None:
        self._database = database
        self._kinds = kinds

    async def find(self, key: str, *, source: str | None = None, label: str | None = None) -> list[NamedNode]:
        """Return the nodes with this key or alias, if any."""
        check_key("a key", key)
        kinds = [kind.id for kind in await self._kinds.select(source, label)]
        rows = await self._database.fetch("find_nodes", {"key": key, "kinds": kinds})
        return [await named(self._kinds, row) for row in rows]

    async def nodes(self, ids: Sequence[int]) -> list[NamedNode]:
        """Return nodes by number, in this order, without those that do not exist."""
        rows = await self._database.fetch("named_nodes", {"ids": list(ids)})
        found = {row.id: await named(self._kinds, row) for row in rows}
        return [found[number] for number in ids if number in found]

    async def texts(self, node: int) -> list[tuple[str, str]]:
        """Return the node's text and those of the nodes that belong to it, in order, each with its title."""
        return [(row.title, row.text) for row in await self._database.fetch("texts", {"id": node})]

    async def node(self, node: int) -> Content:
        """Return the full content of a node."""
        rows = await self._database.fetch("node_content", {"id": node})
        if not rows:
            raise await self._missing(node)
        aliases = await self._database.fetch("other_keys", {"id": node, "limit": _MOST_ALIASES})
        row = rows[0]
        return Content(
            node=await named(self._kinds, row),
            state=row.state,
            text=row.text,
            properties=row.properties,
            content_hash=row.content_hash,
            parent_id=row.parent_id,
            edge=row.edge,
            shared=row.shared,
            written_at=row.written_at,
            aliases=[alias.key for alias in aliases],
        )

    async def neighbours(
        self,
        node: int,
        *,
        direction: Direction = "both",
        types: Iterable[str] | None = None,
        labels: Iterable[str] | None = None,
        sources: Iterable[str] | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> Neighbours:
        """Return a page of a node's edges with their other ends: first outgoing edges, then incoming ones."""
        _require(direction, limit)
        await self._require_nodes(node)
        chosen = await filters(self._kinds, types, labels, sources)
        async with self._database.connection() as connection:
            return await neighbours(
                connection, self._kinds, node, direction=direction, filters=chosen, limit=limit, after=after
            )

    async def path(
        self,
        start: int,
        goal: int,
        *,
        direction: Direction = "out",
        types: Iterable[str] | None = None,
        labels: Iterable[str] | None = None,
        sources: Iterable[str] | None = None,
        max_length: int = 10,
    ) -> GraphPath:
        """Return a shortest path along the edges (`out`), against them (`in`) or either way (`both`).

        `labels` and `sources` restrict the nodes between the two ends.
        """
        _require(direction, max_length)
        await self._require_nodes(start, goal)
        chosen = await filters(self._kinds, types, labels, sources)
        search = walking.PathSearch(start, goal, direction, chosen)
        async with self._one_moment() as connection:
            ids = await search.run(connection, max_length)
            edges = await walking.edges_along(connection, ids, direction, chosen)
            return GraphPath(await self._named(connection, ids), edges, search.complete)

    async def subgraph(
        self,
        node: int,
        *,
        depth: int = 1,
        limit: int = 100,
        direction: Direction = "both",
        types: Iterable[str] | None = None,
        labels: Iterable[str] | None = None,
        sources: Iterable[str] | None = None,
    ) -> Subgraph:
        """Return the nodes within `depth` edges of one, nearest first, at most `limit` of them, and the edges
        among them."""
        _require(direction, limit)
        await self._require_nodes(node)
        chosen = await filters(self._kinds, types, labels, sources)
        async with self._one_moment() as connection:
            ids, whole = await walking.surroundings(
                connection, node, depth=depth, limit=limit, direction=direction, filters=chosen
            )
            edges, all_edges = await walking.edges_among(connection, ids, EdgeFilters(chosen.types))
            return Subgraph(await self._named(connection, ids), edges, whole and all_edges)

    @contextlib.asynccontextmanager
    async def _one_moment(self) -> AsyncIterator[Connection]:
        """Open a transaction in which the graph does not change."""
        async with self._database.connection() as connection, connection.transaction():
            await fetch(connection, "one_moment")
            yield connection

    async def _named(self, connection: Connection, ids: list[int]) -> list[NamedNode]:
        found = {row.id: row for row in await fetch(connection, "named_nodes", {"ids": ids})}
        return [await named(self._kinds, found[number]) for number in ids]

    async def _require_nodes(self, *ids: int) -> None:
        found = {row.id for row in await self._database.fetch("named_nodes", {"ids": list(ids)})}
        for number in ids:
            if number not in found:
                raise await self._missing(number)

    async def _missing(self, number: int) -> UnknownName:
        """Return the error for an item without a node, or for a number that no item has."""
        rows = await self._database.fetch("find_by_id", {"ids": [number]})
        if not rows:
            return UnknownName(f"There is no item number {number}.")
        kind = await self._kinds.by_id(rows[0].kind_id)
        return NoNode(f"{kind}/{rows[0].key}", rows[0].state)


def _require(direction: str, limit: int) -> None:
    if direction not in _DIRECTIONS:
        raise UnknownName(f"There is no direction {direction!r}. The directions are {', '.join(_DIRECTIONS)}.")
    if limit < 1:
        raise InvalidLimit(limit)
