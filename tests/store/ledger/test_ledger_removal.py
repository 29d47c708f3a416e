"""Removing beside others: a source that is declared again meanwhile, resuming, sweeping beside an import."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from detent.errors import SourceConflict, UnknownName
from detent.knowledge import Done, Mention, Node, Reference
from detent.lifecycle import ARTICLE, PASSAGE
from detent.store import Stage, Store
from detent.store.database import fetch
from detent.store.ledger.kinds import LOCK
from detent.store.ledger.removal import MENTIONS_LOCK

Query = Callable[..., list[Any]]

ARTICLES = Stage(ARTICLE, "discovered")


async def finish(removing: Any) -> int:
    """Lets a removal go on to its end; returns how many items it has removed since."""
    return len([removed async for removed in removing])


async def test_a_source_that_is_declared_again_before_it_is_dropped_stays(wiki: Store, query: Query) -> None:
    await wiki.add("wiki", "Article", ["old"])
    removing = wiki.remove_source("wiki")
    assert await anext(removing) == 1
    await wiki.declare("wiki", "Article", ARTICLE)
    await wiki.add("wiki", "Article", ["new"])
    assert await finish(removing) == 0
    assert [each.key for each in await wiki.claim(ARTICLES, owner="w")] == ["new"]
    assert await wiki.tallies.check() == []


async def test_dropping_a_source_waits_for_who_declares_it(wiki: Store, query: Query) -> None:
    waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    await wiki.add("wiki", "Article", ["old"])
    removing = wiki.remove_source("wiki")
    assert await anext(removing) == 1
    async with asyncio.timeout(30), wiki.database.transaction() as connection:
        await fetch(connection, "lock_lifecycles", {"lock": LOCK})
        finishing = asyncio.create_task(finish(removing))
        while not query(waiting):  # noqa: ASYNC110  the server alone knows
            await asyncio.sleep(0.01)
        await fetch(connection, "declare_source", {"name": "wiki"})
    assert await finishing == 0
    assert [row.name for row in query("SELECT name FROM source WHERE removed_at IS NULL ORDER BY 1")] == [
        "docs",
        "wiki",
    ]
    assert [kind.label for kind in await wiki.kinds.select("wiki")] == ["Article"]


async def test_items_that_are_added_before_a_source_is_dropped_go_too(
    wiki: Store, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = wiki.removal._drop
    late = ["late"]

    async def add_and_drop(source: int) -> bool:
        if late:
            await wiki.add("wiki", "Article", [late.pop()])
        return await drop(source)

    monkeypatch.setattr(wiki.removal, "_drop", add_and_drop)
    await wiki.add("wiki", "Article", ["early"])
    assert [removed async for removed in wiki.remove_source("wiki")] == [1, 2]
    assert query("SELECT key FROM item") == []
    assert [row.name for row in query("SELECT name FROM source")] == ["docs"]


async def test_a_source_that_is_being_removed_cannot_be_resumed(wiki: Store, query: Query) -> None:
    await wiki.add("wiki", "Article", ["a", "b"])
    query("UPDATE source SET removed_at = now(), paused_at = now() WHERE name = 'wiki'")
    with pytest.raises(SourceConflict, match=r"being removed\. Finish it first: detent remove wiki"):
        await wiki.sources.resume("wiki")
    assert await wiki.claim(ARTICLES, owner="w") == []
    await finish(wiki.remove_source("wiki"))
    with pytest.raises(UnknownName):
        await wiki.sources.resume("wiki")


async def test_a_source_that_begins_to_be_removed_while_it_is_resumed_stays_paused(wiki: Store, query: Query) -> None:
    await wiki.add("wiki", "Article", ["a"])
    query("UPDATE source SET removed_at = now(), paused_at = now() WHERE name = 'wiki'")
    assert await wiki.database.fetch("resume", {"name": "wiki"}) == []
    assert await wiki.claim(ARTICLES, owner="w") == []


async def mention(store: Store, key: str, *categories: str) -> None:
    """Brings an article round that names categories."""
    await store.add("wiki", "Article", [key])
    found = await store.items.find(await store.kinds.get("wiki", "Article"), [key])
    await store.reset([found[key].id])
    [item] = await store.claim(ARTICLES, owner="w")
    links = [Reference("IN_CATEGORY", "Category", category) for category in categories]
    mentions = [Mention("Category", category, Node(category)) for category in categories]
    await store.settle([(item, Done(Node(key), links, mentions=mentions))])


async def test_a_sweep_beside_an_import_makes_nobody_wait_and_the_next_one_sweeps(wiki: Store, query: Query) -> None:
    await wiki.declare("wiki", "Category", PASSAGE)
    await mention(wiki, "a", "x")
    await mention(wiki, "a", "y")
    async with asyncio.timeout(30), wiki.database.connection() as importing:
        await fetch(importing, "keep_mentions", {"lock": MENTIONS_LOCK})
        assert await wiki.removal.sweep() == 0
        sweeping = asyncio.create_task(wiki.removal.sweep())
        await mention(wiki, "b", "z")
        assert await sweeping == 0
        await fetch(importing, "release_mentions", {"lock": MENTIONS_LOCK})
    assert await wiki.removal.sweep() == 1
    assert {row.title for row in query("SELECT title FROM node WHERE shared")} == {"y", "z"}
