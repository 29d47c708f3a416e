"""Another model: everything is embedded again, by any number of workers, whatever the lifecycle calls its states."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pytest

from detent import Child, Done, Failed, Handler, Item, Lifecycle, Node, Source
from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, register
from detent.embedding.provider import Vectors
from detent.lifecycle import ARTICLE, NODE, PASSAGE
from detent.store import Stage, Store
from detent.store.vectors.embeddings import way_back
from detent.worker import tending
from detent.worker.tending import Tending

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

Query = Callable[..., list[Any]]

NOTE = Lifecycle(
    "note",
    initial="drafted",
    moves=[
        ("drafted", "claim", "embedding"),
        ("embedding", "done", "indexed"),
        ("embedding", "back", "drafted"),
        ("embedding", "fail", "broken"),
        ("broken", "retry", "drafted"),
        ("indexed", "change", "drafted"),
    ],
)
REPORT = Lifecycle(
    "report",
    initial="received",
    moves=[
        ("received", "claim", "reading"),
        ("reading", "done", "read"),
        ("reading", "back", "received"),
        ("reading", "fail", "broken"),
        ("read", "claim", "embedding"),
        ("embedding", "done", "embedded"),
        ("embedding", "back", "read"),
        ("embedding", "fail", "broken"),
        ("embedded", "claim", "summing_up"),
        ("summing_up", "done", "summed_up"),
        ("summing_up", "back", "embedded"),
        ("summing_up", "fail", "broken"),
        ("summed_up", "step", "published"),
        ("published", "change", "received"),
        ("summed_up", "change", "read"),
        ("broken", "retry", "received"),
    ],
)
"""Embedding is not its last stage, and where it ends no way leads straight back."""


class Hashing(Provider):
    """Vectors that differ with the text; fails with texts that it is told not to read."""

    name = "hashing"
    batch_size = 16

    def __init__(self, settings: EmbeddingSettings) -> None:
        self.model = settings.model or "first"
        self.dimensions = settings.dimensions or 8

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.model == "unable":
            raise ValueError("cannot read it")
        rows = [np.frombuffer(hashlib.sha512(text.encode()).digest(), np.uint8)[: self.dimensions] for text in texts]
        vectors = np.array(rows, np.float32) + 1
        normal: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return normal


@pytest.fixture(autouse=True)
def hashing() -> None:
    register("hashing", Hashing)


HASHING: dict[str, Any] = {"embedding__provider": "hashing"}


def wiki(count: int, lifecycle: Lifecycle = PASSAGE) -> Source:
    def load(item: Item) -> Done:
        texts = [Child("Section", f"{item.key}/{n}", Node(f"{n}", f"long enough: {n}")) for n in range(count)]
        return Done(Node(item.key), children=texts)

    return Source("wiki", {"Article": ARTICLE, "Section": lifecycle}, [Handler("claimed", load, label="Article")])


async def load(bench: Bench, count: int, lifecycle: Lifecycle = PASSAGE) -> Source:
    """So many passages, embedded with the first model."""
    source = wiki(count, lifecycle)
    await bench.add(source, "a", label="Article")
    await bench.run(source, **HASHING)
    return source


async def sections(bench: Bench) -> Counter[str]:
    return Counter(state for key, state in (await bench.states()).items() if "/" in key)


async def current(bench: Bench) -> str:
    model = await bench.store.vectors.current()
    assert model is not None
    return model.name


def hashes(query: Query) -> list[UUID]:
    return [row.hash for row in query("SELECT hash FROM embedding ORDER BY hash")]


def tender(store: Store, **settings: Any) -> Tending:
    async def account() -> None:
        return

    return Tending(store, account, **settings)


@pytest.fixture
async def other(database: str) -> AsyncIterator[Store]:
    """The store of another worker."""
    async with Store(database) as opened:
        yield opened


async def test_workers_that_change_the_model_at_once_do_not_get_in_each_others_way(bench: Bench, query: Query) -> None:
    source = await load(bench, 60)
    workers = [bench.worker(source, **HASHING, embedding__model="second") for _ in range(2)]
    async with asyncio.timeout(60):
        await asyncio.gather(*[worker.run(until_idle=True) for worker in workers])
    assert await current(bench) == "second"
    assert await sections(bench) == {"ready": 60}
    assert query("SELECT DISTINCT model FROM embedding") == [("second",)]
    assert await bench.sound()


async def test_that_everything_is_embedded_again_is_said_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    source = await load(bench, 10)
    await bench.run(source, **HASHING)
    assert "embedded again" not in caplog.text
    await bench.run(source, **HASHING, embedding__model="second")
    assert caplog.text.count("embedded again, with hashing/second (8 dimensions)") == 1


async def test_of_two_that_send_the_same_items_back_each_item_has_one(bench: Bench, other: Store, query: Query) -> None:
    await load(bench, 40)
    texts = hashes(query)
    sent = await asyncio.gather(*[store.embed_anew(texts, reason="anew") for store in (bench.store, other)])
    assert sum(sent) == 40
    assert await sections(bench) == {"linked": 40}
    assert await bench.sound()


async def test_a_lifecycle_whose_end_has_another_name_is_embedded_again_as_well(bench: Bench, query: Query) -> None:
    source = await load(bench, 10, NOTE)
    assert await sections(bench) == {"indexed": 10}
    await bench.run(source, **HASHING, embedding__model="second")
    assert await current(bench) == "second"
    assert await sections(bench) == {"indexed": 10}
    assert query("SELECT DISTINCT model FROM embedding") == [("second",)]
    assert len(hashes(query)) == 10
    assert ("indexed", "drafted") in await bench.moves("a/3")


async def test_a_failed_item_that_is_tried_again_before_it_could_be_held_keeps_its_embedding(
    bench: Bench, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    await load(bench, 1)
    stage = Stage(PASSAGE, "linked", 1)
    await bench.store.embed_anew(hashes(query), reason="anew")
    [item] = await bench.store.claim(stage, owner="one")
    await bench.store.settle([(item, Failed("no"))])
    assert await sections(bench) == {"error": 1}
    hold_each = bench.store.items.hold_each

    async def after_another(ids: Sequence[int], verb: Any) -> list[int]:
        monkeypatch.undo()
        await bench.store.retry(list(ids))
        await bench.store.claim(stage, owner="another")
        return await hold_each(ids, verb)

    monkeypatch.setattr(bench.store.items, "hold_each", after_another)
    assert await bench.store.embed_anew(hashes(query), reason="anew") == 0
    assert len(hashes(query)) == 1


async def test_a_failed_item_forgets_its_embedding(bench: Bench, query: Query) -> None:
    await load(bench, 1)
    texts = hashes(query)
    await bench.store.embed_anew(texts, reason="anew")
    [item] = await bench.store.claim(Stage(PASSAGE, "linked", 1), owner="one")
    await bench.store.settle([(item, Failed("no"))])
    assert await bench.store.embed_anew(texts, reason="anew") == 1
    assert hashes(query) == []


@pytest.mark.parametrize("state", ["pending", "parsing", "parsed", "linking", "linked", "embedding"])
async def test_what_is_on_its_way_keeps_its_old_vector(store: Store, query: Query, state: str) -> None:
    """An edited file is found by its old text until it is embedded again."""
    await store.declare("docs", "File", NODE)
    await store.add("docs", "File", ["a"])
    stages = {"parsing": "pending", "linking": "parsed", "embedding": "linked"}
    while (await store.list()).items[0].state != state:
        waiting = (await store.list()).items[0].state
        [item] = await store.claim(Stage(NODE, waiting, 3), owner="one")
        if stages.get(state) != waiting:
            await store.settle([(item, Done())])
    text = UUID(int=1)
    query("INSERT INTO embedding (item_id, provider, model, hash) SELECT id, 'p', 'm', %s FROM item", text)
    assert await store.embed_anew([text], reason="anew") == 0
    assert hashes(query) == [text]
    assert (await store.list()).items[0].state == state


@pytest.mark.parametrize(
    ("lifecycle", "state", "way"),
    [
        (PASSAGE, "ready", "linked"),
        (NODE, "ready", "linked"),
        (NODE, "parsed", None),
        (NODE, "error", None),
        (NODE, "skip", None),
        (NOTE, "indexed", "drafted"),
        (NOTE, "broken", None),
        (REPORT, "embedded", None),
        (REPORT, "summed_up", "read"),
        (REPORT, "published", "received"),
        (REPORT, "broken", None),
        (ARTICLE, "loaded", None),
    ],
)
def test_the_lifecycle_says_where_an_item_is_embedded_again(lifecycle: Lifecycle, state: str, way: str | None) -> None:
    assert way_back(lifecycle, state) == way


@pytest.mark.parametrize("count", [7, 8, 9])
async def test_tending_ends_however_many_texts_are_to_be_embedded_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Also if the last page is a full one, and nobody embeds meanwhile."""
    monkeypatch.setattr(tending, "_ANEW_AT_ONCE", 4)
    await load(bench, count)
    await bench.store.vectors.register("hashing", "second", 8)
    async with asyncio.timeout(20):
        await tender(bench.store).finish()
    assert await sections(bench) == {"linked": count}
    assert await current(bench) == "first"


async def test_pages_on_which_nothing_changes_are_no_reason_to_go_on_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tending, "_ANEW_AT_ONCE", 4)
    await load(bench, 8)
    await bench.store.vectors.register("hashing", "second", 8)
    tends = tender(bench.store)
    await tends.finish()
    assert [await tends.run_once() for _ in range(6)] == [False] * 6


async def test_a_model_that_can_embed_none_of_many_pages_takes_over_all_the_same(
    bench: Bench, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tending, "_ANEW_AT_ONCE", 4)
    source = await load(bench, 8)
    await bench.run(source, **HASHING, embedding__model="unable", worker__max_attempts=1)
    assert await sections(bench) == {"error": 8}
    assert await current(bench) == "unable"
    assert hashes(query) == []
