"""Indexing: nothing is lost, nothing is indexed twice, and the blocks stay few."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import psycopg
import pytest

from detent.errors import DatabaseBusy
from detent.knowledge.query import parse
from detent.store import Store
from detent.store.texts import Texts, index
from detent.store.texts.blocks import MOST_TEXTS, MOST_WORDS

if TYPE_CHECKING:
    from tests.store.texts.conftest import Shelf


async def found(texts: Texts, query: str) -> set[int]:
    return {hit.item_id for hit in (await texts.search(parse(query), limit=10_000)).hits}


async def test_an_interrupted_step_loses_nothing(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    items = shelf.put_many({f"{n}": f"heron {n}" for n in range(50)})

    async def fail(*_: object) -> None:
        raise DatabaseBusy("the server was stopped")

    with monkeypatch.context() as patch:
        patch.setattr(index, "_write", fail)
        with pytest.raises(DatabaseBusy):
            await shelf.texts.index()
    assert await shelf.texts.pending() == 50
    assert await shelf.texts.index() == 50
    assert await found(shelf.texts, "heron") == set(items)
    with monkeypatch.context() as patch:
        patch.setattr(index, "_write", fail)
        shelf.take("7")
        await shelf.texts.index()
        with pytest.raises(DatabaseBusy):
            await shelf.texts.tidy(0)
    assert await found(shelf.texts, "heron") == set(items) - {items[7]}
    assert await shelf.texts.tidy(0)
    assert await found(shelf.texts, "heron") == set(items) - {items[7]}


async def test_a_server_that_ends_the_connection_loses_nothing(shelf: Shelf) -> None:
    items = shelf.put_many({f"{n}": f"heron {n} " + "water " * 300 for n in range(2000)})
    working = asyncio.create_task(shelf.texts.index())
    while not working.done():
        shelf.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE query LIKE '%%tsvectorsend%%' AND state = 'active' AND pid <> pg_backend_pid()"
        )
        await asyncio.sleep(0)
    await asyncio.gather(working, return_exceptions=True)
    while await shelf.texts.index():
        pass
    assert (await shelf.texts.statistics()).texts == 2000
    assert await found(shelf.texts, "heron") == set(items)


async def test_of_two_that_index_at_once_one_leaves_it_to_the_other(shelf: Shelf, database: str) -> None:
    items = shelf.put_many({f"{n}": f"heron {n}" for n in range(300)})
    async with Store(database) as other:
        theirs = Texts(other.database)

        async def drain(texts: Texts) -> int:
            total = 0
            while await texts.pending():
                total += await texts.index(20)
                await texts.tidy()
            return total

        assert sum(await asyncio.gather(drain(shelf.texts), drain(theirs))) == 300
    assert (await shelf.texts.statistics()).texts == 300
    assert await found(shelf.texts, "heron") == set(items)


async def test_a_lock_that_another_holds_is_not_waited_for(shelf: Shelf, database: str) -> None:
    shelf.put("a", "heron")
    with psycopg.connect(database) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [index.LOCK])
        assert await shelf.texts.index() == 0
        assert await shelf.texts.tidy(0) is False
    assert await shelf.texts.index() == 1


async def test_writers_indexers_and_searchers_do_not_wait_for_each_other_in_a_circle(shelf: Shelf) -> None:
    rng = random.Random(3)
    done = asyncio.Event()

    async def write() -> None:
        for n in range(150):
            await asyncio.to_thread(shelf.put, str(rng.randrange(40)), f"heron water{n}")
        done.set()

    async def tend() -> None:
        while not done.is_set():
            await shelf.texts.index(7)
            await shelf.texts.tidy()

    async def search() -> None:
        while not done.is_set():
            hits = (await shelf.texts.search(parse("heron"), limit=100)).hits
            assert len({hit.item_id for hit in hits}) == len(hits)

    await asyncio.gather(write(), tend(), tend(), search())
    await shelf.settle()
    living = {row.item_id for row in shelf.query("SELECT item_id FROM node")}
    assert await found(shelf.texts, "heron") == living


async def test_a_text_that_went_before_it_was_indexed_leaves_nothing(shelf: Shelf) -> None:
    shelf.put("a", "heron")
    shelf.put("a", "stork")
    shelf.take("a")
    assert await shelf.texts.index(1) == 1
    while await shelf.texts.index():
        pass
    assert (await shelf.texts.statistics()).texts == 0
    assert shelf.query("SELECT FROM posting") == shelf.query("SELECT FROM text_change") == []


async def test_the_dead_are_counted_and_go_with_the_next_rewriting(shelf: Shelf) -> None:
    shelf.put_many({f"{n}": "heron by the lake" for n in range(100)})
    await shelf.settle()
    for n in range(20):
        shelf.take(str(n))
    await shelf.texts.index()
    held = await shelf.texts.statistics()
    assert (held.texts, held.dead_texts, held.words, held.dead_words) == (100, 20, 400, 80)
    assert await shelf.texts.tidy() is False
    shelf.take("20")
    await shelf.texts.index()
    assert await shelf.texts.tidy()
    held = await shelf.texts.statistics()
    assert (held.texts, held.dead_texts, held.words, held.dead_words) == (79, 0, 316, 0)


async def test_when_all_of_a_block_is_dead_nothing_is_left_of_it(shelf: Shelf) -> None:
    shelf.put("a", "heron")
    await shelf.settle()
    shelf.take("a")
    await shelf.settle()
    assert (await shelf.texts.statistics()).blocks == 0
    assert shelf.query("SELECT FROM posting") == []


async def test_many_small_steps_leave_few_blocks_of_each_kind(shelf: Shelf) -> None:
    for n in range(60):
        shelf.put(f"{n}", f"heron {n}")
        shelf.put(f"{n}", f"heron {n}", kind="english")
        await shelf.texts.index()
        while await shelf.texts.tidy():
            pass
    blocks = shelf.query("SELECT kind_id, count FROM text_block")
    assert len(blocks) <= 2 * 2 * 7
    assert sum(block.count for block in blocks) == 120
    for kind, number in shelf.kinds.items():
        own = await shelf.texts.search(parse("heron"), limit=100, kinds=[number])
        assert len(own.hits) == 60, kind


async def test_long_texts_are_indexed_in_steps_of_a_bounded_size(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MOST_BYTES", 10_000)
    shelf.put_many({f"{n}": "heron " * 1000 for n in range(9)})
    taken = []
    while many := await shelf.texts.index():
        taken.append(many)
    assert taken == [2, 2, 2, 2, 1]


async def test_nothing_asked_of_the_index_scans_its_tables(shelf: Shelf) -> None:
    """A search for two words touches as many postings as there are blocks with them, not all."""
    shelf.put_many({f"{n}": f"heron w{n} x{n}" for n in range(3000)})
    await shelf.settle()
    shelf.query("ANALYZE")
    before = shelf.query("SELECT pg_stat_force_next_flush()") and _scans(shelf)
    for _ in range(5):
        await shelf.texts.search(parse("heron w7 -x8"), limit=5)
    await shelf.store.database.close()
    assert _scans(shelf) == before


def _scans(shelf: Shelf) -> list[tuple[str, int]]:
    rows = shelf.query(
        "SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname IN ('posting', 'node', 'item', 'text_change')"
        " ORDER BY relname"
    )
    return [(row.relname, row.seq_scan) for row in rows]


def test_a_block_is_bounded() -> None:
    assert MOST_TEXTS <= 1 << 16  # an ordinal has two bytes
    assert MOST_WORDS <= 1 << 23  # a term's rank has the bits above the fortieth, without the sign
