"""Lists, a page at a time, and stories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from detent.errors import UnknownName, Unstorable
from detent.knowledge import Done, Failed, NewItem, Node, Outcome, Retry
from detent.lifecycle import ARTICLE, Trouble
from detent.store import Stage, Store

Query = Callable[..., list[Any]]
Tick = Callable[[float], datetime]

ARTICLES = Stage(ARTICLE, "discovered")


async def pages(store: Store, between: Callable[[], Any] | None = None, **filters: Any) -> list[str]:
    """The keys of all pages, in order."""
    keys: list[str] = []
    after = None
    while True:
        page = await store.list(**filters, after=after)
        keys += [item.key for item in page.items]
        if page.next is None:
            return keys
        after = page.next
        if between is not None:
            await between()


async def filled(store: Store) -> Store:
    await store.declare("other", "Article", ARTICLE)
    await store.declare("wiki", "Category", ARTICLE)
    for source, label in (("wiki", "Article"), ("wiki", "Category"), ("other", "Article")):
        await store.add(source, label, [f"{source} {label} {number:02}" for number in range(10)])
    return store


async def test_lists_are_filtered_by_source_label_and_state(wiki: Store) -> None:
    await filled(wiki)
    assert len(await pages(wiki)) == 30
    assert len(await pages(wiki, source="wiki")) == 20
    assert len(await pages(wiki, label="Article")) == 20
    assert await pages(wiki, source="other", label="Article") == [f"other Article {n:02}" for n in range(10)]
    assert len(await pages(wiki, state="discovered")) == 30
    assert await pages(wiki, state="loaded") == []


async def test_pages_visit_each_item_exactly_once(wiki: Store) -> None:
    await filled(wiki)
    for state in (None, "discovered", "claimed"):
        if state == "claimed":
            while await wiki.claim(ARTICLES, owner="w", limit=9):
                pass
        for limit in (1, 3, 7, 10, 30, 31):
            keys = await pages(wiki, state=state, limit=limit)
            assert len(keys) == len(set(keys)) == 30, (state, limit)


async def test_pages_by_key_visit_each_item_exactly_once_also_while_items_move(wiki: Store) -> None:
    await filled(wiki)

    async def move() -> None:
        for item in await wiki.claim(ARTICLES, owner="w", limit=2):
            await wiki.settle([(item, Done() if item.id % 2 else Retry("later"))])

    keys = await pages(wiki, move, limit=3)
    assert len(keys) == len(set(keys)) == 30


async def test_pages_by_state_visit_what_stays_there_exactly_once_while_others_move(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", [NewItem(f"stays {n}", "Article", priority=5) for n in range(20)])
    await wiki.add("wiki", "Article", [f"goes {n}" for n in range(20)])
    waiting = await wiki.claim(ARTICLES, owner="w", limit=4)
    await wiki.settle([(item, Retry("soon", retry_after=10)) for item in waiting])

    async def move() -> None:
        tick(1)
        batch = await wiki.claim(ARTICLES, owner="w", limit=3)
        await wiki.settle([(item, Done()) for item in batch if item.key.startswith("goes")])

    keys = [key for key in await pages(wiki, move, state="discovered", limit=4) if key.startswith("stays")]
    assert sorted(keys) == sorted(f"stays {n}" for n in range(20))


async def test_a_state_is_listed_in_the_order_of_claiming(wiki: Store, tick: Tick) -> None:
    await wiki.add("wiki", "Article", ["x", NewItem("b", "Article", priority=2), NewItem("a", "Article", priority=1)])
    [item] = await wiki.claim(ARTICLES, owner="w", limit=1)
    await wiki.settle([(item, Retry("later", retry_after=60))])
    page = await wiki.list(state="discovered", limit=2)
    assert [item.key for item in page.items] == ["a", "b"]
    [last] = (await wiki.list(state="discovered", limit=2, after=page.next)).items
    assert (last.key, last.not_before is not None, last.attempt) == ("x", True, 1)


async def test_failures_are_listed_by_their_kind_with_source_and_state(wiki: Store, tick: Tick) -> None:
    await filled(wiki)
    items = [item for _ in range(3) for item in await wiki.claim(ARTICLES, owner="w", limit=30)]
    troubles: list[Outcome] = [Failed("gone", Trouble.NOT_FOUND), Retry("slow", Trouble.TIMEOUT), Done()]
    await wiki.settle([(item, troubles[number % 3]) for number, item in enumerate(items)])
    gone = await pages(wiki, error_kind="not_found", limit=3)
    assert len(gone) == len(set(gone)) == 10
    assert await pages(wiki, error_kind="not_found", state="discovered") == []
    assert len(await pages(wiki, error_kind="timeout", state="discovered", limit=4)) == 10
    assert len(await pages(wiki, error_kind="not_found", source="other", limit=2)) < 10
    assert await pages(wiki, error_kind="server") == []


async def test_unknown_names_get_a_suggestion(wiki: Store) -> None:
    """ANCESTORS 15: a filter by a name that does not exist found nothing, silently."""
    await filled(wiki)
    for name, value, suggestion in (
        ("source", "wikki", "'wiki'"),
        ("label", "Artcle", "'Article'"),
        ("state", "discoverd", "'discovered'"),
        ("error_kind", "timout", "'timeout'"),
        ("error_kind", "prase", "'parse'"),
    ):
        filters: dict[str, Any] = {name: value}
        with pytest.raises(UnknownName, match=f"Did you mean {suggestion}"):
            await wiki.list(**filters)
    with pytest.raises(UnknownName, match="There are: docs, other, wiki"):
        await wiki.list(source="zzzzzz")


async def test_a_last_page_that_is_full_promises_no_other(wiki: Store) -> None:
    await filled(wiki)
    for limit, source in ((10, "other"), (20, "wiki"), (30, None)):
        for state in (None, "discovered"):
            assert (await wiki.list(source=source, state=state, limit=limit)).next is None
            assert (await wiki.list(source=source, state=state, limit=limit - 1)).next is not None
    items = [item for _ in range(3) for item in await wiki.claim(ARTICLES, owner="w", limit=30)]
    assert (await wiki.list(state="claimed", limit=30)).next is None
    await wiki.settle([(item, Failed("gone", Trouble.NOT_FOUND)) for item in items])
    assert (await wiki.list(error_kind="not_found", limit=30)).next is None
    assert (await wiki.list(error_kind="not_found", limit=29)).next is not None


async def test_a_mark_that_is_none_is_refused(wiki: Store) -> None:
    for after in ("", "x", "[]", "{}", '{"kind": "1"}', "null", '{"kind": 1, "key": null}'):
        with pytest.raises(UnknownName, match="not a page cursor"):
            await wiki.list(after=after)


async def test_a_page_has_at_least_one_item(wiki: Store) -> None:
    await filled(wiki)
    for state in (None, "discovered"):
        page = await wiki.list(limit=0, state=state)
        assert len(page.items) == 1
        assert page.next is not None


async def test_an_item_is_found_by_its_key_in_every_source_that_has_it(wiki: Store) -> None:
    await wiki.declare("other", "Article", ARTICLE)
    await wiki.add("wiki", "Article", ["same", "Ada Lovelace"])
    await wiki.add("other", "Article", ["same"])
    assert len(await wiki.listing.find("same")) == 2
    assert len(await wiki.listing.find("same", source="other")) == 1
    with pytest.raises(UnknownName, match="Did you mean 'Ada Lovelace'"):
        await wiki.listing.find("Ada Lovelac")
    for written in ("ada Lovelace", "ada lovelace", "ADA LOVELACE", "ada lovelac"):
        with pytest.raises(UnknownName, match=r"Did you mean 'Ada Lovelace'\?$"):
            await wiki.listing.find(written)
    with pytest.raises(UnknownName, match=r"the key 'azure'\.$"):
        await wiki.listing.find("azure")
    with pytest.raises(UnknownName, match=r"the key 'Adxxxx'. Did you mean 'Ada Lovelace'\?$"):
        await wiki.listing.find("Adxxxx")
    with pytest.raises(UnknownName, match=r"There is no item with the key 'nosuch'\.$"):
        await wiki.listing.find("nosuch")
    with pytest.raises(UnknownName, match="no item number 999"):
        await wiki.show(999)
    with pytest.raises(Unstorable):
        await wiki.listing.find("caf\udce9")


async def test_a_story_tells_all_that_is_known(wiki: Store, tick: Tick) -> None:
    started = tick(0)
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w")
    tick(3)
    await wiki.settle([(item, Retry("slow", Trouble.TIMEOUT))])
    tick(100)
    [item] = await wiki.claim(ARTICLES, owner="v")
    tick(4)
    await wiki.settle([(item, Done(node=Node("Title"), checkpoint={"n": 1}, to="processed", note="fine"))])
    story = await wiki.show(item.id)
    assert (story.lifecycle, story.title, story.checkpoint, story.owner) == ("article", "Title", {"n": 1}, None)
    assert story.item.added_at == started
    told = [
        (entry.from_state, entry.to_state, entry.attempt, entry.owner, entry.took and entry.took.seconds, entry.reason)
        for entry in story.history
    ]
    assert told == [
        ("discovered", "claimed", 1, "w", None, None),
        ("claimed", "discovered", 1, "w", 3, "slow"),
        ("discovered", "claimed", 2, "v", None, None),
        ("claimed", "loaded", 2, "v", 4, "fine"),
        ("loaded", "processed", 2, "v", None, "fine"),
    ]
    assert await wiki.history(item.id) == story.history
