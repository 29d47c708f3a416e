"""GraphReader the graph: neighbours, paths and surroundings, in both directions and whatever the number of edges."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.graph import walks
from tests.store.graph.walks import CONTENT, LINK, NODES, WAYS

from detent.errors import InvalidLimit, NoNode, UnknownName
from detent.lifecycle import NODE
from detent.store import Store
from detent.store.database import connection_options
from detent.store.graph import Direction, GraphReader, walking
from detent.store.graph.nodes import EdgeFilters
from detent.store.statements import SQL

Query = Callable[..., list[Any]]

HUB_EDGES = 100_000

ALIAS = """
    INSERT INTO alias (kind_id, key, to_key, said_key, said_by)
    SELECT id, %s, %s, %s, 0 FROM kind WHERE label = 'Article'
"""


@pytest.fixture
async def reading(wiki: Store) -> GraphReader:
    return GraphReader(wiki.database, wiki.kinds)


@pytest.fixture
def drawn(wiki: Store, query: Query) -> Callable[..., dict[str, int]]:
    """Draws a graph of articles: `a>b` is a link, `a:b` a child, `x=b` an alias; what begins with `?` is not there."""

    def draw(*lines: str, kind: str = "LINKS_TO") -> dict[str, int]:
        keys = {key for line in lines if "=" not in line for key in line.replace(":", ">").split(">") if key}
        keys -= {line.split("=")[0] for line in lines if "=" in line}
        there = {row.key for row in query("SELECT key FROM item")}
        query(NODES, "wiki/Article", sorted(key for key in keys - there if not key.startswith("?")))
        query(CONTENT)
        for line in lines:
            if "=" in line:
                key, target = line.split("=")
                query(ALIAS, key, target, target)
            elif ":" in line:
                parent, child = line.split(":")
                query(
                    "UPDATE node SET parent_id = parent.id, edge = 'CONTAINS', position = "
                    "(SELECT count(*) FROM node WHERE parent_id = parent.id) FROM item AS parent, item AS child "
                    "WHERE parent.key = %s AND child.key = %s AND node.item_id = child.id",
                    parent,
                    child,
                )
            elif ">" in line:
                origin, target = line.split(">")
                query(LINK, kind, target, origin)
        return {row.key: row.id for row in query("SELECT key, id FROM item")}

    return draw


async def beside(reading: GraphReader, node: int, direction: Direction = "both", limit: int = 100) -> list[str]:
    """All neighbours, from pages of this size, as `→ b`."""
    found: list[str] = []
    after = None
    while True:
        page = await reading.neighbours(node, direction=direction, limit=limit, after=after)
        found += [f"{'→' if each.direction == 'out' else '←'} {each.node.key}" for each in page.neighbours]
        assert len(page.neighbours) <= limit
        if page.next is None:
            return found
        after = page.next


async def test_neighbours_are_where_edges_lead_and_where_they_come_from(reading: GraphReader, drawn: Any) -> None:
    ids = drawn("a>b", "a>c", "a:d", "e>a", "f:a", "a>?nowhere", "x=?nowhere", "a>x", "other=a", "g>other", "a>a")
    expected = ["→ b", "→ c", "→ a", "→ d", "← a", "← e", "← g", "← f"]
    for limit in (1, 2, 3, 7, 8, 9):
        assert await beside(reading, ids["a"], limit=limit) == expected, limit
    assert await beside(reading, ids["a"], "out", limit=2) == expected[:4]
    assert await beside(reading, ids["a"], "in", limit=2) == expected[4:]


async def test_neighbours_are_filtered(reading: GraphReader, drawn: Any) -> None:
    ids = drawn("a>b", "c>a", "a:d")
    drawn("a>c", kind="CITES")
    kept = await reading.neighbours(ids["a"], types=["CITES", "CONTAINS"])
    assert [(each.type, each.node.key) for each in kept.neighbours] == [("CITES", "c"), ("CONTAINS", "d")]
    assert (await reading.neighbours(ids["a"], labels=["File"])).neighbours == []
    assert len((await reading.neighbours(ids["a"], labels=["Article"], sources=["wiki"])).neighbours) == 4
    with pytest.raises(UnknownName, match="Did you mean 'Article'"):
        await reading.neighbours(ids["a"], labels=["article"])


async def test_what_cannot_be_asked_for_is_told(reading: GraphReader, wiki: Store, drawn: Any, query: Query) -> None:
    ids = drawn("a>b")
    await wiki.add("wiki", "Article", ["unread"])
    [unread] = await wiki.listing.find("unread")
    with pytest.raises(NoNode, match="wiki/Article/unread has no node: it is 'discovered'"):
        await reading.neighbours(unread)
    with pytest.raises(UnknownName, match="There is no item number 99999"):
        await reading.path(ids["a"], 99999)
    with pytest.raises(InvalidLimit):
        await reading.subgraph(ids["a"], limit=0)
    for mark in ("x", "{}", '{"list": 1}', "[]"):
        with pytest.raises(UnknownName, match="is not a page cursor"):
            await reading.neighbours(ids["a"], after=mark)


async def test_a_node_is_found_by_its_aliases_and_tells_all_it_has(reading: GraphReader, drawn: Any) -> None:
    ids = drawn("Turing", "Alan Turing=Turing", "A. M. Turing=Turing", "Turing:Life")
    [found] = await reading.find("Alan Turing")
    assert (found.id, found.key, found.source, found.label) == (ids["Turing"], "Turing", "wiki", "Article")
    assert await reading.find("nobody") == []
    content = await reading.node(ids["Life"])
    assert (content.parent_id, content.edge, content.aliases) == (ids["Turing"], "CONTAINS", [])
    assert (await reading.node(ids["Turing"])).aliases == ["A. M. Turing", "Alan Turing"]


async def test_a_path_is_shortest_and_tells_its_edges(reading: GraphReader, drawn: Any) -> None:
    ids = drawn("a>b", "b>c", "c>d", "a>x", "x:d", "d>a", "b>b", "alias=a", "e>alias")

    async def keys(start: str, goal: str, **how: Any) -> list[str]:
        return [node.key for node in (await reading.path(ids[start], ids[goal], **how)).nodes]

    assert await keys("a", "d") == ["a", "x", "d"]
    assert await keys("a", "d", types=["LINKS_TO"]) == ["a", "b", "c", "d"]
    assert await keys("d", "c") == ["d", "a", "b", "c"]
    assert await keys("c", "d", direction="in") == ["c", "b", "a", "d"]
    assert await keys("c", "e", direction="both") in (["c", "d", "a", "e"], ["c", "b", "a", "e"])
    assert await keys("a", "e") == []
    assert await keys("a", "a") == ["a"]
    assert await keys("a", "d", types=["LINKS_TO"], max_length=2) == []
    found = await reading.path(ids["a"], ids["d"])
    steps = [(edge.from_id, edge.type, edge.to_id) for edge in found.edges]
    assert steps == [(ids["a"], "LINKS_TO", ids["x"]), (ids["x"], "CONTAINS", ids["d"])]


async def test_the_ends_of_a_path_need_not_pass_its_filters(reading: GraphReader, drawn: Any, query: Query) -> None:
    query(NODES, "docs/File", ["one", "two"])
    ids = drawn("one", "two", "a")
    kind = query("SELECT id FROM kind WHERE label = 'Article'")[0].id
    link = "INSERT INTO reference VALUES (%s, 0, 'LINKS_TO', %s, %s, '{}')"
    query(link, ids["one"], kind, "a")
    query(link, ids["a"], query("SELECT id FROM kind WHERE label = 'File'")[0].id, "two")
    found = await reading.path(ids["one"], ids["two"], labels=["Article"])
    assert [node.key for node in found.nodes] == ["one", "a", "two"]
    assert (await reading.path(ids["one"], ids["two"], labels=["File"])).nodes == []


async def test_surroundings_come_nearest_first_with_all_edges_among_them(reading: GraphReader, drawn: Any) -> None:
    ids = drawn("a>b", "a>c", "b>c", "c>d", "d>a", "d:e", "e>a", "far>e")
    part = await reading.subgraph(ids["a"], depth=1, direction="out")
    assert [node.key for node in part.nodes] == ["a", "b", "c"]
    assert len(part.edges) == 3
    part = await reading.subgraph(ids["a"], depth=9)
    assert {node.key for node in part.nodes} == {"a", "b", "c", "d", "e", "far"}
    assert (part.nodes[-1].key, len(part.edges), part.complete) == ("far", 8, True)
    part = await reading.subgraph(ids["a"], depth=9, limit=3)
    assert (len(part.nodes), part.complete) == (3, False)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=walks.EDGES, start=st.integers(0, 7))
def test_walks_agree_with_a_model(database: str, edges: list[walks.Edge], start: int) -> None:
    asyncio.run(walks.compare(database, edges, [start]))


@pytest.fixture
def hub(drawn: Any, query: Query) -> dict[str, int]:
    """A node that a hundred thousand refer to, that refers to as many, and that has as many children."""
    ids: dict[str, int] = drawn("hub", "a>hub", "hub>b", "b>c")
    for kind in ("into", "out", "child"):
        names = [f"{kind} {number:06}" for number in range(HUB_EDGES)]
        query(NODES, "wiki/Article", names)
    query(CONTENT)
    query("INSERT INTO reference SELECT id, 0, 'LINKS_TO', kind_id, 'hub', '{}' FROM item WHERE key LIKE 'into %'")
    query(
        "INSERT INTO reference SELECT %s, right(key, 6)::integer + 10, 'LINKS_TO', kind_id, key, '{}' FROM item "
        "WHERE key LIKE 'out %%'",
        ids["hub"],
    )
    query(
        "UPDATE node SET parent_id = %s, edge = 'CONTAINS', position = right(key, 6)::integer FROM item "
        "WHERE item.id = item_id AND key LIKE 'child %%'",
        ids["hub"],
    )
    query("VACUUM ANALYZE item, node, reference")
    return ids


async def rows_read(store: Store, query: Query) -> int:
    """How many rows of the large tables the store's connection has read since the server began to count."""
    async with store.database.connection() as connection:
        await connection.execute("SELECT pg_stat_force_next_flush()")
    [row] = query(
        "SELECT sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::bigint AS count FROM pg_stat_user_tables "
        "WHERE relname IN ('item', 'node', 'reference', 'alias')"
    )
    return int(row.count)


