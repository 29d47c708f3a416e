"""Settling: state and data in one transaction, under a token, and the truth about each item."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from detent.errors import DatabaseBusy
from detent.knowledge import Done, Failed, Item, NewItem, Node, Outcome, Reference, Retry, Skipped
from detent.lifecycle import ARTICLE, NODE, RetryPolicy, Trouble
from detent.store import Settled, Stage, Store

Query = Callable[..., list[Any]]
Tick = Callable[[float], datetime]

ARTICLES = Stage(ARTICLE, "discovered")
PARSING = Stage(NODE, "pending")


async def claimed(store: Store, *keys: str, owner: str = "w") -> list[Item]:
    await store.add("wiki", "Article", keys)
    return await store.claim(ARTICLES, owner=owner, limit=len(keys), lease_seconds=60)


async def moves(store: Store, item: int) -> list[tuple[str, str]]:
    return [(entry.from_state, entry.to_state) for entry in await store.history(item)]


async def test_done_moves_the_item_on_and_closes_its_lease(wiki: Store, query: Query) -> None:
    items = await claimed(wiki, "a", "b")
    receipts = await wiki.settle([(items[0], Done())])
    assert [(r.status, r.state, r.reason) for r in receipts] == [(Settled.APPLIED, "loaded", None)]
    assert [row.open for row in query("SELECT open FROM lease")] == [1]
    await wiki.settle([(items[1], Done())])
    assert query("SELECT * FROM lease") == []
    assert query("SELECT state, attempt FROM item") == [("loaded", 0), ("loaded", 0)]
    assert await wiki.tallies.check() == []


async def test_done_can_name_the_state_after_success_and_both_moves_are_told(wiki: Store) -> None:
    [item] = await claimed(wiki, "a")
    [receipt] = await wiki.settle([(item, Done(to="processed", note="short"))])
    assert receipt.state == "processed"
    assert await moves(wiki, item.id) == [("discovered", "claimed"), ("claimed", "loaded"), ("loaded", "processed")]
    story = await wiki.show(item.id)
    assert [(e.owner, e.attempt, e.token, e.reason) for e in story.history] == [
        ("w", 1, item.token, None),
        ("w", 1, item.token, "short"),
        ("w", 1, item.token, "short"),
    ]


async def test_skipping_what_waits_for_work_is_told_as_two_moves(wiki: Store) -> None:
    """ANCESTORS 19: what no stage wants does not stay where it waits for one."""
    await wiki.add("docs", "File", ["a"])
    [item] = await wiki.claim(PARSING, owner="w")
    [receipt] = await wiki.settle([(item, Skipped("too short"))])
    assert (receipt.status, receipt.state) == (Settled.APPLIED, "skip")
    assert await moves(wiki, item.id) == [("pending", "parsing"), ("parsing", "pending"), ("pending", "skip")]
    assert (await wiki.history(item.id))[-1].reason == "too short"
    assert await wiki.claim(PARSING, owner="w") == []


async def test_skipping_where_the_lifecycle_has_no_skip_fails_the_item_and_says_so(wiki: Store) -> None:
    """ANCESTORS 14: the table of legal moves is asked."""
    [item] = await claimed(wiki, "a")
    [receipt] = await wiki.settle([(item, Skipped("no"))])
    assert (receipt.status, receipt.state) == (Settled.REFUSED, "failed")
    assert "no such move" in str(receipt.reason)


async def test_a_retry_waits_longer_each_time_and_keeps_the_reason(wiki: Store, tick: Tick) -> None:
    await claimed(wiki, "a")
    [item] = await wiki.held(1)
    policy = RetryPolicy(max_attempts=3, base_seconds=10)
    [receipt] = await wiki.settle([(item, Retry("timed out", Trouble.TIMEOUT))], policy)
    assert (receipt.status, receipt.state) == (Settled.APPLIED, "discovered")
    now = tick(0)
    story = (await wiki.show(item.id)).item
    assert story.not_before is not None
    assert timedelta(seconds=10) <= story.not_before - now <= timedelta(seconds=15)
    assert (story.error_kind, story.trouble, story.error, story.attempt) == ("timeout", "timeout", "timed out", 1)
    now = tick(15)
    [item] = await wiki.claim(ARTICLES, owner="w")
    await wiki.settle([(item, Retry("timed out", Trouble.TIMEOUT))], policy)
    story = (await wiki.show(item.id)).item
    assert story.not_before is not None
    assert timedelta(seconds=20) <= story.not_before - now <= timedelta(seconds=30)


async def test_retry_after_is_never_undercut(wiki: Store, tick: Tick) -> None:
    [item] = await claimed(wiki, "a")
    await wiki.settle([(item, Retry("429", Trouble.RATE_LIMITED, retry_after=7200))])
    story = (await wiki.show(item.id)).item
    assert story.not_before == tick(0) + timedelta(hours=2)


async def test_what_an_item_has_nothing_to_do_with_costs_it_no_attempt(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", ["a"])
    policy = RetryPolicy(max_attempts=2, base_seconds=10)
    for _ in range(5):
        tick(10_000)
        [item] = await wiki.claim(ARTICLES, owner="w")
        await wiki.settle([(item, Retry("away", Trouble.NETWORK, blameless=True))], policy)
    story = (await wiki.show(item.id)).item
    assert (story.state, story.attempt, story.error) == ("discovered", 0, "away")
    assert story.not_before is not None
    assert timedelta(seconds=10) <= story.not_before - tick(0) <= timedelta(seconds=15)
    for _ in range(2):
        tick(10_000)
        [item] = await wiki.claim(ARTICLES, owner="w")
        await wiki.settle([(item, Retry("no route", Trouble.NETWORK))], policy)
    assert (await wiki.show(item.id)).item.state == "failed"


@pytest.mark.parametrize("outcome", [Done(), Done(Node("A"))])
async def test_success_forgets_that_a_service_was_away(wiki: Store, tick: Tick, outcome: Done) -> None:
    [item] = await claimed(wiki, "a")
    await wiki.settle([(item, Retry("away", Trouble.NETWORK, blameless=True))])
    tick(10_000)
    [item] = await wiki.claim(ARTICLES, owner="w")
    await wiki.settle([(item, outcome)])
    story = (await wiki.show(item.id)).item
    assert (story.state, story.error) == ("loaded", None)


async def test_the_last_attempt_fails_with_its_reason_and_the_count(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", ["a"])
    for _ in range(3):
        tick(10_000)
        [item] = await wiki.claim(ARTICLES, owner="w")
        [receipt] = await wiki.settle([(item, Retry("no route", Trouble.NETWORK))], RetryPolicy(max_attempts=3))
    assert (receipt.status, receipt.state) == (Settled.APPLIED, "failed")
    story = (await wiki.show(item.id)).item
    assert (story.state, story.attempt, story.error) == ("failed", 3, "no route (3 of 3 attempts failed)")
    assert await wiki.claim(ARTICLES, owner="w") == []


async def test_what_is_permanent_fails_at_once(wiki: Store) -> None:
    items = await claimed(wiki, "a", "b")
    outcomes: list[tuple[Item, Outcome]] = [
        (items[0], Failed("404", Trouble.NOT_FOUND)),
        (items[1], Retry("403", Trouble.FORBIDDEN)),
    ]
    assert [receipt.state for receipt in await wiki.settle(outcomes)] == ["failed", "failed"]
    page = await wiki.list(error_kind="not_found")
    assert [(item.key, item.error) for item in page.items] == [("a", "404")]


@pytest.mark.parametrize("emptied", [False, True])
async def test_what_fails_keeps_what_it_had_unless_it_is_emptied(wiki: Store, query: Query, emptied: bool) -> None:
    [item] = await claimed(wiki, "a")
    await wiki.settle(
        [(item, Done(Node("A", "text"), [Reference("LINKS_TO", "Article", "b")], content_hash="1", aliases=["aa"]))]
    )
    await wiki.mark_changed("wiki", "Article", {"a": "2"})
    [item] = await wiki.claim(ARTICLES, owner="w", limit=1, lease_seconds=60)
    [receipt] = await wiki.settle([(item, Failed("It is none.", content_hash="3", emptied=emptied))])
    assert (receipt.status, receipt.state) == (Settled.APPLIED, "failed")
    kept = [len(query(f"TABLE {table}")) for table in ("node", "reference", "alias_claim")]
    assert kept == ([0, 0, 0] if emptied else [1, 1, 1])
    assert query("SELECT content_hash, message FROM item JOIN failure ON item_id = item.id") == [("3", "It is none.")]
    assert await wiki.mark_changed("wiki", "Article", {"a": "3"}) == 0


async def test_the_kind_of_failure_is_that_of_the_stage_where_the_lifecycle_says_so(wiki: Store) -> None:
    await wiki.add("docs", "File", ["a"])
    [item] = await wiki.claim(PARSING, owner="w")
    await wiki.settle([(item, Failed("bad syntax", Trouble.MALFORMED))])
    [listed] = (await wiki.list(error_kind="parse")).items
    assert (listed.state, listed.error_kind, listed.trouble) == ("error", "parse", "malformed")


async def test_success_forgets_an_earlier_failure(wiki: Store, tick: Tick) -> None:
    [item] = await claimed(wiki, "a")
    await wiki.settle([(item, Retry("once"))])
    tick(3600)
    [item] = await wiki.claim(ARTICLES, owner="w")
    await wiki.settle([(item, Done())])
    story = (await wiki.show(item.id)).item
    assert (story.attempt, story.error, story.error_kind) == (0, None, None)


async def test_a_worker_that_lost_its_lease_writes_neither_state_nor_data(
    wiki: Store, tick: Tick, query: Query
) -> None:
    """ANCESTORS 2: after a reclaim the first worker's late result still landed."""
    [late] = await claimed(wiki, "a")
    tick(61)
    await wiki.rescue()
    [held] = await wiki.claim(ARTICLES, owner="second")
    for outcome in (Done(node=Node("late"), found=[NewItem("x", "Article")]), Failed("late"), Retry("late")):
        [receipt] = await wiki.settle([(late, outcome)])
        assert (receipt.status, receipt.state) == (Settled.LOST, "claimed")
        assert "no longer held" in str(receipt.reason)
    assert query("SELECT count(*) FROM node")[0].count == 0
    assert query("SELECT count(*) FROM item")[0].count == 1
    [receipt] = await wiki.settle([(held, Done(node=Node("good")))])
    assert receipt.status == Settled.APPLIED
    [receipt] = await wiki.settle([(late, Failed("later still"))])
    assert (receipt.status, receipt.state) == (Settled.LOST, "loaded")
    assert query("SELECT title FROM node") == [("good",)]


