"""The graph as a whole: its digest, writing it out and reading it in again."""

from __future__ import annotations

import asyncio
import copy
import json
import random
import re
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import namedtuple_row

from detent.errors import DetentError, LineRefused
from detent.knowledge import Done, Failed, Node, Reference
from detent.lifecycle import ARTICLE, NODE, Lifecycle, Trouble
from detent.store import Stage, Store
from detent.store.exchange import Digest, Dump, Loaded, digest, load
from detent.store.exchange.records import ItemLine
from detent.store.ledger.removal import Removal

Query = Callable[..., list[Any]]
Record = dict[str, Any]

HEADER: Record = {"format": "detent", "version": 1}
CHUNKS = "detent.store.exchange.records.chunks.__defaults__"


def kinds(*names: str, lifecycle: Lifecycle = NODE) -> list[Record]:
    records: list[Record] = [{"record": "lifecycle", "definition": lifecycle.as_data()}]
    for name in names:
        source, label = name.split("/")
        records.append({"record": "kind", "source": source, "label": label, "lifecycle": lifecycle.name})
    return records


def item(key: str, source: str = "docs", label: str = "File", **more: Any) -> Record:
    node = {"title": key.title(), "text": f"About {key}.", "properties": {}}
    return {"record": "item", "source": source, "label": label, "key": key, "state": "ready", "node": node, **more}


def named(key: str, source: str = "docs", label: str = "File") -> Record:
    return {"source": source, "label": label, "key": key}


def lines(*records: Record) -> list[bytes]:
    return [json.dumps(record).encode() for record in (HEADER, *records)]


async def loaded(store: Store, text: Iterable[bytes], **how: Any) -> Loaded:
    async with store.database.connection() as connection:
        return await load(connection, text, **how)


async def taken(store: Store, source: str | None = None) -> Digest:
    return await digest(store.database, store.kinds, source)


async def dumped(store: Store, source: str | None = None) -> list[bytes]:
    async with Dump.open(store.database, store.kinds, source) as dump:
        return [line async for line in dump.lines()]


FULL = [
    *kinds("docs/File", "docs/Section", "wiki/Page"),
    item("a.md", references=[{**named("b.md"), "type": "LINKS_TO", "properties": {"line": 3}}], priority=7),
    item("b.md", content_hash="h1", state="parsing"),
    {
        **item("a.md#1", label="Section"),
        "node": {
            "title": "One",
            "text": 'tab\t, break\n, return\r, slash \\ and \\N, quote " and umlaut ü 🙂',
            "properties": {"b": [1, 2.5, None, "x\\y"], "a": {"z": "\u2028\x01"}},
            "content_hash": "h2",
            "position": 0,
            "edge": "CONTAINS",
            "parent": named("a.md"),
        },
    },
    item("shared", "wiki", "Page"),
    item(
        "unread",
        node=None,
        state="error",
        failure={"kind": "parse", "trouble": "malformed", "state": "parsing", "message": "why"},
    ),
    item("half", node=None, state="pending", checkpoint={"page": 4}),
    {"record": "alias", **named("old a"), "to": "a.md", "said_by": named("a.md")},
]


async def test_what_is_written_out_and_read_in_is_the_same(store: Store, make_database: Callable[[], str]) -> None:
    assert await loaded(store, lines(*FULL)) == Loaded(items=6, nodes=4, references=1, aliases=1)
    written = await dumped(store)
    assert await taken(store) == Digest((await taken(store)).digest, nodes=4, edges=2, references=1, aliases=1)
    async with Store(make_database()) as other:
        await loaded(other, written)
        assert await taken(other) == await taken(store)
        again = await dumped(other)
        assert sorted(again[1:]) == sorted(written[1:])
        assert json.loads(again[0]) == json.loads(written[0])
        assert await other.tallies.check() == []
        story = await other.show((await other.listing.find("unread"))[0])
        assert (story.item.error_kind, story.item.error) == ("parse", "why")


async def test_work_under_way_is_begun_again(store: Store) -> None:
    await loaded(store, lines(*FULL))
    counts = [(line.label, line.state, line.count) for line in await store.count_by_state()]
    files = [("File", "pending", 2), ("File", "linked", 1), ("File", "error", 1)]
    assert sorted(counts) == sorted([*files, ("Section", "linked", 1), ("Page", "linked", 1)])
    [work] = [each for each in await store.claim(Stage(NODE, "pending"), owner="w", limit=5) if each.key == "half"]
    assert work.checkpoint == {"page": 4}


