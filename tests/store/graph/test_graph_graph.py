"""The graph as settling writes it: children that are compared, references in any order, aliases, mentions, removal."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detent.errors import SourceConflict, UnknownName
from detent.knowledge import Child, Done, Item, Mention, NewItem, Node, Outcome, Reference
from detent.lifecycle import ARTICLE, PASSAGE
from detent.store import Settled, Stage, Store

Query = Callable[..., list[Any]]

ARTICLES = Stage(ARTICLE, "discovered")
EMBEDDING = Stage(PASSAGE, "linked")


@pytest.fixture
async def wiki(store: Store) -> Store:
    await declare(store)
    return store


async def declare(store: Store, source: str = "wiki") -> None:
    await store.declare(source, "Article", ARTICLE)
    for label in ("Section", "Category"):
        await store.declare(source, label, PASSAGE)


async def work(store: Store, key: str, outcome: Outcome, source: str = "wiki") -> Settled:
    """Brings an article round, with this outcome."""
    await store.add(source, "Article", [key])
    found = await store.items.find(await store.kinds.get(source, "Article"), [key])
    await store.reset([found[key].id])
    items: list[Item] = []
    while not items or items[0].key != key:
        items = await store.claim(ARTICLES, owner="w", limit=1)
    [receipt] = await store.settle([(items[0], outcome)])
    return receipt.status


async def embed(store: Store) -> list[str]:
    """Brings all passages to `ready`; returns their keys."""
    items = await store.claim(EMBEDDING, owner="e", limit=1000)
    await store.settle([(item, Done()) for item in items])
    return sorted(item.key for item in items)


def article(*children: Child, **more: Any) -> Done:
    return Done(node=Node("an article"), children=list(children), **more)


def section(key: str, text: str = "text", **more: Any) -> Child:
    return Child("Section", key, Node(key, text), edge="HAS_SECTION", **more)


def states(query: Query) -> dict[str, str]:
    return {row.key: row.state for row in query("SELECT key, state FROM item")}


def edges(query: Query) -> list[tuple[str, str, str]]:
    rows = query("""
        SELECT origin.key AS origin, edge.type, target.key AS target
        FROM edge JOIN item AS origin ON origin.id = from_id JOIN item AS target ON target.id = to_id
        ORDER BY 1, 2, 3""")
    return [tuple(row) for row in rows]


def texts(query: Query) -> list[str]:
    """The titles of the texts that the index would know if it had taken all changes so far."""
    rows = query("""
        SELECT title FROM node WHERE text_id IN (SELECT text_id FROM text_change WHERE NOT gone)
        AND text_id NOT IN (SELECT text_id FROM text_change WHERE gone) ORDER BY 1""")
    return [row.title for row in rows]


async def test_children_come_with_their_parent_and_wait_for_their_embedding(wiki: Store, query: Query) -> None:
    assert await work(wiki, "a", article(section("a/1"), section("a/2"))) == Settled.APPLIED
    assert states(query) == {"a": "loaded", "a/1": "linked", "a/2": "linked"}
    assert edges(query) == [("a", "HAS_SECTION", "a/1"), ("a", "HAS_SECTION", "a/2")]
    assert texts(query) == ["a/1", "a/2", "an article"]
    assert await embed(wiki) == ["a/1", "a/2"]
    assert await wiki.tallies.check() == []


async def test_unchanged_children_keep_their_state_changed_ones_go_back_and_vanished_ones_go(
    wiki: Store, query: Query
) -> None:
    """ANCESTORS 20: whole files were embedded again for one changed function."""
    link = Reference("SEE", "Section", "a/3")
    await work(wiki, "a", article(section("a/1", references=[link]), section("a/2"), section("a/3")))
    await embed(wiki)
    await work(wiki, "a", article(section("a/2", "another text"), section("a/1", references=[link])))
    assert states(query) == {"a": "loaded", "a/1": "ready", "a/2": "linked"}
    assert edges(query) == [("a", "HAS_SECTION", "a/1"), ("a", "HAS_SECTION", "a/2")]
    assert [
        row.key
        for row in query("SELECT key FROM node JOIN item ON id = item_id WHERE parent_id IS NOT NULL ORDER BY position")
    ] == ["a/2", "a/1"]
    assert texts(query) == ["a/1", "a/2", "an article"]
    assert await embed(wiki) == ["a/2"]
    assert [entry.reason for entry in await wiki.history(query("SELECT id FROM item WHERE key = 'a/2'")[0].id)] == [
        None,
        None,
        "changed",
        None,
        None,
    ]
    assert query("SELECT * FROM reference WHERE item_id NOT IN (SELECT id FROM item)") == []
    assert await wiki.tallies.check() == []


async def test_what_belongs_to_a_child_goes_with_it(wiki: Store, query: Query) -> None:
    await work(wiki, "a", article(section("a/1"), section("a/2")))
    [inner] = await wiki.claim(EMBEDDING, owner="w", limit=1)
    await wiki.settle([(inner, Done(children=[section("deep")]))])
    [deep] = [item for item in await wiki.claim(EMBEDDING, owner="w", limit=9) if item.key == "deep"]
    await wiki.settle([(deep, Done(children=[section("deeper")]))])
    await work(wiki, "a", article(section("a/2")))
    assert set(states(query)) == {"a", "a/2"}
    assert await wiki.tallies.check() == []


async def test_children_stay_as_they_are_if_nothing_is_said_of_them(wiki: Store, query: Query) -> None:
    await work(wiki, "a", article(section("a/1")))
    await embed(wiki)
    await work(wiki, "a", Done(node=Node("again")))
    assert states(query) == {"a": "loaded", "a/1": "ready"}
    await work(wiki, "a", Done(children=[]))
    assert states(query) == {"a": "loaded"}


async def test_a_child_that_is_being_embedded_while_it_changes_is_embedded_again(wiki: Store, query: Query) -> None:
    """ANCESTORS 17: a node edited while it was being processed was not processed again."""
    await work(wiki, "a", article(section("a/1")))
    [held] = await wiki.claim(EMBEDDING, owner="e")
    await work(wiki, "a", article(section("a/1", "new")))
    [receipt] = await wiki.settle([(held, Done())])
    assert (receipt.status, receipt.state) == (Settled.APPLIED, "linked")
    assert await embed(wiki) == ["a/1"]
    assert states(query)["a/1"] == "ready"


async def test_a_child_that_vanishes_while_it_is_being_embedded_is_lost_to_its_worker(
    wiki: Store, query: Query
) -> None:
    await work(wiki, "a", article(section("a/1"), section("a/2")))
    held = await wiki.claim(EMBEDDING, owner="e")
    await work(wiki, "a", article(section("a/2")))
    receipts = await wiki.settle([(item, Done()) for item in held])
    assert {r.item.key: r.status for r in receipts} == {"a/1": Settled.LOST, "a/2": Settled.APPLIED}
    assert set(states(query)) == {"a", "a/2"}
    assert query("SELECT * FROM lease") == []
    assert await wiki.tallies.check() == []


async def test_a_failed_parse_loses_nothing(wiki: Store, query: Query) -> None:
    """ANCESTORS 18: nodes were deleted before their file was parsed again: a parse error lost them."""
    await work(wiki, "a", article(section("a/1")))
    await embed(wiki)
    assert await work(wiki, "a", article(section("a/1", "bad \x00"))) == Settled.REFUSED
    assert states(query) == {"a": "failed", "a/1": "ready"}
    assert len(edges(query)) == 1


async def test_a_child_can_go_over_to_another_parent(wiki: Store, query: Query) -> None:
    await work(wiki, "a", article(section("s")))
    await embed(wiki)
    await work(wiki, "b", article(section("s")))
    await work(wiki, "a", article())
    assert states(query) == {"a": "loaded", "b": "loaded", "s": "ready"}
    assert edges(query) == [("b", "HAS_SECTION", "s")]


async def test_two_children_of_one_name_and_an_undeclared_label_are_refused(wiki: Store, query: Query) -> None:
    assert await work(wiki, "a", article(section("s"), section("s"))) == Settled.REFUSED
    assert await work(wiki, "b", article(Child("Figure", "f", Node("f")))) == Settled.REFUSED
    reasons = [row.message for row in query("SELECT message FROM failure ORDER BY item_id")]
    assert "two children Section 's'" in reasons[0]
    assert "wiki/Figure" in reasons[1]


async def test_a_reference_becomes_an_edge_when_its_target_arrives_in_either_order(wiki: Store, query: Query) -> None:
    """ANCESTORS 34: links to articles that are not there yet were lost, or created as empty articles."""
    await work(wiki, "a", article(references=[Reference("LINKS_TO", "Article", "b")]))
    assert (edges(query), states(query)) == ([], {"a": "loaded"})
    await work(wiki, "b", article(references=[Reference("LINKS_TO", "Article", "a")]))
    assert edges(query) == [("a", "LINKS_TO", "b"), ("b", "LINKS_TO", "a")]


async def test_an_alias_leads_to_one_node_whichever_comes_first(wiki: Store, query: Query) -> None:
    """ANCESTORS 32: a redirect put the content on one node and the state and links on another."""
    link = [Reference("LINKS_TO", "Article", "ML")]
    await work(wiki, "a", article(references=link))
    await work(wiki, "ML", Done(alias_of="Machine learning"))
    assert edges(query) == []
    await work(wiki, "Machine learning", article())
    assert edges(query) == [("a", "LINKS_TO", "Machine learning")]
    await work(wiki, "b", article(references=link))
    assert len(edges(query)) == 2
    assert states(query)["ML"] == "loaded"


async def test_chains_of_aliases_are_followed_in_any_order_and_loops_lead_nowhere(wiki: Store, query: Query) -> None:
    await work(wiki, "end", article())
    await work(wiki, "a", article(references=[Reference("LINKS_TO", "Article", key) for key in ("1", "2", "3", "x")]))
    chain = [("2", "3"), ("1", "2"), ("3", "end"), ("x", "y"), ("y", "x")]
    for key, target in chain:
        await work(wiki, key, Done(alias_of=target))
    assert edges(query) == [("a", "LINKS_TO", "end")] * 3


async def test_what_had_content_and_becomes_an_alias_loses_it_and_gets_it_back(wiki: Store, query: Query) -> None:
    await work(wiki, "b", article())
    await work(wiki, "a", article(section("a/1"), references=[Reference("LINKS_TO", "Article", "b")]))
    await work(wiki, "c", article(references=[Reference("LINKS_TO", "Article", "a")]))
    await work(wiki, "a", Done(alias_of="b"))
    assert edges(query) == [("c", "LINKS_TO", "b")]
    assert set(states(query)) == {"a", "b", "c"}
    await work(wiki, "a", article())
    assert edges(query) == [("c", "LINKS_TO", "a")]


async def test_the_other_keys_of_an_item_are_a_complete_set(wiki: Store, query: Query) -> None:
    await work(wiki, "x", article(references=[Reference("LINKS_TO", "Article", key) for key in ("A", "Ä")]))
    await work(wiki, "a", article(aliases=["A", "Ä", "a"]))
    assert edges(query) == [("x", "LINKS_TO", "a")] * 2
    await work(wiki, "a", article(aliases=["A"]))
    assert edges(query) == [("x", "LINKS_TO", "a")]
    await work(wiki, "a", article())
    assert edges(query) == [("x", "LINKS_TO", "a")]


def about(category: str) -> dict[str, Any]:
    return {
        "references": [Reference("IN_CATEGORY", "Category", category)],
        "mentions": [Mention("Category", category, Node(category))],
    }


async def test_a_mention_is_made_once_and_goes_with_the_last_that_names_it(wiki: Store, query: Query) -> None:
    await work(wiki, "a", article(**about("science")))
    await work(wiki, "b", article(**about("science")))
    assert edges(query) == [("a", "IN_CATEGORY", "science"), ("b", "IN_CATEGORY", "science")]
    assert texts(query).count("science") == 1
    assert await wiki.removal.sweep() == 0
    await work(wiki, "a", article(**about("art")))
    assert await wiki.removal.sweep() == 0
    await work(wiki, "b", article(references=[]))
    assert await wiki.removal.sweep() == 1
    assert edges(query) == [("a", "IN_CATEGORY", "art")]
    assert "science" not in states(query)
    assert await wiki.tallies.check() == []


async def test_what_comes_without_a_text_has_nothing_to_wait_for_until_it_gets_one(wiki: Store, query: Query) -> None:
    bare, full = (Child("Section", f"a/{title}", Node(title, text)) for title, text in (("bare", " \n"), ("full", "x")))
    await work(wiki, "a", article(bare, full, **about("science")))
    found = states(query)
    assert (found["science"], found["a/bare"], found["a/full"]) == ("skip", "skip", "linked")
    await work(wiki, "a", article(Child("Section", "a/bare", Node("bare", "text now"))))
    assert states(query)["a/bare"] == "linked"
    assert await wiki.tallies.check() == []


@pytest.mark.parametrize("text", ["its own", "as mentioned"])
async def test_content_that_comes_while_it_is_mentioned_is_told_to_the_text_index_once(
    wiki: Store, query: Query, text: str
) -> None:
    waiting = "SELECT pid FROM pg_locks WHERE NOT granted"
    mention = Mention("Article", "a", Node("a", "as mentioned"))
    await wiki.add("wiki", "Article", ["a", "b"])
    one, two = await wiki.claim(ARTICLES, owner="w", apart=True)
    query("BEGIN")
    query("SELECT lock_aliases()")
    mentioning = asyncio.create_task(wiki.settle([(two, Done(Node("b"), mentions=[mention], aliases=["B"]))]))
    async with asyncio.timeout(30):
        while len(query(waiting)) < 1:  # noqa: ASYNC110  the server alone knows
            await asyncio.sleep(0.01)
        settling = asyncio.create_task(wiki.settle([(one, Done(Node("a", text)))]))
        while len(query(waiting)) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    query("COMMIT")
    assert [receipt.status for receipt in (*await mentioning, *await settling)] == [Settled.APPLIED] * 2
    told = query(
        "SELECT text_id FROM text_change GROUP BY text_id HAVING bool_and(NOT gone) AND count(*) = 1 ORDER BY 1"
    )
    assert told == query("SELECT text_id FROM node ORDER BY 1")
    assert len(told) == 2
    assert not any(row.shared for row in query("SELECT shared FROM node"))


async def test_sweeping_beside_those_who_mention_never_leaves_a_dangling_reference(
    database: str, wiki: Store, query: Query
) -> None:
    """Everybody names one category and lets it go again, while it is swept all the time."""
    async with Store(database) as other:

        async def name_and_forget(store: Store, key: str) -> None:
            for number in range(12):
                outcome = article(**about("science")) if number % 2 else article(references=[])
                [item] = await claimed(store, key)
                await store.settle([(item, outcome)])
                await store.reset([item.id])
                dangling = query("""
                    SELECT key FROM reference WHERE NOT EXISTS (
                        SELECT FROM item JOIN node ON node.item_id = item.id
                        WHERE item.kind_id = reference.kind_id AND item.key = reference.key)""")
                assert dangling == []

        async def sweep(until: asyncio.Future[Any]) -> None:
            while not until.done():
                await other.removal.sweep()

        keys = ["a", "b", "c"]
        await wiki.add("wiki", "Article", keys)
        everybody = asyncio.gather(
            *[name_and_forget(store, key) for store, key in zip([wiki, other, wiki], keys, strict=True)]
        )
        await asyncio.gather(everybody, sweep(everybody))
    await wiki.removal.sweep()
    assert await wiki.tallies.check() == []


async def claimed(store: Store, key: str) -> list[Item]:
    """The article with this key, from among others that are given back."""
    while True:
        items = await store.claim(ARTICLES, owner=key, limit=3, apart=True)
        mine = [item for item in items if item.key == key]
        if others := [item for item in items if item.key != key]:
            await store.release(others)
        if mine:
            return mine
        await asyncio.sleep(0.001)


async def test_what_vanished_at_the_source_is_removed_with_all_that_belongs_to_it(wiki: Store, query: Query) -> None:
    await work(wiki, "a", article(section("a/1"), aliases=["A"]))
    await work(wiki, "b", article(references=[Reference("LINKS_TO", "Article", "A")]))
    assert await wiki.remove("wiki", "Article", ["a", "unknown"]) == 2
    assert states(query) == {"b": "loaded"}
    assert edges(query) == []
    assert texts(query) == ["an article"]
    assert (len(query("SELECT item_id FROM place")), query("SELECT key FROM alias")) == (1, [])
    await work(wiki, "a", article(aliases=["A"]))
    assert edges(query) == [("b", "LINKS_TO", "a")]
    assert await wiki.tallies.check() == []


async def test_removing_a_source_can_be_interrupted_and_goes_on(wiki: Store, query: Query) -> None:
    await declare(wiki, "other")
    await wiki.add("wiki", "Article", [f"page {number}" for number in range(2500)])
    held = await wiki.claim(ARTICLES, owner="w", limit=3)
    await work(wiki, "kept", article(references=[Reference("LINKS_TO", "Article", "page 1", source="wiki")]), "other")
    async for gone in wiki.remove_source("wiki"):
        assert gone == 1000
        break
    with pytest.raises(SourceConflict, match="being removed"):
        await declare(wiki)
    assert await wiki.claim(ARTICLES, owner="w", kinds=[await wiki.kinds.get("wiki", "Article")]) == []
    assert [gone async for gone in wiki.remove_source("wiki")] == [1000, 1500]
    assert [origin.name for origin in await wiki.sources.all()] == ["other"]
    assert {r.status for r in await wiki.settle([(item, Done()) for item in held])} == {Settled.LOST}
    assert list(states(query)) == ["kept"]
    await declare(wiki)
    await work(wiki, "page 1", article())
    assert edges(query) == [("kept", "LINKS_TO", "page 1")]
    with pytest.raises(UnknownName):
        [gone async for gone in wiki.remove_source("nothing")]
    assert await wiki.tallies.check() == []


NAMES = st.sampled_from("abcdef")
ROUND = st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=3)), min_size=1, max_size=6)


@given(st.lists(ROUND, min_size=1, max_size=4), st.integers(0, 2**32))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
async def test_however_articles_are_settled_side_by_side_the_edges_are_those_of_their_last_versions(
    wiki: Store, query: Query, rounds: list[list[tuple[str, list[str], list[str]]]], seed: int
) -> None:
    """Each round settles all its articles at once, on several connections, in two halves under different leases."""
    async for _ in wiki.remove_source("wiki"):
        pass
    await declare(wiki)
    model: dict[str, tuple[list[str], list[str]]] = {}
    for lines in rounds:
        last = {key: (links, children) for key, links, children in lines}
        await wiki.add("wiki", "Article", list(last))
        await wiki.reset([row.id for row in query("SELECT id FROM item WHERE key = ANY (%s)", list(last))])
        items = [item for item in await wiki.claim(ARTICLES, owner="w", apart=True) if item.key in last]
        random.Random(seed).shuffle(items)
        halves: list[Sequence[Item]] = [items[::2], items[1::2]]
        await asyncio.gather(*[wiki.settle([(i, linked(i.key, *last[i.key])) for i in half]) for half in halves])
        model.update(last)
    assert edges(query) == sorted(
        [(key, "LINKS_TO", link) for key, (links, _) in model.items() for link in links if link in model]
        + [(key, "HAS_SECTION", f"{key}/{child}") for key, (_, children) in model.items() for child in set(children)]
    )
    passages = query("SELECT key FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Section' ORDER BY 1")
    assert [row.key for row in passages] == sorted(f"{key}/{c}" for key, (_, cs) in model.items() for c in set(cs))
    assert await wiki.tallies.check() == []


def linked(key: str, links: list[str], children: list[str]) -> Done:
    references = [Reference("LINKS_TO", "Article", link) for link in links]
    found = [NewItem(link, "Article") for link in links]
    return article(
        *[section(f"{key}/{child}") for child in dict.fromkeys(children)],
        references=references,
        found=found if len(found) > 3 else (),
    )
