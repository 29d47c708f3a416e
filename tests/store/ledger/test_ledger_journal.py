"""The journal: monthly partitions, made ahead, and dropped whole when they are old."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from detent.knowledge import Done
from detent.lifecycle import ARTICLE
from detent.store import Stage, Store

Query = Callable[..., list[Any]]

ARTICLES = Stage(ARTICLE, "discovered")


async def finish(store: Store, key: str, now: datetime) -> int:
    """An article's whole life, at one moment."""
    store.database.now = now
    await store.add("wiki", "Article", [key])
    [item] = await store.claim(ARTICLES, owner="w")
    await store.settle([(item, Done())])
    return item.id


def rows(query: Query) -> dict[str, int]:
    found = query("SELECT tableoid::regclass::text AS name, count(*) FROM journal GROUP BY 1")
    return {row.name: row.count for row in found}


async def test_a_new_database_has_partitions_for_this_month_and_the_next_two(wiki: Store, query: Query) -> None:
    await finish(wiki, "a", datetime.now(UTC))
    assert rows(query) == {f"journal_{datetime.now(UTC):%Y_%m}": 1}
    assert await wiki.journal.extend(datetime.now(UTC)) == []


async def test_moves_of_a_month_without_a_partition_are_kept_and_moved_when_it_is_made(
    wiki: Store, query: Query
) -> None:
    january = datetime(2031, 1, 31, 23, 59, 59, 999999, tzinfo=UTC)
    first = await finish(wiki, "a", january)
    second = await finish(wiki, "b", datetime(2031, 2, 1, tzinfo=UTC))
    third = await finish(wiki, "c", datetime(2031, 12, 31, tzinfo=UTC))
    assert rows(query) == {"journal_other": 3}
    stories = [await wiki.history(item) for item in (first, second, third)]
    made = await wiki.journal.extend(january, months=2)
    assert made == ["journal_2031_01", "journal_2031_02"]
    assert rows(query) == {"journal_2031_01": 1, "journal_2031_02": 1, "journal_other": 1}
    assert [await wiki.history(item) for item in (first, second, third)] == stories
    assert await wiki.journal.extend(datetime(2031, 12, 1, tzinfo=UTC), months=1) == ["journal_2031_12"]
    await finish(wiki, "d", datetime(2031, 12, 5, tzinfo=UTC))
    assert rows(query) == {"journal_2031_01": 1, "journal_2031_02": 1, "journal_2031_12": 2}


async def test_work_is_told_as_one_row_and_read_as_two_moves(wiki: Store, query: Query) -> None:
    began, ended = datetime(2031, 1, 1, tzinfo=UTC), datetime(2031, 3, 1, tzinfo=UTC)
    wiki.database.now = began
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w")
    [claim] = await wiki.history(item.id)
    assert (claim.from_state, claim.to_state, claim.at, claim.owner) == ("discovered", "claimed", began, "w")
    assert rows(query) == {}
    wiki.database.now = ended
    await wiki.settle([(item, Done())])
    told = await wiki.history(item.id)
    assert told[0] == claim
    assert (told[1].from_state, told[1].to_state, told[1].at, told[1].took) == (
        "claimed",
        "loaded",
        ended,
        ended - began,
    )
    assert (told[0].token, told[0].attempt) == (told[1].token, told[1].attempt) == (item.token, 1)
    assert rows(query) == {"journal_other": 1}


async def test_what_is_taken_from_a_worker_by_hand_tells_that_the_worker_had_it(wiki: Store) -> None:
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w")
    await wiki.reset([item.id])
    assert [(entry.from_state, entry.to_state, entry.owner) for entry in await wiki.history(item.id)] == [
        ("discovered", "claimed", "w"),
        ("claimed", "discovered", "by hand"),
    ]


async def test_pruning_drops_whole_months_and_no_other_move(wiki: Store, query: Query) -> None:
    for month in (1, 2, 3):
        await finish(wiki, str(month), datetime(2010, month, 15, tzinfo=UTC))
    stray = await finish(wiki, "stray", datetime(2009, 5, 1, tzinfo=UTC))
    await wiki.journal.extend(datetime(2010, 1, 1, tzinfo=UTC), months=3)
    wiki.database.now = None
    assert await wiki.journal.prune(datetime(2010, 2, 20, tzinfo=UTC)) == ["journal_2010_01"]
    assert {name: n for name, n in rows(query).items() if name < "journal_2010_99"} == {
        "journal_2010_02": 1,
        "journal_2010_03": 1,
    }
    assert await wiki.history(stray) == []
    assert (await wiki.show(stray)).item.state == "loaded"
    assert await wiki.journal.prune(datetime(2010, 2, 20, tzinfo=UTC)) == []
    assert await wiki.tallies.check() == []


async def test_partitions_are_made_and_dropped_by_several_at_once_while_work_goes_on(
    database: str, wiki: Store, query: Query
) -> None:
    await wiki.add("wiki", "Article", [str(number) for number in range(300)])
    stores = [await Store(database, size=2).open() for _ in range(4)]

    async def work(store: Store) -> None:
        while batch := await store.claim(ARTICLES, owner="w", limit=5):
            await store.settle([(item, Done()) for item in batch[:3]])
            await store.reset([item.id for item in batch[3:]])
            assert len(await store.history(batch[0].id)) % 2 == 0

    async def turn(store: Store) -> None:
        for year in range(2000, 2010):
            await store.journal.extend(datetime(year, 1, 1, tzinfo=UTC), months=2)
            await store.journal.prune(datetime(year, 2, 15, tzinfo=UTC))

    try:
        await asyncio.gather(*[work(store) for store in stores[:2]], *[turn(store) for store in stores[2:]])
    finally:
        for store in stores:
            await store.close()
    assert query("SELECT count(*) FROM journal WHERE to_state = 'loaded'")[0].count == 300
    assert await wiki.tallies.check() == []