async def test_reading_in_again_changes_nothing_and_is_not_indexed_again(
    store: Store, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    await loaded(store, lines(*FULL))
    before = await taken(store)
    texts = query("SELECT text_id, gone FROM text_change ORDER BY text_id")
    assert [row.gone for row in texts] == [False] * 4
    assert [row.text_id for row in texts] == sorted(row.text_id for row in query("SELECT text_id FROM node"))
    written = await dumped(store)
    await loaded(store, written)
    assert await taken(store) == before
    assert query("SELECT text_id, gone FROM text_change ORDER BY text_id") == texts
    assert await dumped(store) == written
    assert await store.tallies.check() == []


async def test_what_is_there_is_replaced(store: Store, query: Query) -> None:
    await loaded(store, lines(*FULL))
    old = query("SELECT text_id FROM node JOIN item ON item.id = item_id WHERE key = 'b.md'")[0].text_id
    added = query("SELECT id, added_at FROM item WHERE key = 'b.md'")
    query("DELETE FROM text_change")
    [held] = [each for each in await store.claim(Stage(NODE, "pending"), owner="w") if each.key == "b.md"]
    changed = item("b.md", state="linked", priority=3, content_hash="h3")
    changed["node"]["text"] = "Something else."
    await loaded(store, lines(*kinds("docs/File"), changed, item("a.md", node=None)))
    assert await store.renew([held.token]) in (set(), {held.token})
    receipts = await store.settle([(held, Done(Node("late")))])
    assert [receipt.status for receipt in receipts] == ["lost"]
    [row] = query(
        "SELECT state, priority, item.content_hash, text_id, text FROM item JOIN node ON item_id = id "
        "WHERE key = 'b.md'"
    )
    assert (row.state, row.priority, row.content_hash, row.text) == ("linked", 3, "h3", "Something else.")
    assert query("SELECT id, added_at FROM item WHERE key = 'b.md'") == added
    gone = {row.text_id for row in query("SELECT text_id FROM text_change WHERE gone")}
    assert old in gone and len(gone) == 2
    assert [each.text_id for each in query("SELECT text_id FROM text_change WHERE NOT gone")] == [row.text_id]
    found = await taken(store)
    assert (found.nodes, found.references, found.aliases) == (3, 0, 0)
    assert await store.tallies.check() == []
    assert (await store.history(held.id))[-1].reason == "imported"


async def test_a_failure_of_before_is_forgotten(wiki: Store) -> None:
    await wiki.add("wiki", "Article", ["a"])
    [claimed] = await wiki.claim(Stage(ARTICLE, "discovered"), owner="w")
    await wiki.settle([(claimed, Failed("gone", Trouble.NOT_FOUND))])
    await loaded(wiki, lines(*kinds("wiki/Article", lifecycle=ARTICLE), item("a", "wiki", "Article", state="loaded")))
    story = await wiki.show(claimed.id)
    assert (story.item.state, story.item.error) == ("loaded", None)


async def test_what_the_database_declares_holds(wiki: Store) -> None:
    """A file cannot change a lifecycle, and a state that is unknown here leads to the beginning."""
    moves = [("new", "claim", "at_work"), ("at_work", "done", "old"), ("at_work", "back", "new")]
    other = Lifecycle("article", "new", [*moves, ("at_work", "fail", "bad")])
    await loaded(wiki, lines(*kinds("wiki/Article", lifecycle=other), item("a", "wiki", "Article", state="old")))
    assert [(line.label, line.state) for line in await wiki.count_by_state()] == [("Article", "discovered")]


async def test_parents_may_come_after_their_children(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    child = item("child")
    child["node"] |= {"parent": named("parent"), "edge": "CONTAINS", "position": 0}
    text = lines(*kinds("docs/File"), child, item("between"), item("parent"))
    monkeypatch.setattr(CHUNKS, (1, 10**9))
    await loaded(store, text)
    assert (await taken(store)).edges == 1
    with pytest.raises(LineRefused, match=r"^Line 4 cannot .* its parent docs/File/nobody is neither"):
        child["node"]["parent"] = named("nobody")
        await loaded(store, lines(*kinds("docs/File"), child))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "Expecting property name"),
        (b"[1]", "not a JSON object"),
        (b"{}", "lacks 'record'"),
        (b'{"record": "edge"}', "no record 'edge'"),
        (b'{"record": "item", "source": "docs", "label": "File", "state": "ready"}', "lacks 'key'"),
        (json.dumps(item("")).encode(), "its key is empty"),
        (json.dumps(item("k" * 3000)).encode(), "3,000 bytes long"),
        (json.dumps(item("a\x00")).encode(), "NUL byte"),
        (json.dumps(item("a", node={"title": 5, "text": ""})).encode(), "its title is int, not text"),
        (json.dumps(item("a", node={"title": "half \ud800", "text": ""})).encode(), "half a surrogate"),
        (json.dumps(item("a", node={"text": ""})).encode(), "lacks 'title'"),
        (json.dumps(item("a", node={"title": None, "text": ""})).encode(), "title"),
        (json.dumps(item("a", priority="high")).encode(), "priority"),
        (json.dumps(item("a", state=None)).encode(), "state"),
        (json.dumps(item("a") | {"source": ["docs"]}).encode(), "source"),
        (json.dumps(item("a", label="Nothing")).encode(), "declares the kind docs/Nothing"),
        (json.dumps(item("a", references=[{"type": "T", **named("b", label="No")}])).encode(), "kind docs/No"),
        (json.dumps(item("a", references=[{"type": "T"}])).encode(), "lacks 'key'"),
        (
            json.dumps(item("a", node={"title": "", "text": "", "properties": [1]})).encode(),
            "properties",
        ),
        (b'{"record": "kind", "source": "x", "label": "y", "lifecycle": "unheard"}', "the lifecycle 'unheard'"),
        (b'{"record": "lifecycle", "definition": {"name": "x", "initial": "a", "moves": []}}', "cannot be used"),
        (json.dumps({"record": "alias", **named("a"), "to": "a"}).encode(), "leads to itself"),
    ],
)
async def test_a_malformed_line_is_told_by_its_number(store: Store, line: bytes, reason: str) -> None:
    text = [*lines(*kinds("docs/File"), item("before")), line]
    with pytest.raises(LineRefused, match=f"^Line 5 cannot be imported: .*{re.escape(reason)}"):
        await loaded(store, text)
    assert await store.tallies.check() == []


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"", "This is not a graph that Detent exported"),
        (b"not json", "This is not a graph that Detent exported"),
        (b"[" * 100_000, "This is not a graph that Detent exported"),
        (b'{"format": "other"}', "This is not a graph that Detent exported"),
        (b'{"format": "detent", "version": 99}', "Line 1 cannot be imported: it has version 99"),
        (
            b'{"format": "detent", "version": 1, "items": "x"}',
            "Line 1 cannot be imported: 'x' is not a number of items",
        ),
    ],
)
async def test_a_file_of_another_kind_is_refused(store: Store, header: bytes, words: str) -> None:
    with pytest.raises(LineRefused, match=rf"^{words}.* Nothing was imported\.$"):
        await loaded(store, [header, *lines(*FULL)[1:]])
    assert await store.count_by_state() == []


