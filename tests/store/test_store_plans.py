"""Query plans: what the engine asks often is answered through an index, whatever the statistics say."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import psycopg
import pytest

from detent.errors import UnknownName
from detent.knowledge import Done, Failed, NewItem, Node, Reference, Retry
from detent.lifecycle import ARTICLE, NODE, Trouble
from detent.store import Stage, Store
from detent.store.database import connection_options
from detent.store.statements import SQL

Asked = dict[str, Mapping[str, Any]]

ARTICLES = Stage(ARTICLE, "discovered")
LARGE = {"item", "place", "journal", "node", "failure", "reference", "checkpoint"}
NAMES = {text: name for name, text in SQL.items()}
IMPORTANT = {
    "add",
    "claim",
    "settle",
    "renew",
    "rescue",
    "count",
    "list_by_key",
    "list_by_place",
    "list_by_failure",
    "list_matching",
    "list_by_id",
} | {
    "list_by_lease",
    "hold_leases",
    "hold_places",
    "vacate",
    "move",
    "history",
    "detail",
    "find",
    "next_wake",
}


@contextlib.contextmanager
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """Notes which named statements are sent to the database, with what they are given."""
    asked: Asked = {}
    execute = psycopg.AsyncConnection.execute

    async def note(connection: Any, query: Any, params: Any = None, **options: Any) -> Any:
        if query in NAMES:
            asked[NAMES[query]] = params or {}
        return await execute(connection, query, params, **options)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.AsyncConnection, "execute", note)
        yield asked


async def populate(store: Store, many: int, batch: int) -> None:
    await store.declare("wiki", "Article", ARTICLE)
    await store.declare("docs", "File", NODE)
    await store.add("wiki", "Article", [NewItem(f"key {n}", "Article", priority=n % 7) for n in range(many)])
    await store.add("docs", "File", ["a"])
    for outcome in (Done(), Retry("slow", Trouble.TIMEOUT, 3600), Failed("gone", Trouble.NOT_FOUND)):
        items = await store.claim(ARTICLES, owner="w", limit=batch)
        await store.settle([(item, outcome) for item in items])
    await store.claim(ARTICLES, owner="w", limit=batch)


async def do_everything(store: Store, limit: int) -> None:
    """Every verb that workers, commands and views use, once, with batches of a usual size."""
    link = Reference("LINKS", "Article", "key 1")
    content = Done(Node("t"), [link], [NewItem("new", "Article")], {"page": 1})
    items = await store.claim(ARTICLES, owner="w", limit=limit)
    await store.renew([items[0].token])
    await store.held(items[0].token)
    await store.workers()
    await store.settle([(item, content) for item in items[: limit // 4]])
    await store.settle([(item, Done()) for item in items[: limit // 2]])
    await store.settle([(item, Retry("slow")) for item in items[limit // 2 : -1]])
    await store.rescue(tokens=[items[0].token])
    pages: list[dict[str, Any]] = [{}, {"state": "loaded"}, {"state": "claimed"}, {"error_kind": "timeout"}]
    pages += [{"text": "key"}, {"text": "slow", "state": "failed"}]
    for filters in pages:
        page = await store.list(limit=limit, **filters)
        await store.list(limit=limit, after=page.next, **filters)
    await store.show(items[0].id)
    await store.history(items[0].id)
    await store.listing.find("key 7")
    with contextlib.suppress(UnknownName):
        await store.listing.find("key seven")
    await store.count_by_state()
    kind = await store.kinds.get("wiki", "Article")
    await store.tallies.later([(kind, "discovered")])
    await store.mark_changed("wiki", "Article", {f"key {n}": "new" for n in range(limit)})
    failed = [item.id for item in (await store.list(state="failed", limit=limit)).items]
    await store.listing.by_id(failed)
    await store.retry(failed)
    await store.reset([*failed, *[item.id for item in (await store.list(state="claimed", limit=limit)).items]])


def nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


async def explain(connection: Any, name: str, values: Mapping[str, Any], *, analyse: bool = False) -> Any:
    options = "ANALYZE, FORMAT JSON" if analyse else "FORMAT JSON"
    cursor = await connection.execute(f"EXPLAIN ({options}) {SQL[name]}", values, prepare=False)
    return (await cursor.fetchone())[0][0]["Plan"]


async def explain_generic(connection: Any, name: str, _: Mapping[str, Any]) -> Any:
    """The plan that a prepared statement ends up with, whatever it is given."""
    places: dict[str, str] = {}
    text = re.sub(r"%\((\w+)\)s", lambda match: places.setdefault(match[1], f"${len(places) + 1}"), SQL[name])
    statement = "EXPLAIN (GENERIC_PLAN, FORMAT JSON) " + text.replace("%%", "%")
    async with connection.cursor() as cursor:
        await cursor.execute(statement.encode(), prepare=False)
        return (await cursor.fetchone())[0][0]["Plan"]


async def scans(connection: Any, asked: Asked, explain: Callable[..., Awaitable[Any]] = explain) -> list[str]:
    """The statements that read a large table from one end to the other."""
    found = []
    for name, values in asked.items():
        if SQL[name].startswith(("LOCK", "SET")):
            continue
        for node in nodes(await explain(connection, name, values)):
            table = node.get("Relation Name", "")
            large = table in LARGE or table.startswith("journal")
            if node["Node Type"] == "Seq Scan" and large:
                found.append(f"{name} scans {table}")
    return found


async def test_nothing_that_is_asked_often_scans_a_large_table(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ANCESTORS 12 and 46: claiming scanned all items; so did counting, and the dashboard."""
    await populate(store, 50_000, 2000)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    with recording(monkeypatch) as asked:
        await do_everything(store, 100)
    assert set(asked) >= IMPORTANT
    async with await psycopg.AsyncConnection.connect(database, **connection_options()) as fresh:
        assert await scans(fresh, asked) == []
        assert await scans(fresh, asked, explain_generic) == []
        # A claim, a page and a settling touch about as many rows as they return.
        for name in ("claim", "list_by_key", "list_by_place", "list_by_failure", "settle", "hold_places"):
            async with fresh.transaction(force_rollback=True):
                plan = await explain(fresh, name, asked[name], analyse=True)
            touched = [
                (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                for node in nodes(plan)
                if node.get("Relation Name") in {"item", "place", "failure"} and "Scan" in node["Node Type"]
            ]
            assert max(touched) <= 400, (name, touched)


async def test_the_plans_hold_where_the_statistics_say_that_tables_are_empty(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that was chosen on yesterday's statistics never scans today's items."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    await populate(store, 40, 4)
    with recording(monkeypatch) as asked:
        await do_everything(store, 4)
    async with await psycopg.AsyncConnection.connect(database, **connection_options()) as fresh:
        assert await scans(fresh, asked) == []