async def test_a_failure_that_comes_late_does_not_push_a_finished_item_back(wiki: Store) -> None:
    """ANCESTORS 3: `mark_failed` without a state guard."""
    [item] = await claimed(wiki, "a")
    await wiki.settle([(item, Done())])
    [receipt] = await wiki.settle([(item, Failed("late"))])
    assert (receipt.status, receipt.state) == (Settled.ALREADY, "loaded")
    assert (await wiki.show(item.id)).item.error is None


async def test_settling_twice_says_already_and_writes_once(wiki: Store, query: Query) -> None:
    [item] = await claimed(wiki, "a")
    outcome = Done(node=Node("t"), found=[NewItem("b", "Article")], checkpoint={"page": 1})
    assert [(await wiki.settle([(item, outcome)]))[0].status for _ in range(2)] == ["applied", "already"]
    assert query("SELECT count(*) FROM move WHERE item_id = %s", item.id)[0].count == 2
    assert await wiki.tallies.check() == []


async def test_a_forged_token_is_worth_nothing(wiki: Store) -> None:
    mine, other = (await claimed(wiki, "a"))[0], (await claimed(wiki, "b", owner="v"))[0]
    for token in (other.token, mine.token + 1000, 0, -1):
        [receipt] = await wiki.settle([(mine._replace(token=token), Done())])
        assert receipt.status == Settled.LOST
    assert (await wiki.settle([(mine, Done())]))[0].status == Settled.APPLIED
    assert await wiki.tallies.check() == []


