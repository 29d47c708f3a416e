"""Counts that are kept and not made by scanning; and the check of what must always be true."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from detent.knowledge import Done, Retry
from detent.lifecycle import ARTICLE
from detent.store import Stage, Store
from detent.store.ledger.tallies import MANY

Query = Callable[..., list[Any]]
Tick = Callable[[float], datetime]

ARTICLES = Stage(ARTICLE, "discovered")


async def counts(store: Store) -> dict[str, int]:
    return {line.state: line.count for line in await store.count_by_state()}


async def test_counts_follow_every_move_in_the_order_of_the_lifecycle(wiki: Store) -> None:
    await wiki.add("wiki", "Article", "abcd")
    items = await wiki.claim(ARTICLES, owner="w", limit=3)
    await wiki.settle([(items[0], Done()), (items[1], Done(to="processed"))])
    lines = await wiki.count_by_state()
    assert [(line.source, line.label, line.lifecycle) for line in lines] == [("wiki", "Article", "article")] * 4
    assert [(line.state, line.count) for line in lines] == [
        ("discovered", 1),
        ("claimed", 1),
        ("loaded", 1),
        ("processed", 1),
    ]


async def test_counting_reads_the_tally_and_not_the_items(wiki: Store, query: Query) -> None:
    """ANCESTORS 12 and 46: counting for the status line scanned all items, twice per loop."""
    await wiki.add("wiki", "Article", "abc")
    query("ALTER TABLE item RENAME TO elsewhere")
    assert await counts(wiki) == {"discovered": 3}


async def test_folding_keeps_the_counts_and_leaves_one_row_per_state(wiki: Store, query: Query) -> None:
    for number in range(MANY):
        await wiki.add("wiki", "Article", [f"{number}"])
    await wiki.tallies.fold()
    assert query("SELECT count(*) FROM tally")[0].count == MANY
    await wiki.add("wiki", "Article", ["one more"])
    await wiki.tallies.fold()
    assert query("SELECT state, count FROM tally") == [("discovered", MANY + 1)]


async def test_counts_stay_true_while_many_write_and_fold(database: str, wiki: Store, query: Query) -> None:
    stores = [await Store(database, size=2).open() for _ in range(3)]
    query("INSERT INTO tally SELECT id, 'discovered', 0 FROM kind, generate_series(1, 300)")

    async def write(store: Store, name: int) -> None:
        for number in range(25):
            await store.add("wiki", "Article", [f"{name} {number} {n}" for n in range(4)])
            batch = await store.claim(ARTICLES, owner=str(name), limit=3)
            await store.settle([(item, Done() if item.id % 2 else Retry("x", retry_after=3600)) for item in batch])

    async def fold(store: Store) -> None:
        for _ in range(40):
            query("INSERT INTO tally SELECT id, 'discovered', 0 FROM kind, generate_series(1, 101)")
            await store.tallies.fold()
            assert await store.tallies.check() == []
            await asyncio.sleep(0)

    try:
        await asyncio.gather(*[write(store, n) for n, store in enumerate(stores)], *[fold(s) for s in stores])
    finally:
        for store in stores:
            await store.close()
    assert sum((await counts(wiki)).values()) == 300
    assert await wiki.tallies.check() == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE tally SET count = count + 5", "tallied"),
        ("DELETE FROM tally", "0 tallied, 4 counted"),
        ("INSERT INTO tally SELECT id, 'nowhere', 3 FROM kind LIMIT 1", "nowhere: 3 tallied, 0 counted"),
        ("DELETE FROM place WHERE item_id = (SELECT id FROM item WHERE key = 'a')", "neither a place nor a lease"),
        ("UPDATE place SET state = 'loaded' WHERE item_id = (SELECT id FROM item WHERE key = 'a')", "says loaded"),
        ("UPDATE place SET priority = 7 WHERE item_id = (SELECT id FROM item WHERE key = 'a')", "or another time"),
        ("INSERT INTO place SELECT kind_id, state, now(), priority, id FROM item WHERE key = 'a'", "has 2 places"),
        ("INSERT INTO place SELECT kind_id, 'claimed', now(), 0, 10000 FROM item LIMIT 1", "no item 10000"),
        (
            "INSERT INTO place SELECT kind_id, state, not_before, priority, id FROM item WHERE state = 'claimed'",
            "both a place and a lease",
        ),
        ("DELETE FROM lease", "neither a place nor a lease"),
        ("UPDATE item SET token = token + 1 WHERE state = 'claimed'", "neither a place nor a lease"),
        ("UPDATE lease SET open = 7", "counts 7 items and holds 1"),
    ],
)
async def test_damage_is_found_and_repaired_and_work_goes_on(
    wiki: Store, query: Query, tick: Tick, damage: str, said: str
) -> None:
    await wiki.add("wiki", "Article", "abcde")
    # Four wait or are done, one is in work.
    done, _ = await wiki.claim(ARTICLES, owner="w", limit=2)
    await wiki.settle([(done, Done())])
    await wiki.reset([done.id])
    assert await wiki.tallies.check() == []
    query(damage)
    assert any(said in line for line in await wiki.tallies.check())
    await wiki.tallies.repair()
    tick(86_400 * 365 * 10)
    await wiki.rescue()
    assert await wiki.tallies.check() == []
    finished = 0
    while batch := await wiki.claim(ARTICLES, owner="w", limit=2):
        finished += len(batch)
        await wiki.settle([(item, Done()) for item in batch])
    assert finished == 5
    assert await counts(wiki) == {"loaded": 5}
    assert await wiki.tallies.check() == []


async def test_items_in_a_state_that_their_lifecycle_no_longer_has_are_told(wiki: Store, query: Query) -> None:
    """An older program, which knew another lifecycle, went on settling."""
    await wiki.add("wiki", "Article", ["a", "b"])
    for table in ("item", "place", "tally"):
        query(f"UPDATE {table} SET state = 'archived' WHERE state = 'discovered'")  # noqa: S608
    [told] = await wiki.tallies.check()
    assert told.startswith("2 items of wiki/Article are archived, a state that the lifecycle article no longer has")


async def test_repairing_a_sound_database_changes_nothing(wiki: Store, query: Query) -> None:
    await wiki.add("wiki", "Article", "abc")
    [item] = await wiki.claim(ARTICLES, owner="w", limit=1)
    tables = ("item", "place", "lease", "tally", "journal")
    looks = [f"SELECT count(*), sum(hashtext({table}::text)) FROM {table}" for table in tables]  # noqa: S608
    before = [query(look) for look in looks]
    await wiki.tallies.repair()
    assert [query(look) for look in looks] == before
    assert (await wiki.settle([(item, Done())]))[0].status == "applied"


async def test_checking_and_repairing_hold_nobody_up(database: str, wiki: Store, query: Query) -> None:
    """A check of ten million items takes a while; workers go on meanwhile, and the counts stay true."""
    await wiki.add("wiki", "Article", [str(number) for number in range(200)])

    async def work() -> None:
        while batch := await wiki.claim(ARTICLES, owner="w", limit=5):
            await wiki.settle([(item, Done()) for item in batch])

    async def mend(damage: str) -> None:
        async with Store(database) as other:
            for _ in range(20):
                query(damage)
                await other.tallies.repair()
                assert await other.tallies.check() == []

    await asyncio.gather(work(), mend("SELECT 1"))
    await wiki.add("wiki", "Article", [str(number) for number in range(200, 300)])
    await asyncio.gather(work(), mend("INSERT INTO tally SELECT id, 'loaded', 1 FROM kind"), wiki.tallies.repair())
    assert await counts(wiki) == {"loaded": 300}


async def test_what_waits_for_later_is_counted_with_its_first_time(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", "abc")
    kind = await wiki.kinds.get("wiki", "Article")
    assert await wiki.tallies.later([(kind, "discovered")]) == (0, None, None)
    items = await wiki.claim(ARTICLES, owner="w", limit=2)
    waits = [(item, Retry("later", retry_after=60 * n)) for n, item in enumerate(items, 1)]
    await wiki.settle(waits)
    count, first, seconds = await wiki.tallies.later([(kind, "discovered")])
    assert count == 2
    assert first is not None
    assert (first - tick(0)).total_seconds() == seconds == 60


async def test_rounds_of_work_do_not_bloat_the_tables(wiki: Store, query: Query) -> None:
    """ANCESTORS 38: the finished rows of a queue killed the database. Autovacuum's part is played by VACUUM."""
    await wiki.add("wiki", "Article", [f"key {number:04}" for number in range(1000)])
    sizes: list[dict[str, int]] = []
    for number in range(20):
        while batch := await wiki.claim(ARTICLES, owner="w", limit=250):
            await wiki.settle([(item, Done()) for item in batch])
        await wiki.mark_changed("wiki", "Article", {f"key {n:04}": str(number) for n in range(1000)})
        await wiki.tallies.fold()
        for table in ("item", "place", "lease", "tally"):
            query(f"VACUUM {table}")
        rows = query(
            "SELECT relname, pg_relation_size(oid)::bigint AS size FROM pg_class "
            "WHERE relname IN ('item', 'item_pkey', 'item_key', 'place', 'place_order', 'lease', 'tally')"
        )
        sizes.append({row.relname: row.size for row in rows})
    # Without vacuum, or if moves touched indexes, they would be some twenty times as large.
    for name, size in sizes[-1].items():
        assert size <= max(3 * sizes[0][name], 200_000), (name, size, sizes[0][name])
    assert query("SELECT count(*) FROM lease")[0].count == 0
    assert query("SELECT count(*) FROM tally")[0].count <= MANY
    updated = query("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'item'")
    assert updated == [] or updated[0].n_tup_hot_upd >= 0.8 * updated[0].n_tup_upd
