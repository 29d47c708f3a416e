"""Aliases: what was said decides where they lead, in whatever order it was said and whatever became of it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detent.knowledge import Alias, Child, Done, Node, Outcome, Reference
from detent.lifecycle import ARTICLE, PASSAGE
from detent.store import Stage, Store
from detent.store.exchange import Dump, digest, load

Query = Callable[..., list[Any]]

ARTICLES = Stage(ARTICLE, "discovered")
KEYS = ("a", "b", "c", "d")
EDGES = """
    SELECT one.key AS origin, two.key AS target, edge.position
    FROM detent.edge JOIN detent.item AS one ON one.id = from_id JOIN detent.item AS two ON two.id = to_id
    ORDER BY 1, 3
"""


async def work(store: Store, key: str, outcome: Outcome) -> None:
    """Brings an article round, with this outcome."""
    await store.add("wiki", "Article", [key])
    kind = await store.kinds.get("wiki", "Article")
    await store.reset([(await store.items.find(kind, [key]))[key].id])
    [item] = await store.claim(ARTICLES, owner="w")
    assert item.key == key
    [receipt] = await store.settle([(item, outcome)])
    assert receipt.state == "loaded"


async def say(store: Store, line: str) -> None:
    """`a>b`: a is another name of b. `a`: it is an article. `-a`: it vanishes. `a=x,y`: an article with other names,
    of which `a=` has none any more. `a:x>y,y>z`: an article that says what other keys stand for."""
    key, _, rest = line.partition("=")
    if line.startswith("-"):
        await store.remove("wiki", "Article", [line[1:]])
    elif ":" in line:
        key, _, rest = line.partition(":")
        aliases = [Alias("Article", *each.split(">")) for each in rest.split(",") if each]
        await work(store, key, Done(Node(key), aliases=aliases))
    elif ">" in line:
        key, target = line.split(">")
        await work(store, key, Done(alias_of=target))
    else:
        names = [name for name in rest.split(",") if name] if "=" in line else None
        await work(store, key, Done(Node(key), aliases=names))


async def links_to(store: Store, *keys: str) -> None:
    """An article that links to each key, to see where it leads."""
    await work(store, "reader", Done(Node("reader"), [Reference("LINKS_TO", "Article", key) for key in keys]))


def led(query: Query, keys: Sequence[str] = KEYS) -> dict[str, str]:
    """Where the keys lead that the reader links to."""
    return {keys[row.position]: row.target for row in query(EDGES) if row.origin == "reader"}


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (["a>b", "b>c", "c"], {"a": "c", "b": "c", "c": "c"}),
        (["a>b", "b>c", "c", "b"], {"a": "b", "b": "b", "c": "c"}),
        (["a>b", "b>c", "c", "-b"], {"c": "c"}),
        (["a>b", "b>c", "c", "-b", "b"], {"a": "b", "b": "b", "c": "c"}),
        (["a>b", "b>c", "c>d", "d", "b>d", "c"], {"a": "d", "b": "d", "c": "c", "d": "d"}),
        (["a>b", "b>c", "c>d", "d", "c"], {"a": "c", "b": "c", "c": "c", "d": "d"}),
        (["a>b", "b>a"], {}),
        (["a>b", "b>a", "b"], {"a": "b", "b": "b"}),
        (["a>b", "b>c", "c>a", "d>a"], {}),
        (["a>b", "b>c", "c>a", "d>a", "c"], {"a": "c", "b": "c", "c": "c", "d": "c"}),
        (["a>b", "b>c", "c>a", "-c", "c"], {"a": "c", "b": "c", "c": "c"}),
        (["a>b", "c=b", "c"], {"a": "c", "b": "c", "c": "c"}),
        (["a>b", "c=b,d", "c=d"], {"c": "c", "d": "c"}),
        (["a>b", "c=b", "-c"], {}),
    ],
)
async def test_aliases_lead_where_what_was_said_leads(
    wiki: Store, query: Query, lines: list[str], where: dict[str, str]
) -> None:
    await links_to(wiki, *KEYS)
    for line in lines:
        await say(wiki, line)
    assert led(query) == where


@pytest.mark.parametrize(
    "lines",
    [
        ("a>b", "b>c", "c"),
        ("a>b", "b>a", "d>a"),
        ("a>b", "b>c", "c>d"),
        ("a>b", "c=b"),
        ("x:a>b", "y:b>c", "c"),
        ("x:a>b,b>c", "b", "c"),
        ("x:a>b", "y:a>c", "c=d"),
    ],
)
async def test_the_order_in_which_it_was_said_does_not_matter(
    make_database: Callable[[], str], lines: tuple[str, ...]
) -> None:
    assert len({str(outcome) for outcome in await in_every_order(make_database, lines)}) == 1


async def in_every_order(make_database: Callable[[], str], lines: Sequence[str]) -> list[tuple[list[Any], str]]:
    """What the graph is, and its digest, for each order in which these lines can be said."""
    outcomes = []
    for order in itertools.permutations(lines):
        async with Store(make_database()) as store:
            await store.declare("wiki", "Article", ARTICLE)
            await links_to(store, *KEYS)
            for line in order:
                await say(store, line)
            outcomes.append((rows(store), (await digest(store.database, store.kinds)).digest))
    return outcomes


def rows(store: Store) -> list[Any]:
    """The edges, and the aliases with all they lead to."""
    with psycopg.connect(store.database.conninfo) as connection:
        aliases = "SELECT key, said_key, to_key FROM detent.alias ORDER BY key"
        return [*connection.execute(EDGES).fetchall(), *connection.execute(aliases).fetchall()]


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (["x:a>b", "b"], {"a": "b", "b": "b"}),
        (["x:a>b,b>c", "c"], {"a": "c", "b": "c", "c": "c"}),
        (["x:a>b", "y:b>c", "c"], {"a": "c", "b": "c", "c": "c"}),
        (["x:a>b", "y:b>c", "c", "-y"], {"c": "c"}),
        (["x:a>b", "y:b>c", "c", "y:"], {"c": "c"}),
        (["x:a>b", "y:b>c", "c", "y"], {"a": "c", "b": "c", "c": "c"}),
        (["x:a>b,d>b", "b", "x:a>b"], {"a": "b", "b": "b"}),
        (["x:a>b", "b", "c", "x:a>c"], {"a": "c", "b": "b", "c": "c"}),
        (["x:a>b", "a", "b"], {"a": "a", "b": "b"}),
        (["x:a>b", "a", "b", "-a"], {"a": "b", "b": "b"}),
        (["x:a>b", "y:a>c", "b", "c"], {"a": "b", "b": "b", "c": "c"}),
        (["x:a>b", "y:a>c", "b", "c", "x:"], {"a": "c", "b": "b", "c": "c"}),
        (["x:a>b", "b", "c", "a>c"], {"a": "c", "b": "b", "c": "c"}),
        (["x:a>a", "b"], {"b": "b"}),
    ],
)
async def test_an_item_says_what_other_keys_stand_for(
    wiki: Store, query: Query, lines: list[str], where: dict[str, str]
) -> None:
    await links_to(wiki, *KEYS)
    for line in lines:
        await say(wiki, line)
    assert led(query) == where


async def test_what_is_said_holds_for_the_label_that_is_named(wiki: Store, query: Query) -> None:
    await wiki.declare("wiki", "Section", PASSAGE)
    said: list[str | Alias] = [Alias("Section", "a", "b#1"), "a"]
    await work(wiki, "b", Done(Node("b"), children=[Child("Section", "b#1", Node("one"))], aliases=said))
    references = [Reference("LINKS_TO", label, "a") for label in ("Article", "Section")]
    await work(wiki, "reader", Done(Node("reader"), references))
    assert [row.target for row in query(EDGES) if row.origin == "reader"] == ["b", "b#1"]


async def test_a_label_that_nobody_has_declared_is_refused(wiki: Store) -> None:
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w")
    [receipt] = await wiki.settle([(item, Done(Node("a"), aliases=[Alias("Chapter", "x", "y")]))])
    assert receipt.state == "failed"


@pytest.mark.parametrize(
    "alias", [Alias("Article", "", "b"), Alias("Article", "a", "\0"), Alias("Article", "a", "b" * 2001)]
)
async def test_an_alias_that_cannot_be_kept_is_refused(wiki: Store, alias: Alias) -> None:
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w")
    [receipt] = await wiki.settle([(item, Done(Node("a"), aliases=[alias]))])
    assert receipt.state == "failed"


@pytest.mark.parametrize("aliases", [None, [], ["b", Alias("Article", "c", "d")]])
async def test_who_says_nothing_new_does_not_wait_for_those_that_do(
    wiki: Store, aliases: Sequence[str | Alias] | None
) -> None:
    if aliases:
        await work(wiki, "a", Done(Node("a"), aliases=aliases))
    with psycopg.connect(wiki.database.conninfo) as other:
        other.execute("SELECT detent.lock_aliases()")
        await asyncio.wait_for(work(wiki, "a", Done(Node("a again"), aliases=aliases)), timeout=10)


LINES = st.sampled_from(
    [f"{one}:{two}>{three}" for one in KEYS for two in KEYS for three in KEYS if two != three]
    + [f"{one}{sign}{two}" for one in KEYS for two in KEYS if one != two for sign in ">="]
    + [f"{key}=" for key in KEYS]
    + [f"-{key}" for key in KEYS]
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(lines=st.lists(LINES, min_size=2, max_size=9))
def test_only_the_last_that_each_said_counts(make_database: Callable[[], str], lines: list[str]) -> None:
    """The same as a database in which nothing else was ever said, and as one that it is exported to."""
    last = {line.strip("-")[0]: line for line in lines}

    async def check() -> None:
        async with Store(make_database()) as one, Store(make_database()) as two, Store(make_database()) as three:
            for store, said in ((one, lines), (two, sorted(last.values(), reverse=True))):
                await store.declare("wiki", "Article", ARTICLE)
                await links_to(store, *KEYS)
                for line in said:
                    await say(store, line)
            async with Dump.open(one.database, one.kinds) as dump:
                written = [line async for line in dump.lines()]
            async with three.database.connection() as connection:
                await load(connection, written)
            assert rows(one) == rows(two) == rows(three)
            assert await digest(one.database, one.kinds) == await digest(three.database, three.kinds)

    asyncio.run(check())


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (["a", "c", "c=b", "a=b"], {"a": "a", "b": "a", "c": "c"}),
        (["a=b", "c=b", "a=d"], {"a": "a", "b": "c", "c": "c", "d": "a"}),
        (["a=b", "c=b", "-a"], {"b": "c", "c": "c"}),
        (["a=b", "c=b", "-c"], {"a": "a", "b": "a"}),
        (["a=b", "c=b", "a>d", "d"], {"a": "d", "b": "c", "c": "c", "d": "d"}),
        (["a=b", "c", "b>c"], {"a": "a", "b": "c", "c": "c"}),
        (["a=b", "c", "b>c", "-b"], {"a": "a", "b": "a", "c": "c"}),
        (["a=b", "b"], {"a": "a", "b": "b"}),
        (["a=b", "b", "-b"], {"a": "a", "b": "a"}),
        (["a=b", "b", "b>c", "c"], {"a": "a", "b": "c", "c": "c"}),
        (["a=b", "c=b", "d>b", "-a"], {"b": "c", "c": "c", "d": "c"}),
    ],
)
async def test_of_two_that_say_they_are_known_by_a_key_one_is_and_the_other_when_it_lets_go(
    wiki: Store, query: Query, lines: list[str], where: dict[str, str]
) -> None:
    await links_to(wiki, *KEYS)
    for line in lines:
        await say(wiki, line)
    assert led(query) == where


@pytest.mark.parametrize("lines", [("a=d", "c=d"), ("a=b", "b>c", "c"), ("a=b", "c=b", "b"), ("a=d", "b=d", "c>d")])
async def test_of_several_that_claim_a_key_the_same_one_wins_in_whatever_order_they_come(
    make_database: Callable[[], str], lines: tuple[str, ...]
) -> None:
    assert len({str(outcome) for outcome in await in_every_order(make_database, lines)}) == 1


@pytest.mark.parametrize("first", ["child", "claim"])
async def test_what_belongs_to_another_has_its_own_key(wiki: Store, query: Query, first: str) -> None:
    parent = Done(Node("d"), children=[Child("Article", "b", Node("b"))])
    said = [("d", parent), ("a", Done(Node("a"), aliases=["b"]))]
    for key, outcome in said if first == "child" else reversed(said):
        await work(wiki, key, outcome)
        [*_] = await wiki.settle([(each, Done()) for each in await wiki.claim(ARTICLES, owner="w")])
    await links_to(wiki, *KEYS)
    assert led(query) == {"a": "a", "b": "b", "d": "d"}
    await work(wiki, "d", Done(Node("d"), children=[]))
    assert led(query) == {"a": "a", "b": "a", "d": "d"}


async def test_items_that_claim_a_key_at_the_same_time_are_all_settled(wiki: Store, query: Query) -> None:
    names = [f"item {number:02}" for number in range(20)]
    await wiki.add("wiki", "Article", names)
    items = await wiki.claim(ARTICLES, owner="w", apart=True)
    turns = [wiki.settle([(item, Done(Node(item.key), aliases=["d"]))]) for item in reversed(items)]
    receipts = [receipt for done in await asyncio.gather(*turns) for receipt in done]
    assert [receipt.state for receipt in receipts] == ["loaded"] * 20
    await links_to(wiki, *KEYS)
    for winner in names[:3]:
        assert led(query) == {"d": winner}
        await wiki.remove("wiki", "Article", [winner])


async def test_a_node_written_in_the_same_moment_as_a_claim_on_its_key_goes_before_that(
    wiki: Store, query: Query
) -> None:
    """Neither of the two that write them sees what the other has not committed yet."""
    for line in ("real", "other:real>other"):
        await say(wiki, line)
    await links_to(wiki, "real")
    query("UPDATE alias_claim SET to_key = said_key WHERE key = 'real'")
    assert [row.target for row in query(EDGES)] == ["real"]
    await say(wiki, "-real")
    assert [row.target for row in query(EDGES)] == ["other"]