async def test_an_empty_file_is_refused(store: Store) -> None:
    with pytest.raises(LineRefused, match="the file is empty"):
        await loaded(store, [])


async def test_steps_that_were_read_in_stay_when_a_later_one_fails(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CHUNKS, (2, 10**9))
    good = [*kinds("docs/File"), *[item(str(number)) for number in range(10)]]
    told: list[tuple[int, int | None]] = []
    with pytest.raises(LineRefused, match=r"^Line 9 "):
        text = lines(*good)
        await loaded(store, [*text[:8], b"broken", *text[9:]], tell=lambda *count: told.append(count))
    assert 0 < (await taken(store)).nodes < 10
    await loaded(store, lines(*good), tell=lambda *count: told.append(count))
    assert (await taken(store)).nodes == 10
    assert told[-1] == (10, 0)


async def test_two_who_read_in_the_same_at_once_do_not_harm_each_other(store: Store) -> None:
    text = lines(*kinds("docs/File"), *[item(str(number)) for number in range(500)])
    shuffled = [*text[:3], *random.sample(text[3:], 500)]
    await asyncio.gather(loaded(store, text), loaded(store, shuffled))
    assert (await taken(store)).nodes == 500
    assert await store.tallies.check() == []


async def test_shared_nodes_are_not_swept_before_what_refers_to_them_is_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CHUNKS, (1, 10**9))
    shared = item("shared")
    shared["node"]["shared"] = True
    sweeps: list[asyncio.Task[int]] = []

    async def sweep(*_: object) -> None:
        sweeps.append(asyncio.create_task(Removal(store.database, store.kinds).sweep()))

    link = {"type": "NAMES", **named("shared")}
    text = lines(*kinds("docs/File"), shared, item("a"), item("b", references=[link]))
    await loaded(store, text, each_chunk=sweep)
    assert await asyncio.gather(*sweeps) == [0, 0, 0]
    assert (await taken(store)).nodes == 3


