"""Leases: kept while their worker lives, taken from those who died, and never from anybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from detent.knowledge import Done, Item, Retry
from detent.lifecycle import ARTICLE, CRAWL, NODE, RetryPolicy, Trouble
from detent.store import Settled, Stage, Store

Query = Callable[..., list[Any]]
Tick = Callable[[float], datetime]

ARTICLES = Stage(ARTICLE, "discovered")


async def claimed(store: Store, *keys: str, owner: str = "w", stage: Stage = ARTICLES) -> list[Item]:
    await store.add("wiki", "Article", keys)
    return await store.claim(stage, owner=owner, limit=len(keys), lease_seconds=60)


async def test_renewal_keeps_a_lease_for_as_long_as_its_worker_lives(wiki: Store, tick: Tick) -> None:
    """ANCESTORS 5 and 6: a slow but healthy item ran twice; a batch's last item was reclaimed in its turn."""
    items = await claimed(wiki, "a", "b", "c")
    for _ in range(10):
        tick(50)
        assert await wiki.renew([items[0].token]) == {items[0].token}
        assert await wiki.rescue() == {}
    assert {receipt.status for receipt in await wiki.settle([(item, Done()) for item in items])} == {"applied"}


async def test_renewal_says_which_leases_are_lost(wiki: Store, tick: Tick) -> None:
    """ANCESTORS 7: a worker never learnt that it had lost its claim."""
    [dead], [alive] = await claimed(wiki, "a"), await claimed(wiki, "b")
    tick(50)
    await wiki.renew([alive.token])
    tick(20)
    await wiki.rescue()
    assert await wiki.renew([dead.token, alive.token, 10**9]) == {alive.token}
    assert await wiki.renew([]) == set()


async def test_renewal_of_a_lease_that_ran_out_unnoticed_keeps_it(wiki: Store, tick: Tick) -> None:
    [item] = await claimed(wiki, "a")
    tick(1000)
    assert await wiki.renew([item.token]) == {item.token}
    assert await wiki.rescue() == {}


async def test_renewal_costs_one_row_however_many_items_are_held(wiki: Store, query: Query) -> None:
    await claimed(wiki, *[f"key {number}" for number in range(500)])
    assert query("SELECT count(*), max(open) AS open FROM lease") == [(1, 500)]


async def test_rescue_takes_work_from_the_dead_counts_the_attempt_and_tells_why(wiki: Store, tick: Tick) -> None:
    [item] = await claimed(wiki, "a", owner="worker 7")
    tick(61)
    assert await wiki.rescue(owner="keeper") == {item.id: "discovered"}
    story = await wiki.show(item.id)
    assert (story.item.state, story.item.attempt, story.item.trouble) == ("discovered", 1, "worker_died")
    assert story.item.error == "worker worker 7 died or lost its lease while it held the item (attempt 1 of 3)"
    last = story.history[-1]
    assert (last.from_state, last.to_state, last.owner, last.token) == ("claimed", "discovered", "keeper", item.token)
    assert last.took == timedelta(seconds=61)
    [again] = await wiki.claim(ARTICLES, owner="w")
    assert (again.attempt, again.alone) == (2, True)


async def test_rescue_never_touches_a_lease_that_lives(wiki: Store, tick: Tick) -> None:
    """ANCESTORS 8: recovery at start reset what another process was working on."""
    [mine] = await claimed(wiki, "a")
    tick(30)
    [other] = await claimed(wiki, "b", owner="v")
    tick(31)
    assert await wiki.rescue() == {mine.id: "discovered"}
    assert await wiki.rescue(tokens=[mine.token]) == {}
    assert (await wiki.settle([(other, Done())]))[0].status == Settled.APPLIED


async def test_rescue_of_named_leases_does_not_wait_for_their_end(wiki: Store) -> None:
    [mine], [other] = await claimed(wiki, "a"), await claimed(wiki, "b")
    assert await wiki.rescue(tokens=[mine.token]) == {mine.id: "discovered"}
    assert [item.id for item in await wiki.held(other.token)] == [other.id]


async def test_an_item_that_kills_its_worker_ends_in_failure_with_that_reason(wiki: Store, tick: Tick) -> None:
    """ANCESTORS 11: it was claimed again for ever. Its neighbours are tried one by one, and succeed."""
    await wiki.add("wiki", "Article", [*"abcde", "deadly"])
    for _ in range(30):
        batch = await wiki.claim(ARTICLES, owner="w", lease_seconds=60)
        if any(item.key == "deadly" for item in batch):
            tick(61)
            await wiki.rescue()
        elif batch:
            await wiki.settle([(item, Done()) for item in batch])
    listed = {item.key: item for item in (await wiki.list(source="wiki")).items}
    assert {item.state for key, item in listed.items() if key != "deadly"} == {"loaded"}
    deadly = listed["deadly"]
    assert (deadly.state, deadly.attempt, deadly.trouble) == ("failed", 3, "worker_died")
    assert "attempt 3 of 3" in str(deadly.error)
    assert [item.error for item in listed.values() if item.key != "deadly"] == [None] * 5
    assert await wiki.tallies.check() == []