async def test_an_item_that_comes_twice_in_one_batch_is_settled_by_the_first_that_may(
    wiki: Store, query: Query
) -> None:
    mine, other = (await claimed(wiki, "a"))[0], (await claimed(wiki, "b", owner="v"))[0]
    forged = mine._replace(token=other.token)
    outcomes = [
        (forged, Done(node=Node("forged"))),
        (mine, Done(node=Node("first"))),
        (other, Done()),
        (mine, Done(node=Node("second"))),
    ]
    receipts = await wiki.settle(outcomes)
    assert [receipt.status for receipt in receipts] == ["lost", "applied", "applied", "already"]
    assert query("SELECT title FROM node") == [("first",)]
    assert await wiki.tallies.check() == []


async def test_a_batch_of_several_leases_is_settled_together(wiki: Store, query: Query) -> None:
    items = [(await claimed(wiki, key))[0] for key in "abcde"]
    receipts = await wiki.settle([(item, Done()) for item in reversed(items)])
    assert {receipt.status for receipt in receipts} == {Settled.APPLIED}
    assert [receipt.item.key for receipt in receipts] == list("edcba")
    assert query("SELECT * FROM lease") == []


async def test_state_and_data_are_written_in_one_transaction(wiki: Store, query: Query) -> None:
    """ANCESTORS 10: `loaded` was set before the sections existed."""
    await wiki.declare("wiki", "Section", NODE)
    [item] = await claimed(wiki, "a")
    query("CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$")
    query("CREATE TRIGGER fault BEFORE INSERT ON checkpoint FOR EACH ROW EXECUTE FUNCTION fault()")
    outcome = Done(
        node=Node("t"),
        references=[Reference("HAS", "Section", "a#1")],
        found=[NewItem("a#1", "Section", state="linked")],
        checkpoint={"page": 1},
    )
    with pytest.raises(DatabaseBusy):
        await wiki.settle([(item, outcome)])
    for table in ("node", "reference", "checkpoint"):
        assert query(f"SELECT count(*) FROM {table}")[0].count == 0  # noqa: S608  names from this test
    assert query("SELECT state FROM item") == [("claimed",)]
    query("DROP TRIGGER fault ON checkpoint")
    assert (await wiki.settle([(item, outcome)]))[0].status == Settled.APPLIED
    assert query("SELECT key, state FROM item ORDER BY id") == [("a", "loaded"), ("a#1", "linked")]
    assert query("SELECT data FROM checkpoint") == [({"page": 1},)]