async def test_each_step_can_be_given_more(store: Store) -> None:
    seen: list[tuple[str, int]] = []

    async def more(connection: Any, items: Iterable[ItemLine]) -> None:
        for each in items:
            rows = await (await connection.execute("SELECT text_id FROM node WHERE item_id = %s", [each.id])).fetchall()
            assert rows[0].text_id == each.text_id
            seen.append((each.record["key"], each.text_id))

    await loaded(store, lines(*kinds("docs/File"), item("a"), item("b")), each_chunk=more)
    assert sorted(key for key, _ in seen) == ["a", "b"]


async def test_the_last_of_two_lines_about_one_item_holds(store: Store) -> None:
    first, last = item("a"), item("a")
    last["node"]["title"] = "Last"
    await loaded(store, lines(*kinds("docs/File"), first, last))
    [line] = [each for each in await dumped(store) if b'"item"' in each]
    assert json.loads(line)["node"]["title"] == "Last"


async def test_one_source_has_the_same_digest_under_another_name(store: Store) -> None:
    for source in ("one", "two"):
        child = item("b", source)
        child["node"] |= {"parent": named("a", source), "edge": "CONTAINS", "position": 0}
        link = {"type": "LINKS_TO", **named("b", source)}
        alias = {"record": "alias", **named("c", source), "to": "a"}
        await loaded(store, lines(*kinds(f"{source}/File"), item("a", source, references=[link]), child, alias))
    one, two, both = await taken(store, "one"), await taken(store, "two"), await taken(store)
    assert one == two
    assert one.digest != both.digest
    assert (both.nodes, both.edges, both.references, both.aliases) == (4, 4, 2, 2)
    with pytest.raises(DetentError, match="no source 'three'"):
        await taken(store, "three")
    records = [json.loads(line) for line in await dumped(store, "one")]
    assert {record["source"] for record in records if record.get("record") in ("kind", "item", "alias")} == {"one"}
    await loaded(store, lines(item("d", "one", references=[{"type": "LINKS_TO", **named("b", "two")}])))
    records = [json.loads(line) for line in await dumped(store, "one")]
    assert [record["source"] for record in records if record.get("record") == "kind"] == ["one", "two"]


async def test_content_that_workers_wrote_is_written_out(wiki: Store, make_database: Callable[[], str]) -> None:
    await wiki.add("wiki", "Article", ["a", "b", "c"])
    for claimed in await wiki.claim(Stage(ARTICLE, "discovered"), owner="w", limit=2):
        link = Reference("LINKS_TO", "Article", "b", properties={"n": 1e22})
        await wiki.settle([(claimed, Done(Node(claimed.key, "text", {"x": 0.1}), [link]))])
    async with Store(make_database()) as other:
        await loaded(other, await dumped(wiki))
        assert await taken(other) == await taken(wiki)
        assert (await taken(other)).edges == 2
        assert [(line.state, line.count) for line in await other.count_by_state()] == [("discovered", 1), ("loaded", 2)]


def generated(count: int) -> Iterator[bytes]:
    yield from lines(*kinds("docs/File"))
    for number in range(count):
        yield json.dumps(item(f"file {number}", references=[{"type": "T", **named("file 7")}])).encode()


async def test_memory_does_not_grow_with_the_number_of_nodes(store: Store) -> None:
    """20,000 nodes take no more than 4,000: neither to read in, nor to write out, nor to take their digest."""
    peaks: list[list[int]] = []
    for count in (4_000, 20_000):
        peak: list[int] = []
        tracemalloc.start()
        await loaded(store, generated(count))
        peak.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.reset_peak()
        async with Dump.open(store.database, store.kinds) as dump:
            assert sum([1 async for _ in dump.lines()]) == count + 3
            assert sum([1 async for _ in dump.nodes()]) == count
            assert sum([1 async for _ in dump.edges()]) == count
        await taken(store)
        peak.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        peaks.append(peak)
    small, large = peaks
    assert large[0] < 1.5 * small[0]
    assert large[1] < max(1.5 * small[1], 20_000_000)


