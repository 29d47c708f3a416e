"""Small graphs at random, and walks through them as NetworkX takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx
import psycopg
from hypothesis import strategies as st
from tests.databases import empty

from detent.lifecycle import ARTICLE
from detent.store import Store
from detent.store.graph import Direction, GraphReader

WAYS: tuple[Direction, ...] = ("out", "in", "both")

Edge = tuple[int, str, int]
"""From, how, to. Targets 8 and 9 do not exist; `~` links to an alias of the target."""
EDGES = st.lists(st.tuples(st.integers(0, 7), st.sampled_from([">", ">", ":", "~"]), st.integers(0, 9)), max_size=20)

NODES = """
    INSERT INTO item (kind_id, key, state, since, added_at)
    SELECT (SELECT kind.id FROM kind JOIN source ON source.id = source_id WHERE name || '/' || label = %s),
           key, 'ready', now(), now() FROM unnest(%s::text[]) AS key;
"""
CONTENT = """
    INSERT INTO node (item_id, title, text, properties, written_at)
    SELECT id, key, '', '{}', now() FROM item ON CONFLICT DO NOTHING
"""
LINK = """
    INSERT INTO reference (item_id, position, type, kind_id, key, properties)
    SELECT item.id, coalesce((SELECT max(position) + 1 FROM reference WHERE item_id = item.id), 0), %s, item.kind_id,
           %s, '{}' FROM item WHERE key = %s
"""


async def compare(conninfo: str, edges: list[Edge], starts: Iterable[int]) -> None:
    """Draw a graph in a database, whatever was in it, and walk from these of its eight nodes to all others."""
    async with Store(conninfo) as store:
        await empty(store)
        await store.kinds.refresh()
        await store.declare("wiki", "Article", ARTICLE)
        with psycopg.connect(conninfo, autocommit=True, options="-c search_path=detent,public") as connection:
            ids = _draw(connection, edges)
            model: Any = networkx.MultiDiGraph()
            model.add_nodes_from(ids)
            model.add_edges_from(connection.execute("SELECT from_id, to_id FROM edge"))
        reading = GraphReader(store.database, store.kinds)
        for direction in WAYS:
            graph = {"out": model, "in": model.reverse(), "both": model.to_undirected()}[direction]
            for node in [ids[start] for start in starts]:
                page = await reading.neighbours(node, direction=direction, limit=7)
                beside = [each.node.id for each in page.neighbours]
                ways = {"out": model.out_edges(node), "in": [(b, a) for a, b in model.in_edges(node)]}
                wanted = [b for way in ("out", "in") if direction in (way, "both") for _, b in ways[way]]
                assert sorted(beside) == sorted(wanted) or page.next is not None
                lengths = networkx.single_source_shortest_path_length(graph, node)
                part = await reading.subgraph(node, depth=3, direction=direction)
                reached = [lengths[each.id] for each in part.nodes]
                assert reached == sorted(length for length in lengths.values() if length <= 3)
                among = model.subgraph([each.id for each in part.nodes]).number_of_edges()
                assert len(part.edges) == among
                for goal in ids:
                    way = await reading.path(node, goal, direction=direction)
                    assert len(way.nodes) - 1 == lengths.get(goal, -1)
                    assert len(way.edges) == max(0, len(way.nodes) - 1)


def _draw(connection: psycopg.Connection[Any], edges: list[Edge]) -> list[int]:
    connection.execute(NODES.encode(), ["wiki/Article", [str(number) for number in range(8)]])
    connection.execute(CONTENT)
    connection.execute(
        "INSERT INTO alias (kind_id, key, to_key, said_key, said_by) "
        "SELECT kind.id, 'also ' || n, n::text, n::text, 0 FROM kind, generate_series(0, 9) n"
    )
    children: set[int] = set()
    for origin, sign, target in edges:
        if sign == ":" and target < 8 and target not in children:
            children.add(target)
            connection.execute(
                "UPDATE node SET parent_id = parent.id, edge = 'CONTAINS', position = 0 FROM item AS parent, item "
                "AS child WHERE parent.key = %s AND child.key = %s AND node.item_id = child.id",
                [str(origin), str(target)],
            )
        else:
            name = f"also {target}" if sign == "~" else str(target)
            connection.execute(LINK.encode(), ["LINKS_TO", name, str(origin)])
    return [row[0] for row in connection.execute("SELECT id FROM item ORDER BY key")]