async def test_a_checkpoint_comes_back_with_the_next_claim(wiki: Store, tick: Tick) -> None:
    await wiki.add("docs", "File", ["a"])
    [item] = await wiki.claim(PARSING, owner="w")
    await wiki.settle([(item, Done(checkpoint={"page": 7, "seen": ["x"]}))])
    [item] = await wiki.claim(Stage(NODE, "parsed"), owner="w")
    assert item.checkpoint == {"page": 7, "seen": ["x"]}
    assert [held.checkpoint for held in await wiki.held(item.token)] == [{"page": 7, "seen": ["x"]}]


async def test_found_items_enter_once_with_their_priority_and_never_disturb_those_there(
    wiki: Store, query: Query
) -> None:
    items = await claimed(wiki, "a", "b")
    found = [NewItem("c", "Article", priority=1), NewItem("a", "Article", priority=1)]
    await wiki.settle([(item, Done(found=found)) for item in items])
    assert query("SELECT key, state, priority FROM item ORDER BY id") == [
        ("a", "loaded", 0),
        ("b", "loaded", 0),
        ("c", "discovered", 1),
    ]
    assert await wiki.tallies.check() == []


async def test_articles_that_found_each_other_are_settled_at_once(database: str, wiki: Store) -> None:
    """Adding what is there already waits for nobody; two workers would wait for each other in a circle."""
    keys = [f"key {number}" for number in range(30)]
    async with Store(database) as other:
        for _ in range(15):
            mine, theirs = await claimed(wiki, *keys[:15]), await claimed(other, *keys[15:])
            found = Done(found=[NewItem(key, "Article") for key in keys])
            receipts = await asyncio.gather(
                *[wiki.settle([(item, found) for item in items]) for items in (mine[:8], mine[8:])],
                *[other.settle([(item, found) for item in items]) for items in (theirs[:8], theirs[8:])],
            )
            assert {receipt.status for batch in receipts for receipt in batch} == {Settled.APPLIED}
            await wiki.reset([item.id for item in (*mine, *theirs)])


@pytest.mark.parametrize("target_first", [True, False])
async def test_a_reference_is_an_edge_from_the_moment_its_target_has_content(
    wiki: Store, query: Query, target_first: bool
) -> None:
    """Links to what is not there yet are neither lost nor made into empty articles."""
    items = {item.key: item for item in await claimed(wiki, "from", "to")}
    link = Reference("LINKS", "Article", "to", properties={"n": 1})
    settlings = [(items["from"], Done(node=Node("f"), references=[link])), (items["to"], Done(node=Node("t")))]
    first, second = reversed(settlings) if target_first else settlings
    await wiki.settle([first])
    assert query("SELECT * FROM edge") == []
    await wiki.settle([second])
    edge = (items["from"].id, "LINKS", items["to"].id, 0, {"n": 1})
    assert [tuple(row) for row in query("SELECT * FROM edge")] == [edge]


