"""Dropping a source beside those who add to it or name something of it: no row is left of a kind that is gone."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from detent.errors import SourceConflict, UnknownName
from detent.knowledge import Done, Item, Mention, NewItem, Node, Reference
from detent.lifecycle import ARTICLE, NODE
from detent.store import Stage, Store
from detent.store.exchange import Dump, load
from detent.store.ledger.settling import Settled

Query = Callable[..., list[Any]]

ARTICLES, FILES = Stage(ARTICLE, "discovered"), Stage(NODE, "pending")


WAITING = "SELECT DISTINCT pid FROM pg_locks WHERE NOT granted"


async def waits(query: Query, number: int, *, unless: asyncio.Task[Any]) -> None:
    """Returns when so many connections wait for a lock, or the task has ended."""
    async with asyncio.timeout(30):
        while len(query(WAITING)) < number and not unless.done():  # noqa: ASYNC110  the server alone knows
            await asyncio.sleep(0.01)


async def finish(removing: Any) -> int:
    """Lets a removal go on to its end; returns how many items it has removed."""
    return max([removed async for removed in removing], default=0)


async def file_of(store: Store) -> Item:
    """A file that is being worked on."""
    await store.add("docs", "File", ["f"])
    [item] = await store.claim(FILES, owner="w")
    return item


OUTCOMES = {
    "found": ("place", Done(Node("f"), found=[NewItem("late", "Article", source="wiki")])),
    "mentions": ("place", Done(Node("f"), mentions=[Mention("Article", "late", Node("late"), source="wiki")])),
    "references": ("reference", Done(Node("f"), [Reference("LINKS_TO", "Article", "late", source="wiki")])),
}


async def test_dropping_a_source_waits_for_who_adds_to_it_and_takes_that_too(wiki: Store, query: Query) -> None:
    query("BEGIN")
    query("LOCK TABLE place IN SHARE MODE")
    adding = asyncio.create_task(wiki.add("wiki", "Article", ["late"]))
    await waits(query, 1, unless=adding)
    removing = asyncio.create_task(finish(wiki.remove_source("wiki")))
    await waits(query, 2, unless=removing)
    query("COMMIT")
    assert await adding == 1
    assert await removing == 1
    assert query("SELECT key FROM item") == query("SELECT FROM source WHERE name = 'wiki'") == []
    assert await wiki.count_by_state() == []


@pytest.mark.parametrize("what", OUTCOMES)
async def test_dropping_a_source_waits_for_who_names_something_of_it_in_an_outcome(
    wiki: Store, query: Query, what: str
) -> None:
    table, outcome = OUTCOMES[what]
    item = await file_of(wiki)
    query("BEGIN")
    query(f"LOCK TABLE {table} IN SHARE MODE")
    settling = asyncio.create_task(wiki.settle([(item, outcome)]))
    await waits(query, 1, unless=settling)
    removing = asyncio.create_task(finish(wiki.remove_source("wiki")))
    await waits(query, 2, unless=removing)
    query("COMMIT")
    [receipt] = await settling
    assert receipt.status is Settled.APPLIED
    await removing
    assert query("SELECT FROM item WHERE kind_id NOT IN (SELECT id FROM kind)") == []
    assert query("SELECT FROM reference WHERE kind_id NOT IN (SELECT id FROM kind)") == []
    assert [line.source for line in await wiki.count_by_state()] == ["docs"]


async def test_who_adds_to_a_source_that_others_removed_is_told(database: str, wiki: Store, query: Query) -> None:
    async with Store(database) as other:
        await finish(wiki.remove_source("wiki"))
        with pytest.raises(UnknownName, match="There is no kind of item 'wiki/Article'"):
            await other.add("wiki", "Article", ["a"])
        await wiki.declare("wiki", "Article", ARTICLE)
        assert await other.add("wiki", "Article", ["a"]) == 1
    assert [line.count for line in await wiki.count_by_state()] == [1]


async def test_a_source_that_was_removed_and_declared_again_is_added_to(database: str, wiki: Store) -> None:
    async with Store(database) as other:
        await finish(wiki.remove_source("wiki"))
        await wiki.declare("wiki", "Article", ARTICLE)
        assert await other.add("wiki", "Article", ["a"]) == 1
    assert [each.key for each in await wiki.claim(ARTICLES, owner="w")] == ["a"]


@pytest.mark.parametrize("what", OUTCOMES)
async def test_an_outcome_that_names_a_removed_source_fails_its_own_item_alone(
    database: str, wiki: Store, query: Query, what: str
) -> None:
    await wiki.add("docs", "File", ["f", "g"])
    async with Store(database) as other:
        one, two = await other.claim(FILES, owner="w")
        await finish(wiki.remove_source("wiki"))
        receipts = await other.settle([(one, OUTCOMES[what][1]), (two, Done(Node("g")))])
    assert [receipt.status for receipt in receipts] == [Settled.REFUSED, Settled.APPLIED]
    assert "There is no kind of item 'wiki/Article'" in (receipts[0].reason or "")
    assert [row.key for row in query("SELECT key FROM item ORDER BY key")] == ["f", "g"]
    assert query("SELECT FROM reference") == []


async def test_an_import_stops_at_a_source_that_is_removed_meanwhile(
    wiki: Store, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    await wiki.add("wiki", "Article", ["a", "b"])
    async with Dump.open(wiki.database, wiki.kinds) as dump:
        lines = [line async for line in dump.lines()]
    await finish(wiki.remove_source("wiki"))

    def drop(items: int, _: int | None) -> None:
        if items == 1:
            query("DELETE FROM source WHERE name = 'wiki'")
            query("DELETE FROM item")

    loading = importlib.import_module("detent.store.exchange.load")
    monkeypatch.setattr(loading, "chunks", partial(loading.chunks, records=1))
    async with wiki.database.connection() as connection:
        with pytest.raises(SourceConflict, match="'wiki' was removed"):
            await load(connection, lines, tell=drop)
    assert query("SELECT key FROM item") == []