async def test_nobody_fails_for_a_death_that_it_did_not_meet_alone(wiki: Store, tick: Tick) -> None:
    """ANCESTORS 11: with one attempt allowed, all the neighbours of a deadly item failed with it."""
    once = Stage(ARTICLE, "discovered", max_attempts=1)
    await claimed(wiki, "a", "deadly", "c", stage=once)
    tick(61)
    assert set((await wiki.rescue()).values()) == {"discovered"}
    for _ in range(3):
        [item] = await wiki.claim(once, owner="w", lease_seconds=60)
        assert (item.attempt, item.alone) == (1, True)
        if item.key == "deadly":
            tick(61)
            assert await wiki.rescue() == {item.id: "failed"}
        else:
            await wiki.settle([(item, Done())])
    listed = {item.key: (item.state, item.error) for item in (await wiki.list(source="wiki")).items}
    assert listed["a"] == listed["c"] == ("loaded", None)
    assert "died or lost its lease while it held the item (attempt 1 of 1)" in str(listed["deadly"][1])


async def test_a_suspect_fails_only_for_a_death_after_it_was_begun_alone(wiki: Store, tick: Tick) -> None:
    """A worker that was killed with others in its hands had not begun with the suspect that it had claimed."""
    once = Stage(ARTICLE, "discovered", max_attempts=1)
    [suspect] = await claimed(wiki, "suspect", stage=once)
    tick(61)
    await wiki.rescue()
    await wiki.add("docs", "File", ["held"])
    await wiki.claim(Stage(NODE, "pending"), owner="w", lease_seconds=60)
    [again] = await wiki.claim(once, owner="w", lease_seconds=60)
    assert again.alone
    tick(61)
    assert (await wiki.rescue())[suspect.id] == "discovered"
    [held] = await wiki.claim(Stage(NODE, "pending"), owner="w")
    [again] = await wiki.claim(once, owner="w", lease_seconds=60)
    await wiki.settle([(held, Done())])
    await wiki.leases.begin_alone(again.token)
    tick(61)
    assert (await wiki.rescue())[suspect.id] == "failed"


async def test_rescuing_named_leases_alone_leaves_those_that_ran_out(wiki: Store, tick: Tick) -> None:
    [dead], [late] = await claimed(wiki, "a"), await claimed(wiki, "b")
    tick(61)
    assert await wiki.rescue(tokens=[dead.token], overdue=False) == {dead.id: "discovered"}
    assert await wiki.renew([late.token]) == {late.token}


async def test_the_last_attempt_beside_others_does_not_count_when_it_may_be_their_fault(wiki: Store) -> None:
    """One handler that blocked its worker made all its neighbours late, and those on their last attempt failed."""
    policy = RetryPolicy(max_attempts=1, base_seconds=0)
    late = Retry("over its time limit", Trouble.TIMEOUT, alone=True)
    items = await claimed(wiki, "a", "b")
    receipts = await wiki.settle([(item, late) for item in items], policy)
    assert {receipt.state for receipt in receipts} == {"discovered"}
    assert {item.trouble for item in (await wiki.list(source="wiki")).items} == {"timeout"}
    [alone] = await wiki.claim(ARTICLES, owner="w")
    assert alone.alone
    [receipt] = await wiki.settle([(alone, late)], policy)
    assert receipt.state == "failed"


async def test_an_item_that_is_to_be_tried_alone_stays_so_when_it_is_given_back_untried(
    wiki: Store, tick: Tick
) -> None:
    await claimed(wiki, "a", "b")
    tick(61)
    await wiki.rescue()
    await wiki.add("wiki", "Article", ["c"])
    [alone] = await wiki.claim(ARTICLES, owner="w")
    assert (await wiki.held(alone.token))[0].alone
    await wiki.release(await wiki.held(alone.token))
    [again] = await wiki.claim(ARTICLES, owner="w")
    assert (again.key, again.alone, again.attempt) == (alone.key, True, alone.attempt)


async def test_an_item_that_killed_its_workers_is_alone_when_a_person_retries_it(wiki: Store, tick: Tick) -> None:
    [item] = await claimed(wiki, "a")
    for _ in range(3):
        tick(61)
        await wiki.rescue()
        await wiki.claim(ARTICLES, owner="w", lease_seconds=60)
    assert (await wiki.show(item.id)).item.state == "failed"
    await wiki.retry([item.id])
    await wiki.add("wiki", "Article", ["b"])
    assert [(item.key, item.alone) for item in await wiki.claim(ARTICLES, owner="w")] == [("a", True)]