async def test_a_hub_costs_what_was_asked_for(
    reading: GraphReader, wiki: Store, hub: dict[str, int], query: Query
) -> None:
    """What is read is about as much as the limit, not as many as there are edges."""
    [middle] = query("SELECT id FROM item WHERE key = 'into 050000'")
    query("SELECT pg_stat_force_next_flush()")
    before = await rows_read(wiki, query)
    for direction in WAYS:
        page = await reading.neighbours(hub["hub"], direction=direction, limit=50)
        again = await reading.neighbours(hub["hub"], direction=direction, limit=50, after=page.next)
        assert len({each.node.id for each in page.neighbours + again.neighbours}) == 100
    mark = json.dumps({"list": 2, "name": "hub", "other": middle.id, "position": 0})
    deep = await reading.neighbours(hub["hub"], direction="in", limit=50, after=mark)
    assert [each.node.key for each in deep.neighbours] == [f"into {number:06}" for number in range(50_001, 50_051)]
    part = await reading.subgraph(hub["a"], depth=2, limit=100)
    assert (len(part.nodes), part.complete) == (100, False)
    way = await reading.path(hub["a"], hub["c"])
    assert [node.key for node in way.nodes] == ["a", "hub", "b", "c"]
    assert 1_000 < await rows_read(wiki, query) - before < 20_000


