"""The index against plain arithmetic: texts come, change and go, indexing and tidying happen at any moment, and what
is found is what a BM25 of ten lines finds over the living texts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import namedtuple_row

from detent.knowledge.query import Query
from detent.lifecycle import NODE
from detent.store import Store
from detent.store.texts import Texts, ranking

if TYPE_CHECKING:
    from tests.store.texts.conftest import Shelf

WORDS = ["heron", "herons", "stork", "water", "lake", "running", "run", "the", "é", "日本", "a-b", "x.y/z"]
KINDS = ("simple", "english")

words = st.lists(st.sampled_from(WORDS), max_size=12)
keys = st.integers(0, 30).map(str)
kinds = st.sampled_from(KINDS)
steps = st.one_of(
    st.tuples(st.just("put"), kinds, keys, words),
    st.tuples(st.just("put"), kinds, keys, words),
    st.tuples(st.just("take"), kinds, keys),
    st.tuples(st.just("index"), st.integers(1, 20)),
    st.tuples(st.just("tidy"), st.sampled_from([0.0, 0.2])),
    st.tuples(st.just("search"), st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)),
)


async def take_steps(shelf: Shelf, many: list[tuple[Any, ...]]) -> None:
    for step in many:
        match step:
            case ("put", kind, key, text):
                shelf.put(key, " ".join(text), kind=kind)
            case ("take", kind, key):
                shelf.take(key, kind=kind)
            case ("index", limit):
                await shelf.texts.index(limit)
            case ("tidy", tolerance):
                await shelf.texts.tidy(tolerance)
            case ("search", some):
                await compare(shelf, some, exactly=False)


async def compare(shelf: Shelf, some: list[str], *, exactly: bool) -> None:
    """The same texts are found; with the same scores, when no block has dead texts whose words still count."""
    plain = shelf.plain(some)
    for texts in (shelf.texts, Texts(shelf.store.database, budget=8)):
        hits = (await texts.search(Query(tuple(some)), limit=1000)).hits
        assert {hit.item_id for hit in hits} == set(plain)
        assert sorted((hit.score for hit in hits), reverse=True) == [hit.score for hit in hits]
        if exactly:
            assert {hit.item_id: hit.score for hit in hits} == pytest.approx(plain, rel=1e-6)


async def play(conninfo: str, make_shelf: Any, many: list[tuple[Any, ...]]) -> None:
    options = "-c search_path=detent,public"
    with psycopg.connect(conninfo, autocommit=True, row_factory=namedtuple_row, options=options) as connection:

        def query(statement: str, *parameters: Any) -> list[Any]:
            cursor = connection.execute(statement.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

        async with Store(conninfo) as store:
            numbers = {kind: (await store.declare(kind, "File", NODE)).id for kind in KINDS}
            query("UPDATE source SET language = name")
            shelf = make_shelf(store, query, numbers)
            await take_steps(shelf, many)
            await shelf.settle()
            for word in WORDS:
                await compare(shelf, [word, "heron"], exactly=True)
            living = query("SELECT count(*) AS count FROM node")[0].count
            held = await shelf.texts.statistics()
            assert (held.texts, held.dead_texts, held.pending) == (living, 0, 0)


@pytest.mark.parametrize("short", [1, 256])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(many=st.lists(steps, min_size=30, max_size=120))
def test_what_is_found_is_what_plain_arithmetic_finds(
    make_database: Callable[[], str],
    shelf_class: Any,
    monkeypatch: pytest.MonkeyPatch,
    short: int,
    many: list[tuple[Any, ...]],
) -> None:
    """Also where the words are common, so that most of what is found has to be counted."""
    monkeypatch.setattr(ranking, "SHORT", short)
    asyncio.run(play(make_database(), shelf_class, many))