async def test_a_dump_sees_one_moment(store: Store) -> None:
    await loaded(store, lines(*FULL))
    async with Dump.open(store.database, store.kinds) as dump:
        [*_] = [each async for each in dump.nodes()]
        await loaded(store, lines(*kinds("docs/File"), item("later")))
        assert not any(b"later" in line for line in [each async for each in dump.lines()])


KEYS = st.sampled_from(["a", "b", "c", "d", "e\\\t", "ü/\n"])
TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
PROPERTIES = st.dictionaries(TEXTS, VALUES, max_size=3)
REFERENCES = st.lists(
    st.fixed_dictionaries({"type": TEXTS, "key": KEYS | st.just("gone"), "properties": PROPERTIES}), max_size=3
)
NODES = st.fixed_dictionaries(
    {
        "title": TEXTS,
        "text": TEXTS,
        "properties": PROPERTIES,
        "content_hash": st.none() | TEXTS,
        "shared": st.booleans(),
    }
)


@st.composite
def graphs(draw: st.DrawFn) -> list[Record]:
    """Items with nodes or without, references to what is there and what is not, children, aliases."""
    keys = draw(st.lists(KEYS, min_size=1, unique=True))
    records: list[Record] = []
    for place, key in enumerate(keys):
        node: Record | None = draw(st.none() | NODES)
        references = [{**each, "source": "s", "label": "L"} for each in draw(REFERENCES)]
        if node and place and draw(st.booleans()):
            parent = draw(st.sampled_from(keys))
            node |= {"parent": named(parent, "s", "L"), "position": place, "edge": draw(st.none() | TEXTS)}
        records.append(
            {"record": "item", **named(key, "s", "L"), "state": "ready", "node": node, "references": references}
        )
    aliases = draw(st.dictionaries(st.sampled_from(["old a", "gone", "old\\N"]), st.sampled_from(keys)))
    return records + [{"record": "alias", **named(alias, "s", "L"), "to": key} for alias, key in aliases.items()]


EDGES = """
    SELECT one.key AS origin, edge.type, two.key AS target, edge.position, edge.properties::text
    FROM detent.edge JOIN detent.item AS one ON one.id = from_id JOIN detent.item AS two ON two.id = to_id
    ORDER BY 1, 4, 3
"""


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(records=graphs(), seed=st.randoms(use_true_random=False))
def test_any_graph_comes_through_whole(
    make_database: Callable[[], str], records: list[Record], seed: random.Random
) -> None:
    async def check() -> None:
        shuffled = seed.sample(records, len(records))
        changed = _changed(records, seed)
        async with Store(make_database()) as one, Store(make_database()) as two, Store(make_database()) as three:
            await loaded(one, lines(*kinds("s/L"), *records))
            await loaded(two, await dumped(one))
            await loaded(three, lines(*kinds("s/L"), *shuffled))
            assert await taken(one) == await taken(two) == await taken(three)
            assert _edges(one) == _edges(two) == _edges(three)
            if changed is not None:
                await loaded(three, lines(*kinds("s/L"), changed))
                assert (await taken(three)).digest != (await taken(one)).digest

    asyncio.run(check())


def _changed(records: list[Record], seed: random.Random) -> Record | None:
    """One of the items, with something else in it."""
    changed = copy.deepcopy(seed.choice([record for record in records if record["record"] == "item"]))
    node = changed["node"]
    if node is None:
        return None
    place = seed.choice(["title", "text", "content_hash", "properties", "shared", "references"])
    if place == "references":
        changed["references"].append({"type": "NEW", **named("a", "s", "L")})
    elif place == "properties":
        node["properties"]["more"] = "!" if node["properties"].get("more") != "!" else "?"
    else:
        node[place] = not node["shared"] if place == "shared" else f"{node[place] or ''}!"
    return changed


def _edges(store: Store) -> list[Any]:
    with psycopg.connect(store.database.conninfo, row_factory=namedtuple_row) as connection:
        return connection.execute(EDGES).fetchall()
