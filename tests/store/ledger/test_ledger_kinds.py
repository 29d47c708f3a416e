"""Sources, labels and lifecycles: what a database knows of them, and what it refuses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from detent.errors import SourceConflict, UnknownName, Unstorable
from detent.lifecycle import ARTICLE, NODE, TOPIC, Lifecycle
from detent.store import Stage, Store
from detent.store.ledger import kinds
from detent.store.ledger.kinds import unknown

SMALL = [("new", "claim", "busy"), ("busy", "done", "old"), ("busy", "back", "new"), ("busy", "fail", "bad")]


def small(*rows: tuple[str, str, str], initial: str = "new") -> Lifecycle:
    return Lifecycle("small", initial, rows or SMALL)


async def test_declaring_again_changes_nothing(store: Store) -> None:
    first = await store.declare("wiki", "Article", ARTICLE)
    assert await store.declare("wiki", "Article", ARTICLE) == first
    assert str(first) == "wiki/Article"
    assert await store.kinds.select() == [first]


async def test_several_programs_declare_the_same_at_once(database: str, store: Store) -> None:
    stores = [await Store(database).open() for _ in range(4)]
    try:
        kinds = await asyncio.gather(*[s.declare("wiki", "Article", ARTICLE) for s in stores for _ in range(3)])
    finally:
        for other in stores:
            await other.close()
    assert len({kind.id for kind in kinds}) == 1


async def test_a_label_cannot_follow_two_lifecycles(store: Store) -> None:
    await store.declare("wiki", "Article", ARTICLE)
    with pytest.raises(SourceConflict, match=r"cannot follow 'topic' too\. Give .* first: detent remove wiki$"):
        await store.declare("wiki", "Article", TOPIC)
    assert [kind.lifecycle.name for kind in await store.kinds.select()] == ["article"]


async def test_a_changed_lifecycle_replaces_the_one_kept_also_for_those_who_read_it_later(
    database: str, store: Store
) -> None:
    await store.declare("s", "L", small())
    await store.add("s", "L", ["a"])
    richer = small(*SMALL, ("bad", "retry", "new"))
    await store.declare("s", "L", richer)
    async with Store(database) as other:
        assert (await other.kinds.get("s", "L")).lifecycle == richer


async def test_a_lifecycle_is_built_once_and_again_when_the_database_has_another(
    database: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def build(**definition: Any) -> Lifecycle:
        built.append(definition["name"])
        return Lifecycle(**definition)

    monkeypatch.setattr(kinds, "Lifecycle", build)
    await store.declare("wiki", "Article", ARTICLE)
    await store.declare("s", "L", small())
    await store.kinds.select()
    built.clear()
    for _ in range(3):
        await store.kinds.select()
    assert built == []
    richer = small(*SMALL, ("bad", "retry", "new"))
    async with Store(database) as other:
        await other.declare("s", "L", richer)
        built.clear()
    [article, changed] = sorted(await store.kinds.select(), key=lambda kind: kind.label)
    assert (article.lifecycle, changed.lifecycle, built) == (ARTICLE, richer, ["small"])


async def test_a_changed_lifecycle_that_lacks_the_state_of_items_is_refused(store: Store) -> None:
    await store.declare("s", "L", small())
    await store.add("s", "L", ["a"])
    renamed = small(*[(a.replace("new", "fresh"), e, b.replace("new", "fresh")) for a, e, b in SMALL], initial="fresh")
    with pytest.raises(SourceConflict, match="no longer has the state 'new'"):
        await store.declare("s", "L", renamed)
    await store.kinds.refresh()
    assert (await store.kinds.get("s", "L")).lifecycle == small()
    assert len(await store.claim(Stage(small(), "new"), owner="w")) == 1


async def test_a_changed_lifecycle_to_whose_missing_state_work_would_be_given_back_is_refused(store: Store) -> None:
    await store.declare("s", "L", small())
    await store.add("s", "L", ["a"])
    await store.claim(Stage(small(), "new"), owner="w")
    renamed = small(*[(a.replace("new", "fresh"), e, b.replace("new", "fresh")) for a, e, b in SMALL], initial="fresh")
    with pytest.raises(SourceConflict, match="leads back to"):
        await store.declare("s", "L", renamed)


async def test_a_changed_lifecycle_that_makes_rest_of_work_is_refused(store: Store) -> None:
    await store.declare("s", "L", small())
    await store.add("s", "L", ["a"])
    turned = small(
        ("busy", "claim", "new"),
        ("new", "done", "old"),
        ("new", "back", "busy"),
        ("new", "fail", "bad"),
        initial="busy",
    )
    with pytest.raises(SourceConflict, match="gives the state 'new' another meaning"):
        await store.declare("s", "L", turned)


async def test_a_lifecycle_without_items_may_change_as_it_likes(store: Store) -> None:
    await store.declare("s", "L", small())
    other = Lifecycle("small", "x", [("x", "claim", "y"), ("y", "done", "z"), ("y", "back", "x"), ("y", "fail", "z")])
    assert (await store.declare("s", "L", other)).lifecycle == other


async def test_names_that_cannot_be_kept_are_refused(store: Store) -> None:
    for name in ("", "a\x00", "\ud800", "x" * 2001):
        with pytest.raises(Unstorable):
            await store.declare(name, "Article", ARTICLE)
        with pytest.raises(Unstorable):
            await store.declare("wiki", name, ARTICLE)
    assert await store.sources.all() == []


async def test_a_program_learns_of_kinds_that_another_declared_later(database: str, store: Store) -> None:
    async with Store(database, size=1) as other:
        await store.declare("docs", "File", NODE)
        assert await other.add("docs", "File", ["a"]) == 1
    async with Store(database, size=1) as third:
        await store.declare("late", "File", NODE)
        await store.add("late", "File", ["b"])
        [listed] = (await store.list(source="late")).items
        assert await third.reset([listed.id]) == 1
        assert {line.source for line in await third.count_by_state()} == {"docs", "late"}


async def test_an_unknown_source_cannot_be_paused(store: Store) -> None:
    await store.declare("wiki", "Article", ARTICLE)
    with pytest.raises(UnknownName, match="Did you mean 'wiki'"):
        await store.pause("wikii")


def test_a_list_of_names_says_how_many_it_leaves_out() -> None:
    names = [f"name {number:02}" for number in range(32)]

    assert str(unknown("thing", "zzz", names[:30])) == f"There is no thing 'zzz'. There are: {', '.join(names[:30])}."
    assert str(unknown("thing", "zzz", names)).endswith("name 28, name 29 and 2 more.")
