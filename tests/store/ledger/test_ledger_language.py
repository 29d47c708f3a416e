"""The language of a source's texts: what it changes is indexed anew, at once or not at all, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from detent import Source
from detent.errors import InvalidSource, UnknownName
from detent.knowledge import Done, Node
from detent.knowledge.query import parse
from detent.lifecycle import ARTICLE, TOPIC
from detent.store import Stage, Store
from detent.store.database import Connection, fetch
from detent.worker.duty import declare

Query = Callable[..., list[Any]]

WAITING = """
SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
TEXTS = {"one": "She was running home.", "two": "A stone wall.", "three": "They ran."}


async def put(store: Store, texts: dict[str, str]) -> None:
    kind = await store.kinds.get("wiki", "Article")
    await store.add("wiki", "Article", texts)
    found = await store.items.find(kind, list(texts))
    await store.reset([row.id for row in found.values()])
    items = await store.claim(Stage(ARTICLE, "discovered"), owner="w", kinds=[kind], limit=1000)
    await store.settle([(item, Done(Node("", texts[item.key]))) for item in items])


async def index(store: Store) -> None:
    while await store.texts.index():
        pass


async def found(store: Store, text: str) -> set[str]:
    hits = (await store.texts.search(parse(text), limit=1000)).hits
    return {(await store.show(hit.item_id)).item.key for hit in hits}


async def statistics(store: Store) -> tuple[int, int]:
    """How many texts are alive in the index, and how many wait."""
    known = await store.texts.statistics()
    return known.texts - known.dead_texts, known.pending


@pytest.mark.parametrize("indexed_before", [True, False])
async def test_words_are_found_by_their_stems_after_the_change_and_not_before(
    wiki: Store, query: Query, indexed_before: bool
) -> None:
    await put(wiki, TEXTS)
    if indexed_before:
        await index(wiki)
    assert await found(wiki, "runs") == set()
    assert await wiki.sources.set_language("wiki", "english") == 3
    assert await found(wiki, "runs") == {"one"}
    assert await found(wiki, "stones") == {"two"}
    await index(wiki)
    assert await found(wiki, "runs") == {"one"}
    assert await statistics(wiki) == (3, 0)
    assert await wiki.sources.set_language("wiki", "english") == 0
    assert await wiki.sources.set_language("wiki", "simple") == 3
    await index(wiki)
    assert await found(wiki, "runs") == set()
    assert await found(wiki, "running") == {"one"}
    assert await statistics(wiki) == (3, 0)


async def test_other_sources_keep_theirs(wiki: Store, query: Query) -> None:
    await put(wiki, TEXTS)
    assert await wiki.sources.set_language("docs", "english") == 0
    assert await found(wiki, "runs") == set()
    rows = query("SELECT name, language FROM source ORDER BY name")
    assert [tuple(row) for row in rows] == [("docs", "english"), ("wiki", "simple")]


async def test_an_unknown_language_or_source_gets_a_suggestion(wiki: Store, query: Query) -> None:
    with pytest.raises(UnknownName, match=r"^There is no language 'englisch'\. Did you mean 'english'\?$"):
        await wiki.sources.set_language("wiki", "englisch")
    with pytest.raises(UnknownName, match=r"^There is no source 'wikki'\. Did you mean 'wiki'\?$"):
        await wiki.sources.set_language("wikki", "english")
    assert {row.language for row in query("SELECT language FROM source")} == {"simple"}


async def test_two_who_say_the_same_at_once_do_it_once(wiki: Store, query: Query) -> None:
    await put(wiki, TEXTS)
    counts = await asyncio.gather(*[wiki.sources.set_language("wiki", "english") for _ in range(4)])
    assert sorted(counts) == [0, 0, 0, 3]
    await index(wiki)
    assert await statistics(wiki) == (3, 0)


async def test_texts_that_are_written_meanwhile_are_neither_lost_nor_found_twice(wiki: Store) -> None:
    texts = {f"page {number}": f"running {number}" for number in range(200)}
    await put(wiki, texts)
    ended = asyncio.Event()

    async def write() -> None:
        for round_ in range(8):
            await put(wiki, {key: f"{text} {'twice' * (round_ % 2)}" for key, text in texts.items()})
        ended.set()

    async def change() -> None:
        while not ended.is_set():
            for language in ("english", "simple"):
                await wiki.sources.set_language("wiki", language)

    async def keep_indexing() -> None:
        while not ended.is_set():
            await wiki.texts.index(limit=70)

    await asyncio.gather(write(), change(), keep_indexing())
    await wiki.sources.set_language("wiki", "english")
    await index(wiki)
    assert await found(wiki, "runs") == set(texts)
    assert await statistics(wiki) == (200, 0)


async def test_who_writes_a_node_waits_until_all_have_their_new_numbers(
    wiki: Store, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(wiki, TEXTS)
    changing, waited = asyncio.Event(), asyncio.Event()

    async def slowly(connection: Connection, name: str, parameters: Any = None) -> list[Any]:
        rows = await fetch(connection, name, parameters)
        if name == "index_anew":
            changing.set()
            await waited.wait()
        return rows

    monkeypatch.setattr("detent.store.ledger.sources.fetch", slowly)
    change = asyncio.create_task(wiki.sources.set_language("wiki", "english"))
    await changing.wait()
    write = asyncio.create_task(put(wiki, {**TEXTS, "one": "She was walking home."}))
    while not query(WAITING):  # noqa: ASYNC110  what is waited for is in the database
        await asyncio.sleep(0.01)
    waited.set()
    await asyncio.gather(change, write)
    left = query("SELECT text_id FROM text_change GROUP BY text_id HAVING count(*) = 1 AND NOT bool_or(gone)")
    assert {row.text_id for row in left} == {row.text_id for row in query("SELECT text_id FROM node")}
    await index(wiki)
    assert await statistics(wiki) == (3, 0)
    assert await found(wiki, "walks") == {"one"}


async def test_a_declared_language_is_the_databases_and_none_leaves_it(store: Store, query: Query) -> None:
    lifecycles = {"Topic": TOPIC}
    await declare(store, [Source("topics", lifecycles)])
    assert [row.language for row in query("SELECT language FROM source")] == ["simple"]
    await declare(store, [Source("topics", lifecycles, language="german")])
    await declare(store, [Source("topics", lifecycles)])
    assert [row.language for row in query("SELECT language FROM source")] == ["german"]
    with pytest.raises(UnknownName, match="Did you mean 'english'"):
        await declare(store, [Source("topics", lifecycles, language="English")])


@pytest.mark.parametrize("language", ["", "en-GB", "english; --", "é", 5, True])
def test_what_is_no_name_of_a_language_is_refused_where_it_is_declared(language: Any) -> None:
    with pytest.raises(InvalidSource, match=r"^topics: the language is a name such as 'english'"):
        Source("topics", {"Topic": TOPIC}, language=language)