async def test_a_search_that_looks_at_too_much_says_so(wiki: Store, hub: dict[str, int], query: Query) -> None:
    query("INSERT INTO reference SELECT id, 0, 'LINKS_TO', kind_id, 'c', '{}' FROM item WHERE key LIKE 'child 000%'")
    async with wiki.database.connection() as connection, connection.transaction():
        for most, length in ((500, 0), (100_000, 3)):
            search = walking.PathSearch(hub["hub"], hub["c"], "out", EdgeFilters(["CONTAINS", "LINKS_TO"]), most=most)
            assert len(await search.run(connection, 10)) == length
            assert search.complete == bool(length)


LARGE = {"item", "node", "reference", "alias"}
ASKED: dict[str, dict[str, Any]] = {
    "find_nodes": {"key": "a", "kinds": [1]},
    "named_nodes": {"ids": [1, 2]},
    "references_out": {"id": 1, "position": -1},
    "children_out": {"id": 1, "position": -1, "other": -1},
    "references_in": {"id": 1, "position": -1, "other": -1, "name": ""},
    "parent_in": {"id": 1},
    "step_out": {"ids": [1, 2], "goal": None},
    "step_in": {"ids": [1, 2], "goal": None},
    "edges_among": {"ids": [1, 2]},
    "first_edges": {"froms": [1], "tos": [2]},
}


@pytest.mark.parametrize("filled", [False, True])
async def test_every_plan_goes_through_an_index(wiki: Store, database: str, query: Query, filled: bool) -> None:
    await wiki.declare("docs", "File", NODE)
    if filled:
        query(NODES, "wiki/Article", [str(number) for number in range(3_000)])
        query(CONTENT)
        query(
            "INSERT INTO reference SELECT id, 0, 'LINKS_TO', kind_id, (id %% 50)::text, '{}' FROM item WHERE %s", True
        )
        query("VACUUM ANALYZE")
    async with await psycopg.AsyncConnection.connect(database, **connection_options()) as connection:
        for name, values in ASKED.items():
            asked = {"types": None, "kinds": None, "limit": 10, **values}
            cursor = await connection.execute(f"EXPLAIN {SQL[name]}", asked, prepare=False)
            plan = [row[0] for row in await cursor.fetchall()]
            scans = [line for line in plan if "Seq Scan" in line and any(f"on {table}" in line for table in LARGE)]
            assert scans == [], name
            assert not any("Filter: ((item_id" in line and "Index" not in line for line in plan), plan
