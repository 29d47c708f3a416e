"""Items that change, and those that a person sends round again or back to the beginning."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from detent.errors import DetentError, IllegalMove, Unstorable
from detent.knowledge import Done, Failed, Item, NewItem, Outcome, Retry, Skipped
from detent.lifecycle import ARTICLE, NODE, Lifecycle, Trouble
from detent.store import Listed, Settled, Stage, Store

Query = Callable[..., list[Any]]
Tick = Callable[[float], datetime]

ARTICLES = Stage(ARTICLE, "discovered")
PARSING = Stage(NODE, "pending")
LINKING = Stage(NODE, "parsed")


async def only(store: Store, source: str = "docs") -> Listed:
    [item] = (await store.list(source=source)).items
    return item


async def parsed(store: Store) -> Item:
    """A file that has been parsed, and is being linked."""
    await store.add("docs", "File", [NewItem("a", "File", content_hash="one")])
    [item] = await store.claim(PARSING, owner="w")
    await store.settle([(item, Done())])
    [item] = await store.claim(LINKING, owner="w", lease_seconds=60)
    return item


async def changed(store: Store, content_hash: str) -> int:
    return await store.mark_changed("docs", "File", {"a": content_hash, "unknown": "x"})


async def test_an_item_at_rest_goes_round_again_when_it_changed(wiki: Store) -> None:
    item = await parsed(wiki)
    await wiki.settle([(item, Done())])
    assert await changed(wiki, "two") == 1
    listed = await only(wiki)
    assert (listed.state, listed.content_hash, listed.attempt) == ("pending", "two", 0)
    assert (await wiki.history(listed.id))[-1].reason == "changed"


async def test_an_unchanged_hash_does_nothing(wiki: Store) -> None:
    item = await parsed(wiki)
    await wiki.settle([(item, Done())])
    before = await only(wiki)
    assert await changed(wiki, "one") == 0
    assert await only(wiki) == before


async def test_an_item_that_waits_for_its_first_stage_keeps_its_place(wiki: Store, query: Query) -> None:
    await wiki.add("docs", "File", [NewItem("a", "File", content_hash="one")])
    places = query("SELECT ctid, item_id, state FROM place")
    assert await changed(wiki, "two") == 1
    assert query("SELECT ctid, item_id, state FROM place") == places
    listed = await only(wiki)
    assert (listed.state, listed.content_hash) == ("pending", "two")
    assert await wiki.history(listed.id) == []
    [item] = await wiki.claim(PARSING, owner="w")
    assert item.content_hash == "two"


@pytest.mark.parametrize(
    ("outcome", "through"),
    [
        (Done(content_hash="one"), "linked"),
        (Retry("soon", Trouble.TIMEOUT, retry_after=1000), "parsed"),
        (Failed("bad"), "error"),
        (Retry("last", Trouble.MALFORMED), "error"),
        (Done(to="nowhere"), "error"),
        (Skipped("nothing in it"), "error"),
        (None, "parsed"),
    ],
    ids=["done", "retry", "failed", "given up", "refused", "refused skip", "released"],
)
async def test_an_item_that_changed_while_a_worker_had_it_goes_round_again(
    wiki: Store, outcome: Outcome | None, through: str
) -> None:
    """ANCESTORS 17: a node edited while it was being processed was not processed again."""
    item = await parsed(wiki)
    assert await changed(wiki, "two") == 1
    assert await changed(wiki, "two") == 0
    assert (await wiki.show(item.id)).changed
    [receipt] = await (wiki.release([item]) if outcome is None else wiki.settle([(item, outcome)]))
    assert receipt.state == "pending"
    story = await wiki.show(item.id)
    assert (story.item.state, story.item.content_hash, story.item.attempt) == ("pending", "two", 0)
    assert (story.item.not_before, story.item.error, story.changed) == (None, None, False)
    steps = [(entry.from_state, entry.to_state) for entry in story.history[-2:]]
    assert steps == [("linking", through), (through, "pending")]
    assert story.history[-1].reason == "changed while being worked on"
    assert await wiki.tallies.check() == []


async def test_an_item_that_changed_while_its_worker_died_goes_round_again(wiki: Store, tick: Tick) -> None:
    """ANCESTORS 17, where the worker never came to settle."""
    item = await parsed(wiki)
    await changed(wiki, "two")
    tick(61)
    assert await wiki.rescue() == {item.id: "pending"}
    story = await wiki.show(item.id)
    assert (story.item.state, story.item.content_hash, story.item.attempt) == ("pending", "two", 0)
    assert (story.item.error, story.changed) == (None, False)
    steps = [(entry.from_state, entry.to_state, entry.attempt) for entry in story.history[-2:]]
    assert steps == [("linking", "parsed", 1), ("parsed", "pending", 1)]


async def test_a_change_during_the_last_attempt_is_a_new_chance(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(Stage(ARTICLE, "discovered", max_attempts=1), owner="w", lease_seconds=60)
    await wiki.mark_changed("wiki", "Article", {"a": "new"})
    tick(61)
    assert await wiki.rescue() == {item.id: "discovered"}
    [item] = await wiki.claim(ARTICLES, owner="w")
    assert item.attempt == 1


@pytest.mark.parametrize("ended", ["settled", "released", "rescued"])
async def test_no_failure_is_left_on_an_item_that_changed_and_then_succeeded(
    wiki: Store, tick: Tick, ended: str
) -> None:
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w", lease_seconds=60)
    await wiki.settle([(item, Retry("once"))])
    tick(3600)
    [item] = await wiki.claim(ARTICLES, owner="w", lease_seconds=60)
    await wiki.mark_changed("wiki", "Article", {"a": "new"})
    if ended == "settled":
        await wiki.settle([(item, Retry("twice"))])
    elif ended == "released":
        await wiki.release([item])
    tick(61)
    await wiki.rescue()
    assert (await only(wiki, "wiki")).error is None
    [item] = await wiki.claim(ARTICLES, owner="w")
    await wiki.settle([(item, Done())])
    listed = await only(wiki, "wiki")
    assert (listed.state, listed.error, listed.error_kind) == ("loaded", None, None)


async def test_an_item_that_waits_for_a_retry_is_tried_at_once_when_it_changed(wiki: Store, query: Query) -> None:
    item = await parsed(wiki)
    await wiki.settle([(item, Done())])
    await changed(wiki, "two")
    [item] = await wiki.claim(PARSING, owner="w")
    await wiki.settle([(item, Retry("slow", Trouble.TIMEOUT, retry_after=3600))])
    assert await changed(wiki, "three") == 1
    listed = await only(wiki)
    assert (listed.state, listed.attempt, listed.not_before, listed.error) == ("pending", 0, None, None)
    [again] = await wiki.claim(PARSING, owner="w")
    assert (again.attempt, again.content_hash) == (1, "three")
    assert await wiki.tallies.check() == []


UNCHANGING = Lifecycle(
    "unchanging",
    initial="new",
    moves=[
        ("new", "claim", "doing"),
        ("doing", "done", "finished"),
        ("doing", "back", "new"),
        ("doing", "fail", "broken"),
        ("broken", "retry", "new"),
    ],
)


async def test_a_change_means_nothing_where_the_lifecycle_has_no_way_for_it(store: Store) -> None:
    await store.declare("docs", "File", UNCHANGING)
    await store.add("docs", "File", [NewItem("a", "File", content_hash="one")])
    [item] = await store.claim(Stage(UNCHANGING, "new"), owner="w")
    assert await changed(store, "two") == 1
    await store.settle([(item, Failed("gone", Trouble.NOT_FOUND))])
    listed = await only(store)
    assert (listed.state, listed.attempt, listed.error) == ("broken", 1, "gone")
    assert listed.content_hash == "two"
    assert await changed(store, "three") == 0
    assert (await only(store)).content_hash == "three"
    assert (await only(store)).error == "gone"


async def test_a_change_before_a_retry_is_a_new_chance_where_the_lifecycle_has_no_way_for_it(store: Store) -> None:
    await store.declare("docs", "File", UNCHANGING)
    await store.add("docs", "File", [NewItem("a", "File", content_hash="one")])
    [item] = await store.claim(Stage(UNCHANGING, "new"), owner="w")
    await changed(store, "two")
    await store.settle([(item, Retry("slow", Trouble.TIMEOUT, retry_after=3600))])
    listed = await only(store)
    assert (listed.state, listed.attempt, listed.not_before, listed.error) == ("new", 0, None, None)


async def test_a_failed_item_that_changed_has_no_failure_any_more(wiki: Store) -> None:
    item = await parsed(wiki)
    await wiki.settle([(item, Failed("bad"))])
    assert await changed(wiki, "two") == 1
    listed = await only(wiki)
    assert (listed.state, listed.attempt, listed.error) == ("pending", 0, None)


async def test_a_hash_that_cannot_be_kept_is_refused(wiki: Store) -> None:
    with pytest.raises(Unstorable, match="NUL"):
        await wiki.mark_changed("docs", "File", {"a": "\x00"})
    with pytest.raises(Unstorable, match="surrogate"):
        await wiki.mark_changed("docs", "File", {"\ud800": "x"})


async def test_retrying_by_hand_gives_one_more_attempt_and_keeps_the_count(wiki: Store, tick: Tick) -> None:
    """ANCESTORS 16: retrying reset the count, so retries had no limit."""
    await wiki.add("wiki", "Article", ["a"])
    for attempt in (1, 2, 3):
        [item] = await wiki.claim(ARTICLES, owner="w")
        assert item.attempt == attempt
        await wiki.settle([(item, Retry("busy", Trouble.SERVER))])
        tick(10_000)
    for attempt in (4, 5):
        assert await wiki.retry([item.id]) == 1
        listed = await only(wiki, "wiki")
        assert (listed.state, listed.attempt, listed.error_kind) == ("discovered", attempt - 1, "server")
        [item] = await wiki.claim(ARTICLES, owner="w")
        assert item.attempt == attempt
        [receipt] = await wiki.settle([(item, Retry("busy", Trouble.SERVER))])
        assert receipt.state == "failed"


async def test_retrying_goes_back_to_the_stage_that_failed_or_where_it_is_told(wiki: Store) -> None:
    """ANCESTORS 15: error retry found nothing, silently. Here it says how many it found."""
    item = await parsed(wiki)
    for to, state in ((None, "parsed"), ("pending", "pending"), ("linked", "linked")):
        await wiki.settle([(item, Failed("bad"))])
        assert [listed.id for listed in (await wiki.list(error_kind="link")).items] == [item.id]
        assert await wiki.retry([item.id, 10**9], to=to) == 1
        assert (await only(wiki)).state == state
        assert await wiki.retry([item.id]) == 0
        await wiki.reset([item.id])
        [item] = await wiki.claim(PARSING, owner="w")
        await wiki.settle([(item, Done())])
        [item] = await wiki.claim(LINKING, owner="w")


async def test_retrying_to_an_illegal_state_is_refused_and_nothing_is_written(wiki: Store) -> None:
    """ANCESTORS 4 and 14: a rejected move was logged as success and returned normally."""
    item = await parsed(wiki)
    await wiki.settle([(item, Failed("bad"))])
    before = await wiki.show(item.id)
    with pytest.raises(IllegalMove, match=r"docs/File/a cannot go from 'error' to 'ready'"):
        await wiki.retry([item.id], to="ready")
    assert await wiki.show(item.id) == before
    assert await wiki.tallies.check() == []


async def test_moving_by_hand_follows_the_table(wiki: Store) -> None:
    """ANCESTORS 14: the table of legal moves existed and was never called."""
    await wiki.add("docs", "File", ["a", "b"])
    a, b = (item.id for item in (await wiki.list()).items)
    assert await wiki.items.move([a], "skip", owner="someone", reason="not wanted") == [a]
    with pytest.raises(IllegalMove, match="'skip' to 'ready'"):
        await wiki.items.move([b, a], "ready", owner="someone")
    with pytest.raises(IllegalMove, match="'parsing'"):
        await wiki.items.move([b], "parsing", owner="someone")
    assert [item.state for item in (await wiki.list()).items] == ["skip", "pending"]
    assert [entry.reason for entry in await wiki.history(a)] == ["not wanted"]


async def test_resetting_puts_items_in_any_state_back_to_the_beginning(wiki: Store, tick: Tick) -> None:
    await wiki.add("docs", "File", ["a", "b", "c", "d"])
    a, b, c, d = await wiki.claim(PARSING, owner="w")
    await wiki.settle([(a, Done()), (b, Failed("bad")), (c, Retry("later", retry_after=1000))])
    assert await wiki.reset([a.id, b.id, c.id, d.id, a.id, 10**9]) == 4
    for item in (await wiki.list(source="docs")).items:
        assert (item.state, item.attempt, item.error, item.not_before) == ("pending", 0, None, None)
    assert len(await wiki.claim(PARSING, owner="w")) == 4
    assert await wiki.tallies.check() == []


async def test_resetting_forgets_what_was_said_of_an_items_content(wiki: Store) -> None:
    await wiki.add("docs", "File", [NewItem("a", "File", content_hash="1"), NewItem("b", "File")])
    await wiki.reset([item.id for item in (await wiki.list(source="docs")).items])
    claimed = await wiki.claim(PARSING, owner="w")
    assert {item.key: item.content_hash for item in claimed} == {"a": "", "b": None}
    assert await wiki.mark_changed("docs", "File", {"a": "1"}) == 1


async def test_resetting_an_item_in_work_makes_its_workers_token_worthless(wiki: Store) -> None:
    await wiki.add("docs", "File", ["a", "b"])
    a, b = await wiki.claim(PARSING, owner="w")
    assert await wiki.reset([a.id]) == 1
    assert (await wiki.settle([(a, Done())]))[0].status == Settled.LOST
    assert await wiki.renew([a.token]) == {a.token}
    assert await wiki.tallies.check() == []
    assert (await wiki.settle([(b, Done())]))[0].status == Settled.APPLIED
    assert await wiki.renew([a.token]) == set()
    [again] = await wiki.claim(PARSING, owner="v")
    assert again.token > a.token
    assert (await wiki.settle([(a, Done())]))[0].status == Settled.LOST
    assert (await wiki.settle([(again, Done())]))[0].status == Settled.APPLIED


async def test_a_worker_hears_on_renewal_that_all_it_had_was_reset(wiki: Store) -> None:
    """ANCESTORS 7: a worker never learnt that it had lost its claim."""
    await wiki.add("docs", "File", ["a", "b"])
    items = await wiki.claim(PARSING, owner="w")
    await wiki.reset([item.id for item in items])
    assert await wiki.renew([items[0].token]) == set()
    assert await wiki.workers() == []


async def test_an_item_without_place_or_lease_is_an_error_and_not_a_loop(wiki: Store, query: Query) -> None:
    await wiki.add("docs", "File", ["a"])
    query("DELETE FROM place")
    with pytest.raises(DetentError, match="detent db check"):
        await wiki.reset([(await only(wiki)).id])
    with pytest.raises(DetentError, match="detent db check"):
        await changed(wiki, "two")