async def test_references_are_replaced_as_a_whole_and_left_alone_when_not_given(wiki: Store, query: Query) -> None:
    async def settle(done: Done) -> list[tuple[int, str]]:
        [item] = await wiki.claim(ARTICLES, owner="w", limit=1)
        await wiki.settle([(item, done)])
        await wiki.reset([item.id])
        return [tuple(row) for row in query("SELECT position, key FROM reference ORDER BY position")]

    await wiki.add("wiki", "Article", ["a"])
    links = [Reference("LINKS", "Article", key) for key in ("x", "y", "x")]
    assert await settle(Done(references=links)) == [(0, "x"), (1, "y"), (2, "x")]
    assert await settle(Done()) == [(0, "x"), (1, "y"), (2, "x")]
    assert await settle(Done(references=links[1:2])) == [(0, "y")]
    assert await settle(Done(references=[])) == []


async def test_a_node_is_replaced_by_its_next_version(wiki: Store, query: Query) -> None:
    await wiki.add("wiki", "Article", ["a"])
    for title in ("one", "two"):
        [item] = await wiki.claim(ARTICLES, owner="w")
        await wiki.settle([(item, Done(node=Node(title, "text", {"v": title}), content_hash=title))])
        await wiki.mark_changed("wiki", "Article", {"a": title + "!"})
    assert query("SELECT title, properties FROM node") == [("two", {"v": "two"})]


async def test_a_program_that_did_not_declare_a_lifecycle_can_settle_for_another(database: str, store: Store) -> None:
    async with Store(database) as keeper:
        await store.declare("wiki", "Article", ARTICLE)
        [item] = await claimed(store, "a")
        [receipt] = await keeper.settle([(item, Done())])
        assert receipt.status == Settled.APPLIED


async def test_releasing_gives_an_item_back_without_counting_the_attempt(wiki: Store, tick: Tick) -> None:
    [item] = await claimed(wiki, "a")
    await wiki.settle([(item, Retry("once", Trouble.TIMEOUT))])
    tick(3600)
    [item] = await wiki.claim(ARTICLES, owner="w")
    [receipt] = await wiki.release([item], "the worker stopped")
    assert (receipt.status, receipt.state) == (Settled.APPLIED, "discovered")
    story = await wiki.show(item.id)
    assert (story.item.attempt, story.item.error, story.item.not_before) == (1, "once", None)
    assert (story.history[-1].to_state, story.history[-1].reason) == ("discovered", "the worker stopped")
    assert (await wiki.release([item]))[0].status == Settled.LOST
    [item] = await wiki.claim(ARTICLES, owner="w")
    assert item.attempt == 2


async def test_a_settling_that_comes_late_does_not_hold_on_to_what_it_lost(
    wiki: Store, database: str, query: Query
) -> None:
    """It waited for the lease while another settled `a` under it: `a` is free, whatever becomes of `b`."""
    a, b = await claimed(wiki, "a", "b")
    async with await psycopg.AsyncConnection.connect(database, options="-c search_path=detent") as first:
        await first.execute("SELECT FROM lease FOR UPDATE")
        late = asyncio.create_task(wiki.settle([(a, Done()), (b, Done())]))
        await _until_somebody_waits_for(first, query)
        await first.execute("UPDATE lease SET open = 1")
        await first.execute("UPDATE item SET state = 'discovered', token = NULL WHERE id = %s", [a.id])
        await first.execute(
            "INSERT INTO place SELECT kind_id, state, not_before, priority, id FROM item WHERE id = %s", [a.id]
        )
        async with await psycopg.AsyncConnection.connect(database, options="-c search_path=detent") as second:
            await second.execute("SELECT FROM item WHERE id = %s FOR UPDATE", [b.id])
            await first.commit()
            await _until_somebody_waits_for(second, query)
            [again] = await asyncio.wait_for(wiki.claim(ARTICLES, owner="other"), 30)
            assert again.id == a.id
    assert [receipt.status for receipt in await late] == [Settled.LOST, Settled.APPLIED]


async def _until_somebody_waits_for(connection: psycopg.AsyncConnection[Any], query: Query) -> None:
    waiting = "SELECT pid FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
    while not query(waiting, connection.info.backend_pid):  # noqa: ASYNC110 - what is waited for is in the database
        await asyncio.sleep(0.01)