async def test_rescue_leaves_what_was_settled_and_takes_the_rest(wiki: Store, tick: Tick) -> None:
    items = await claimed(wiki, "a", "b", "c")
    await wiki.settle([(items[0], Done())])
    await wiki.release([items[1]])
    tick(61)
    assert await wiki.rescue() == {items[2].id: "discovered"}
    assert [(await wiki.show(item.id)).item.attempt for item in items] == [0, 0, 1]


async def test_an_item_that_was_settled_and_claimed_anew_is_not_taken_with_its_old_lease(
    wiki: Store, tick: Tick
) -> None:
    items = await claimed(wiki, "a", "b")
    await wiki.settle([(items[0], Retry("soon", Trouble.TIMEOUT))])
    tick(50)
    [again] = await wiki.claim(ARTICLES, owner="v", lease_seconds=60)
    tick(11)
    assert await wiki.rescue() == {items[1].id: "discovered"}
    assert (await wiki.settle([(again, Done())]))[0].status == Settled.APPLIED


async def test_work_that_is_given_back_through_failure_tells_both_moves(wiki: Store, tick: Tick) -> None:
    await wiki.declare("api", "Crawl", CRAWL)
    await wiki.add("api", "Crawl", ["x"])
    stage = Stage(CRAWL, "idle")
    [item] = await wiki.claim(stage, owner="w", lease_seconds=60)
    await wiki.settle([(item, Retry("soon"))])
    tick(3600)
    [item] = await wiki.claim(Stage(CRAWL, "resuming"), owner="w", lease_seconds=60)
    tick(61)
    await wiki.rescue()
    assert [(entry.from_state, entry.to_state) for entry in await wiki.history(item.id)] == [
        ("idle", "running"),
        ("running", "error"),
        ("error", "resuming"),
        ("resuming", "fetching"),
        ("fetching", "error"),
        ("error", "resuming"),
    ]


async def test_several_rescuers_take_each_item_once(database: str, wiki: Store) -> None:
    for number in range(20):
        await claimed(wiki, f"a{number}", f"b{number}")
    later = datetime.now(UTC) + timedelta(hours=1)
    stores = [await Store(database, size=1).open() for _ in range(4)]
    try:
        for store in stores:
            store.database.now = later
        taken = await asyncio.gather(*[store.rescue() for store in stores])
    finally:
        for store in stores:
            await store.close()
    assert sorted(number for went in taken for number in went) == sorted({n for went in taken for n in went})
    wiki.database.now = later
    rest = await wiki.rescue()
    assert len(rest) + sum(map(len, taken)) == 40
    assert await wiki.tallies.check() == []


async def test_any_number_of_leases_is_rescued_at_once(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", [f"key {number}" for number in range(250)])
    await wiki.claim(ARTICLES, owner="w", limit=250, lease_seconds=60, apart=True)
    tick(61)
    assert len(await wiki.rescue()) == 250


async def test_the_database_has_the_only_clock(database: str, wiki: Store, tick: Tick) -> None:
    """A worker whose own clock is wrong neither keeps work for longer nor takes it sooner."""
    [item] = await claimed(wiki, "a")
    story = await wiki.show(item.id)
    assert story.deadline == tick(0) + timedelta(seconds=60)
    assert (story.owner, story.token) == ("w", item.token)
    assert story.item.since == story.item.added_at == tick(0)
    tick(60)
    assert await wiki.rescue() == {}
    tick(0.001)
    assert await wiki.rescue() == {item.id: "discovered"}


async def test_who_holds_work_is_shown_by_owner(wiki: Store, tick: Tick) -> None:
    await claimed(wiki, "a", "b")
    tick(5)
    [last] = await claimed(wiki, "c")
    await claimed(wiki, "d", owner="v")
    await wiki.settle([(last, Done())])
    workers = [(worker.owner, worker.leases, worker.items) for worker in await wiki.workers()]
    assert workers == [("v", 1, 1), ("w", 1, 2)]


async def test_attempts_are_counted_for_each_stage_by_itself(wiki: Store, tick: Tick) -> None:
    await wiki.add("docs", "File", ["a"])
    for stage in (Stage(NODE, "pending"), Stage(NODE, "parsed")):
        for attempt in (1, 2):
            tick(3600)
            [item] = await wiki.claim(stage, owner="w")
            assert item.attempt == attempt
            outcome = Done() if attempt == 2 else Retry("once", Trouble.TIMEOUT)
            await wiki.settle([(item, outcome)], RetryPolicy(max_attempts=2))
    assert (await wiki.show(item.id)).item.state == "linked"
