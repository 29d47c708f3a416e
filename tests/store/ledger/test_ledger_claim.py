"""Claiming: in order, fairly, and each item by one worker only."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from detent.errors import IllegalMove
from detent.knowledge import Done, NewItem, Retry
from detent.lifecycle import ARTICLE, CRAWL, NODE, RetryPolicy, Trouble
from detent.store import Cursor, Stage, Store

Query = Callable[..., list[Any]]
Tick = Callable[[float], datetime]

ARTICLES = Stage(ARTICLE, "discovered")


async def test_priority_comes_first_and_then_the_oldest(wiki: Store) -> None:
    await wiki.add("wiki", "Article", [NewItem("deep", "Article", priority=2)])
    await wiki.add("wiki", "Article", ["z", NewItem("mid", "Article", priority=1)])
    await wiki.add("wiki", "Article", ["a", NewItem("first", "Article", priority=-1)])
    claimed = [(await wiki.claim(ARTICLES, owner="w", limit=1))[0].key for _ in range(5)]
    assert claimed == ["first", "z", "a", "mid", "deep"]


async def test_a_claim_gives_each_item_what_its_handler_needs(wiki: Store) -> None:
    await wiki.add("wiki", "Article", [NewItem("a", "Article", priority=3, content_hash="h")])
    [item] = await wiki.claim(ARTICLES, owner="w")
    assert (item.source, item.label, item.key, item.lifecycle) == ("wiki", "Article", "a", "article")
    assert (item.state, item.attempt, item.priority, item.content_hash) == ("claimed", 1, 3, "h")
    assert (item.checkpoint, item.alone) == (None, False)
    assert str(item) == "wiki/Article/a"
    assert await wiki.held(item.token) == [item]


async def test_tokens_grow_with_each_claim(wiki: Store) -> None:
    await wiki.add("wiki", "Article", ["a", "b", "c"])
    tokens = [(await wiki.claim(ARTICLES, owner="w", limit=1))[0].token for _ in range(3)]
    assert tokens == sorted(set(tokens))


async def test_nothing_is_claimed_before_its_time_and_it_is_after(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w")
    await wiki.settle([(item, Retry("busy", Trouble.RATE_LIMITED, retry_after=60))])
    tick(59)
    assert await wiki.claim(ARTICLES, owner="w") == []
    tick(2)
    [again] = await wiki.claim(ARTICLES, owner="w")
    assert (again.key, again.attempt) == ("a", 2)


async def test_what_is_due_is_claimed_in_order_with_the_rest(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", ["old"])
    old = await wiki.claim(ARTICLES, owner="w")
    await wiki.settle([(item, Retry("later", Trouble.TIMEOUT, retry_after=30)) for item in old])
    await wiki.add("wiki", "Article", [NewItem("urgent", "Article", priority=-1), "new"])
    tick(3600)
    assert [item.key for item in await wiki.claim(ARTICLES, owner="w")] == ["urgent", "old", "new"]


async def test_a_source_with_a_hundred_thousand_items_does_not_starve_one_with_ten(wiki: Store) -> None:
    await wiki.declare("small", "Article", ARTICLE)
    await wiki.add("wiki", "Article", [f"key {number}" for number in range(100_000)])
    await wiki.add("small", "Article", [NewItem(f"key {number}", "Article", priority=9) for number in range(10)])
    batch = await wiki.claim(ARTICLES, owner="w", limit=20)
    assert Counter(item.source for item in batch) == {"wiki": 10, "small": 10}


@pytest.mark.parametrize("limit", [1, 4])
async def test_no_source_starves_where_the_batch_is_smaller_than_their_number(wiki: Store, limit: int) -> None:
    for source in ("one", "two"):
        await wiki.declare(source, "Article", ARTICLE)
    for source in ("wiki", "one", "two"):
        await wiki.add(source, "Article", [f"key {number}" for number in range(300)])
    claimed: Counter[str] = Counter()
    for _ in range(60):
        claimed.update(item.source for item in await wiki.claim(ARTICLES, owner="w", limit=limit))
    assert sum(claimed.values()) == 60 * limit
    assert min(claimed[source] for source in ("wiki", "one", "two")) > 60 * limit / 3 / 3


async def test_sources_share_alike_however_many_labels_they_have(wiki: Store) -> None:
    for label in ("Page", "Talk", "Category"):
        await wiki.declare("large", label, ARTICLE)
        await wiki.add("large", label, [f"{label} {number}" for number in range(100)])
    await wiki.add("wiki", "Article", [f"a{number}" for number in range(100)])
    taken = Counter(item.source for item in await wiki.claim(ARTICLES, owner="w", limit=60))
    assert taken == {"large": 30, "wiki": 30}


async def test_a_source_that_only_waits_for_later_takes_no_share(wiki: Store, tick: Tick) -> None:
    await wiki.declare("late", "Article", ARTICLE)
    await wiki.add("late", "Article", [f"b{number}" for number in range(50)])
    await wiki.settle([(item, Retry("slow", retry_after=900)) for item in await wiki.claim(ARTICLES, owner="w")])
    await wiki.add("wiki", "Article", [f"a{number}" for number in range(100)])
    assert len(await wiki.claim(ARTICLES, owner="w", limit=80)) == 80
    tick(3600)
    assert Counter(item.source for item in await wiki.claim(ARTICLES, owner="w", limit=40)) == {"late": 20, "wiki": 20}


async def test_an_old_source_whose_worker_died_does_not_hide_a_new_one(wiki: Store, tick: Tick) -> None:
    """Items that are to be tried alone take turns with those of other sources."""
    await wiki.add("wiki", "Article", [f"key {number}" for number in range(20)])
    await wiki.claim(ARTICLES, owner="w", limit=20, lease_seconds=10)
    tick(11)
    await wiki.rescue()
    await wiki.declare("new", "Article", ARTICLE)
    await wiki.add("new", "Article", [f"key {number}" for number in range(20)])
    batches = [await wiki.claim(ARTICLES, owner="w", limit=4) for _ in range(12)]
    assert {item.source for batch in batches for item in batch} == {"wiki", "new"}


async def test_items_of_a_paused_source_are_not_claimed_until_it_is_resumed(wiki: Store) -> None:
    await wiki.declare("other", "Article", ARTICLE)
    await wiki.add("wiki", "Article", ["a"])
    await wiki.add("other", "Article", ["b"])
    await wiki.pause("wiki")
    await wiki.pause("wiki")
    assert [item.key for item in await wiki.claim(ARTICLES, owner="w")] == ["b"]
    assert await wiki.claim(ARTICLES, owner="w") == []
    await wiki.resume("wiki")
    assert [item.key for item in await wiki.claim(ARTICLES, owner="w")] == ["a"]


async def test_what_is_in_work_when_its_source_is_paused_is_still_settled(wiki: Store) -> None:
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w")
    await wiki.pause("wiki")
    [receipt] = await wiki.settle([(item, Done())])
    assert receipt.status == "applied"


async def test_two_workers_never_claim_the_same_item(database: str, wiki: Store, query: Query) -> None:
    """ANCESTORS 1: select-then-update gave one item to two workers."""
    await wiki.add("wiki", "Article", [f"key {number}" for number in range(3000)])
    stores = [await Store(database, size=3).open() for _ in range(3)]

    async def work(store: Store, owner: str) -> list[int]:
        taken: list[int] = []
        while batch := await store.claim(ARTICLES, owner=owner, limit=17):
            taken += [item.id for item in batch]
        return taken

    try:
        owned = await asyncio.gather(*[work(store, f"{n}{m}") for n, store in enumerate(stores) for m in range(3)])
    finally:
        for store in stores:
            await store.close()
    taken = [number for numbers in owned for number in numbers]
    assert len(taken) == len(set(taken)) == 3000
    assert query("SELECT count(*) FROM move")[0].count == 3000
    assert await wiki.tallies.check() == []


async def test_an_item_that_is_to_be_tried_alone_is_claimed_alone(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", ["a", "b"])
    await wiki.claim(ARTICLES, owner="w", limit=2, lease_seconds=10)
    await wiki.add("wiki", "Article", ["c", "d", "e"])
    tick(11)
    await wiki.rescue()
    batches = [await wiki.claim(ARTICLES, owner="w") for _ in range(3)]
    assert [([item.key for item in batch], batch[0].alone) for batch in batches] == [
        (["a"], True),
        (["b"], True),
        (["c", "d", "e"], False),
    ]


async def test_a_claim_of_nothing_leaves_no_lease(wiki: Store, query: Query) -> None:
    assert await wiki.claim(ARTICLES, owner="w") == []
    await wiki.add("wiki", "Article", ["a"])
    assert await wiki.claim(ARTICLES, owner="w", limit=0) == []
    assert await wiki.claim(ARTICLES, owner="w", kinds=[]) == []
    assert query("SELECT * FROM lease") == []


async def test_a_stage_begins_where_items_wait_for_work(wiki: Store) -> None:
    with pytest.raises(IllegalMove):
        await wiki.claim(Stage(ARTICLE, "loaded"), owner="w")


async def test_stages_of_one_lifecycle_are_claimed_apart(wiki: Store) -> None:
    await wiki.add("docs", "File", ["a", NewItem("b", "File", state="linked")])
    assert [item.key for item in await wiki.claim(Stage(NODE, "linked"), owner="w")] == ["b"]
    assert [item.key for item in await wiki.claim(Stage(NODE, "pending"), owner="w")] == ["a"]


async def test_a_crawl_that_a_person_stopped_is_not_among_what_waits(wiki: Store) -> None:
    await wiki.declare("api", "Crawl", CRAWL)
    await wiki.add("api", "Crawl", ["x"])
    [listed] = (await wiki.list(source="api")).items
    assert await wiki.items.move([listed.id], "paused", owner="a person") == [listed.id]
    assert await wiki.claim(Stage(CRAWL, "idle"), owner="w") == []


async def test_a_cursor_misses_nothing_in_the_end(wiki: Store) -> None:
    """It may look past what was added behind it, for a moment; a claim of nothing looks from the beginning."""
    await wiki.add("wiki", "Article", [NewItem(f"key {number}", "Article", priority=5) for number in range(50)])
    cursor = Cursor()
    taken = [item.key for item in await wiki.claim(ARTICLES, owner="w", limit=10, cursor=cursor)]
    cursor.trusted_until = float("inf")
    await wiki.add("wiki", "Article", ["urgent"])
    empty = 0
    while empty < 2:
        batch = await wiki.claim(ARTICLES, owner="w", limit=10, cursor=cursor)
        taken += [item.key for item in batch]
        empty += not batch
    assert sorted(taken) == sorted([f"key {number}" for number in range(50)] + ["urgent"])


def test_a_cursor_goes_on_from_its_last_claim_for_twenty_times_as_long_as_looking_took() -> None:
    cursor = Cursor()
    beginning = cursor.position(1, now=100.0)
    cursor.remember(100.0, 100.1, {1: (0, 50)})
    assert cursor.position(1, now=102.0) == (0, 50)
    assert cursor.position(2, now=102.0) > (2**31 - 2, 2**62), "nothing was found there a moment ago"
    assert cursor.position(1, now=102.2) == beginning
    cursor.remember(101.0, 101.1, {})
    assert cursor.position(1, now=101.2) == beginning, "there is no more from there on"


def test_a_cursor_looks_in_vain_for_a_twentieth_of_the_time_at_most_and_else_whenever_asked() -> None:
    cursor = Cursor()
    beginning = cursor.position(1, now=100.0)
    cursor.remember(100.0, 100.01, {})
    assert cursor.position(1, now=100.02) == beginning
    cursor.remember(101.0, 101.2, {})
    assert cursor.position(1, now=103.0) > beginning
    cursor.remember(103.0, 103.01, {})
    assert cursor.position(1, now=105.1) > beginning
    assert cursor.position(1, now=105.3) == beginning


def test_a_cursor_never_looks_away_for_long() -> None:
    cursor = Cursor()
    beginning = cursor.position(1, now=100.0)
    cursor.remember(100.0, 160.0, {})
    assert cursor.position(1, now=165.0) == beginning


async def test_an_item_that_was_tried_very_often_does_not_break_its_batch(wiki: Store, query: Query) -> None:
    await wiki.add("wiki", "Article", ["a", "b"])
    query("UPDATE item SET attempt = 32767 WHERE key = 'a'")
    stage = Stage(ARTICLE, "discovered", max_attempts=10**6)
    batch = await wiki.claim(stage, owner="w")
    assert [(item.key, item.attempt) for item in batch] == [("a", 32767), ("b", 1)]
    await wiki.settle([(item, Retry("again")) for item in batch], RetryPolicy(max_attempts=10**6))
    assert await wiki.tallies.check() == []


def test_a_cursor_in_doubt_looks_from_the_beginning_unless_that_takes_long() -> None:
    for took, again in ((0.07, True), (3.0, False)):
        cursor = Cursor()
        cursor.remember(100.0, 100.0 + took, {1: (0, 7)})
        assert cursor.position(1, 100.5 + took) == (0, 7)
        cursor.doubt()
        assert (cursor.position(1, 100.5 + took) != (0, 7)) is again
