"""Adding items: idempotent, in any number, and never in each other's way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from detent.errors import IllegalMove, UnknownName, Unstorable
from detent.knowledge import NewItem
from detent.lifecycle import ARTICLE
from detent.store import Stage, Store
from detent.store.ledger import items

Query = Callable[..., list[Any]]


async def test_adding_twice_adds_once_and_keeps_the_state_of_what_is_there(wiki: Store, query: Query) -> None:
    assert await wiki.add("wiki", "Article", ["a", "b"]) == 2
    query("UPDATE item SET content_hash = 'seen' WHERE key = 'a'")
    assert await wiki.add("wiki", "Article", [NewItem("a", "Article", content_hash="other"), "c"]) == 1
    assert [tuple(row) for row in query("SELECT key, content_hash FROM item ORDER BY key")] == [
        ("a", "seen"),
        ("b", None),
        ("c", None),
    ]
    assert await wiki.tallies.check() == []


async def test_a_key_that_comes_twice_in_one_call_is_added_once_as_it_came_first(wiki: Store, query: Query) -> None:
    new = [NewItem("a", "Article", priority=4), NewItem("b", "Article"), NewItem("a", "Article", priority=1)]
    assert await wiki.add("wiki", "Article", new) == 2
    assert query("SELECT priority FROM item WHERE key = 'a'")[0].priority == 4


async def test_what_is_found_first_is_claimed_first(wiki: Store) -> None:
    keys = [f"key {number}" for number in range(3000)]
    random.Random(1).shuffle(keys)
    await wiki.add("wiki", "Article", [*keys[:10], keys[3]])
    await wiki.add("wiki", "Article", [NewItem(key, "Article", priority=1) for key in keys[5:]])
    claimed = await wiki.claim(Stage(ARTICLE, "discovered"), owner="w", limit=3000)
    assert [item.key for item in claimed] == keys


async def test_that_holds_however_many_are_found_at_once(wiki: Store) -> None:
    keys = [f"key {number}" for number in range(25_000)]
    random.Random(1).shuffle(keys)
    await wiki.add("wiki", "Article", keys[:20])
    await wiki.add("wiki", "Article", keys)
    claimed = await wiki.claim(Stage(ARTICLE, "discovered"), owner="w", limit=25_000)
    assert [item.key for item in claimed] == keys


async def test_sixty_thousand_items_are_added_in_one_call_and_all_or_none(wiki: Store, query: Query) -> None:
    keys = [f"key {number % 55_000}" for number in range(60_000)]
    with pytest.raises(Unstorable):
        await wiki.add("wiki", "Article", [*keys, "bad\x00key"])
    assert query("SELECT count(*) FROM item")[0].count == 0
    assert await wiki.add("wiki", "Article", iter(keys)) == 55_000
    assert await wiki.add("wiki", "Article", keys) == 0
    assert [(line.state, line.count) for line in await wiki.count_by_state()] == [("discovered", 55_000)]
    assert await wiki.tallies.check() == []


async def test_adding_nothing_is_no_error(wiki: Store) -> None:
    assert await wiki.add("wiki", "Article", []) == 0


async def test_a_key_that_cannot_be_kept_is_refused_with_the_reason(wiki: Store) -> None:
    bad: list[tuple[Any, str]] = [
        ("", "empty"),
        ("a\x00b", "NUL byte at character 1"),
        ("a\ud800", "surrogate"),
        ("é" * 1001, "2,002 bytes long"),
        (7, "int, not text"),
    ]
    for key, reason in bad:
        with pytest.raises(Unstorable, match=reason):
            await wiki.add("wiki", "Article", ["good", key])
    assert await wiki.count_by_state() == []


async def test_keys_come_back_as_they_were_given(wiki: Store) -> None:
    keys = ["NULL", "null", '"', "\\", "{}", "a,b", " ", "é" * 1000, "\U0001f600", "a#b", "a\nb", "%s", "%(x)s"]
    assert await wiki.add("wiki", "Article", keys) == len(keys)
    page = await wiki.list(source="wiki")
    assert sorted(item.key for item in page.items) == sorted(keys)
    assert await wiki.add("wiki", "Article", keys) == 0


async def test_a_priority_out_of_range_is_refused(wiki: Store) -> None:
    priorities: list[Any] = [2**31, -(2**31) - 1, 1.5]
    for priority in priorities:
        with pytest.raises(Unstorable, match="priority"):
            await wiki.add("wiki", "Article", [NewItem("a", "Article", priority=priority)])


async def test_items_are_born_in_the_entries_of_their_lifecycle_only(wiki: Store) -> None:
    assert await wiki.add("docs", "File", [NewItem("born linked", "File", state="linked")]) == 1
    for state in ("ready", "parsing", "nowhere"):
        with pytest.raises(IllegalMove, match=state):
            await wiki.add("docs", "File", [NewItem("x", "File", state=state)])
    assert [(line.state, line.count) for line in await wiki.count_by_state()] == [("linked", 1)]


async def test_a_new_item_that_names_another_label_goes_there_and_not_elsewhere(wiki: Store) -> None:
    await wiki.declare("wiki", "Category", ARTICLE)
    await wiki.add("wiki", "Article", [NewItem("c", "Category"), NewItem("f", "File", source="docs"), "a"])
    counts = {(line.source, line.label): line.count for line in await wiki.count_by_state()}
    assert counts == {("wiki", "Category"): 1, ("docs", "File"): 1, ("wiki", "Article"): 1}


async def test_adding_to_what_nobody_declared_names_what_there_is(wiki: Store) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'wiki/Article'"):
        await wiki.add("wiki", "Artikle", ["a"])


@pytest.mark.parametrize("chunk", [300, items.CHUNK])
async def test_adders_of_the_same_keys_in_opposite_orders_never_deadlock(
    database: str, wiki: Store, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(items, "CHUNK", chunk)
    keys = [f"key {number}" for number in range(3000)]

    async def add(number: int) -> int:
        shuffled = sorted(keys, reverse=bool(number % 2))
        random.Random(number).shuffle(shuffled)
        async with Store(database, size=1) as mine:
            return sum([await mine.add("wiki", "Article", shuffled[start : start + 1500]) for start in (0, 1500)])

    try:
        added = await asyncio.gather(*[add(number) for number in range(6)])
    except psycopg.errors.DeadlockDetected:
        pytest.fail("adders waited for each other in a circle")
    assert sum(added) == 3000
    assert await wiki.tallies.check() == []
