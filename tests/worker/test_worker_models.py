"""Workers with different models at once: the one registered last embeds, and the other leaves that to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pytest

from detent import Child, Done, Handler, Item, Node, Source
from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, register
from detent.embedding.provider import Vectors
from detent.knowledge import Embedding
from detent.lifecycle import ARTICLE, PASSAGE
from detent.store import Settled, Stage, Store
from detent.worker.board import Board, make_descriptor
from detent.worker.crew import Crew
from detent.worker.spec import Spec
from detent.worker.worker import Worker

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

Query = Callable[..., list[Any]]

FIRST: dict[str, Any] = {"embedding__provider": "gated", "embedding__model": "first"}
SECOND: dict[str, Any] = {"embedding__provider": "gated", "embedding__model": "second"}
LINKED = Stage(PASSAGE, "linked")


class Gated(Provider):
    """Texts with `wait` in them take the first model until the gate is opened."""

    name = "gated"
    dimensions = 4
    batch_size = 8
    gate: threading.Event
    waits: threading.Event

    def __init__(self, settings: EmbeddingSettings) -> None:
        self.model = settings.model or "first"

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.model == "first" and any("wait" in text for text in texts):
            Gated.waits.set()
            assert Gated.gate.wait(30)
        return np.full((len(texts), 4), 0.5, np.float32)


@pytest.fixture(autouse=True)
def gated() -> Iterator[None]:
    register("gated", Gated)
    Gated.gate, Gated.waits = threading.Event(), threading.Event()
    yield
    Gated.gate.set()


def wiki(count: int = 30) -> Source:
    loading = Handler("claimed", lambda item: page(item, count), label="Article")
    return Source("wiki", {"Article": ARTICLE, "Section": PASSAGE}, [loading])


def page(item: Item, count: int) -> Done:
    texts = [Child("Section", f"{item.key}/{n}", Node(f"{n}", f"long enough: {item.key} {n}")) for n in range(count)]
    return Done(Node(item.key), children=texts)


async def load(bench: Bench, source: Source, *keys: str, **flags: Any) -> None:
    await bench.add(source, *keys, label="Article")
    await bench.run(source, **{**FIRST, **flags})


async def sections(bench: Bench, key: str = "") -> Counter[str]:
    return Counter(state for name, state in (await bench.states()).items() if name.startswith(f"{key}") and "/" in name)


async def current(bench: Bench) -> str:
    model = await bench.store.vectors.current()
    assert model is not None
    return model.name


@contextlib.asynccontextmanager
async def at_work(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    """The worker at work until the end of the block, which it lives to see."""
    running = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(60):
            yield running
        assert not running.done()
    finally:
        worker.stop()
        await asyncio.wait({running})
    running.result()


async def all_ready(bench: Bench, key: str = "") -> bool:
    return set(await sections(bench, key)) == {"ready"}


def sent_back(query: Query) -> list[int]:
    """How often each passage was sent back to be embedded anew."""
    rows = query("SELECT item_id, count(*) AS times FROM move WHERE from_state = 'ready' GROUP BY item_id")
    return [row.times for row in rows]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """All but that passages are embedded again, which they are."""
    told = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    return [message for message in told if "embedded again, with gated/second" not in message]


async def test_of_two_workers_the_one_whose_model_came_last_embeds_and_the_other_does_all_else(
    bench: Bench, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    source = wiki()
    await bench.add(source, "a", label="Article")
    async with at_work(bench.worker(source, **FIRST)):
        await bench.until(lambda: all_ready(bench, "a/"))
        await load(bench, source, "b", **SECOND)
        assert await current(bench) == "second"
        assert await sections(bench) == {"ready": 60}
        assert query("SELECT DISTINCT model FROM embedding") == [("second",)]
        assert max(sent_back(query)) <= 2
        await bench.store.add("wiki", "Article", ["c"])
        await bench.until(lambda: sections(bench, "c/"))
        await bench.run(source, **SECOND)
        assert await sections(bench, "c/") == {"ready": 30}
        assert (await bench.states())["c"] == "loaded"
    [told] = warnings(caplog)
    assert "begun to embed with gated/second (4 dimensions); this one is set to gated/first (4 dimensions)" in told
    assert "[embedding]" in told
    assert await bench.errors() == {}
    assert await bench.sound()


async def test_a_result_that_comes_after_the_switch_is_given_back_and_made_by_the_other(
    bench: Bench, query: Query
) -> None:
    source = wiki(3)
    await load(bench, source, "a")
    await bench.add(source, "wait", label="Article")
    async with at_work(bench.worker(source, **FIRST)):
        await bench.until(lambda: asyncio.to_thread(Gated.waits.wait, 1))
        async with at_work(bench.worker(source, **SECOND)):
            await bench.until(lambda: is_current(bench, "second"))
            assert await sections(bench, "wait/") == {"embedding": 3}
            Gated.gate.set()
            await bench.until(lambda: all_ready(bench, "wait/"))
    reasons = [entry.reason for entry in await bench.history("wait/0")]
    assert any(reason and "gated/first (4 dimensions) was retired" in reason for reason in reasons)
    assert {entry.attempt for entry in await bench.history("wait/0")} <= {0, 1}
    assert query("SELECT DISTINCT model FROM embedding") == [("second",)]
    assert await bench.errors() == {}
    assert await bench.sound()


async def is_current(bench: Bench, name: str) -> bool:
    return await current(bench) == name


async def test_a_run_until_idle_ends_when_what_is_left_is_for_others_to_embed(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    source = wiki(20)
    await load(bench, source, "a")
    await bench.add(source, "wait", label="Article")
    running = asyncio.create_task(bench.run(source, **FIRST))
    await bench.until(lambda: asyncio.to_thread(Gated.waits.wait, 1))
    await bench.store.vectors.register("gated", "second", 4)
    await bench.until(lambda: some_wait(bench, "a/"))
    held = await bench.store.claim(LINKED, owner="another", limit=2)
    Gated.gate.set()
    async with asyncio.timeout(20):
        await running
    assert len(warnings(caplog)) == 1
    assert (await sections(bench))["embedding"] == 2
    await bench.store.release(held)
    await bench.run(source, **SECOND)
    assert await sections(bench) == {"ready": 40}
    assert await current(bench) == "second"
    assert await bench.sound()


async def some_wait(bench: Bench, key: str) -> bool:
    return (await sections(bench, key))["linked"] >= 10


async def test_what_was_claimed_and_not_begun_is_given_back_without_counting(bench: Bench) -> None:
    """One batch is with the model, and others wait for their turn, when another model becomes the one wanted."""
    source = wiki(40)
    await bench.add(source, "wait", label="Article")
    async with at_work(bench.worker(source, **FIRST)):
        await bench.until(lambda: asyncio.to_thread(Gated.waits.wait, 1))
        await bench.store.vectors.register("gated", "second", 4)
        Gated.gate.set()
        await bench.until(lambda: nobody_embeds(bench))
        assert (await sections(bench))["linked"] >= 16
        assert max((await bench.attempts()).values()) == 0


async def nobody_embeds(bench: Bench) -> bool:
    states = await sections(bench)
    return bool(states) and not states["embedding"]


async def test_a_worker_started_anew_with_the_old_model_makes_it_the_one_that_is_wanted(
    bench: Bench, query: Query
) -> None:
    source = wiki(10)
    for flags in (FIRST, SECOND, FIRST):
        await load(bench, source, "a", **flags)
        assert await current(bench) == flags["embedding__model"]
    assert query("SELECT DISTINCT model FROM embedding") == [("first",)]


async def test_what_was_embedded_with_a_model_that_is_given_up_is_embedded_with_the_current_one_after_all(
    bench: Bench,
) -> None:
    """New texts have vectors of the next model alone, until it is current. If it never is, those are gone."""
    source = wiki(5)
    await load(bench, source, "a")
    await bench.store.add("wiki", "Article", ["b"])
    [article] = await bench.store.claim(Stage(ARTICLE, "discovered"), owner="another")
    await bench.store.settle([(article, page(article, 5))])
    given_up = await bench.store.vectors.register("gated", "second", 4)
    held = await bench.store.contents.with_passages(await bench.store.claim(LINKED, owner="another"))
    await bench.store.settle([(item, Done(embedding=made_with(given_up.name, item))) for item in held])
    assert await sections(bench) == {"ready": 10}
    await bench.run(source, **FIRST)
    first = await bench.store.vectors.current()
    assert first is not None and first.name == "first"
    assert await bench.store.vectors.missing(first, 100) == []
    assert await bench.store.vectors.unfilled() is None
    assert await sections(bench) == {"ready": 10}
    assert await bench.sound()


def made_with(model: str, item: Item) -> Embedding:
    assert item.passage is not None
    return Embedding("gated", model, hash=item.passage.hash, vector=np.full(4, 0.5, np.float32))


async def test_a_worker_that_takes_anothers_place_leaves_the_choice_as_it_is(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """A crew replaces a worker that died; that is nobody's decision for its model."""
    source = wiki(10)
    await load(bench, source, "a")
    await load(bench, source, "b", **SECOND)
    await bench.store.add("wiki", "Article", ["c"])
    board = Board(make_descriptor())
    async with asyncio.timeout(20):
        settings = bench.settings(**FIRST)
        await Worker(bench.store, [source], settings, owner="next", board=board, replacement=True).run(until_idle=True)
    assert await current(bench) == "second" and await bench.store.vectors.next() is None
    assert (await sections(bench, "c/")) == {"linked": 10}
    assert len(warnings(caplog)) == 1


async def test_a_crew_says_which_worker_takes_the_place_of_one_that_died(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[bool] = []
    spec = Crew._spec

    def noted(crew: Crew, owner: str, board: int, lifeline: int, replacement: bool) -> Spec:
        started.append(replacement)
        return spec(crew, owner, board, lifeline, replacement)

    monkeypatch.setattr(Crew, "_spec", noted)
    await bench.add(bench.source("tasks"), "die now", "work 1")
    crew = await bench.crew(worker__processes=1, worker__max_attempts=1)
    async with bench.working(crew) as running:
        await running
    assert started[0] is False and set(started[1:]) == {True}


async def held_passage(store: Store) -> Item:
    await store.declare("wiki", "Section", PASSAGE)
    await store.add("wiki", "Section", ["s"])
    await store.vectors.register("p", "old", 4)
    [item] = await store.claim(LINKED, owner="w")
    model = await store.vectors.register("p", "new", 4)
    assert await store.vectors.switch(model)
    return item


@pytest.mark.parametrize("vector", [np.ones(4, np.float32), None])
async def test_a_vector_of_a_model_that_is_gone_can_be_made_again(store: Store, vector: Any) -> None:
    item = await held_passage(store)
    made = Embedding("p", "old", hash=UUID(int=7), vector=vector, renewable=True)
    [receipt] = await store.settle([(item, Done(embedding=made))])
    assert (receipt.status, receipt.state) == (Settled.APPLIED, "linked")
    [again] = await store.claim(LINKED, owner="w")
    assert again.attempt == item.attempt == 1


async def test_a_handler_of_ones_own_that_keeps_to_a_model_that_is_gone_fails(store: Store) -> None:
    """It would make the same vector for ever."""
    item = await held_passage(store)
    made = Embedding("p", "old", hash=UUID(int=7), vector=np.ones(4, np.float32))
    [receipt] = await store.settle([(item, Done(embedding=made))])
    assert (receipt.status, receipt.state) == (Settled.REFUSED, "error")
    assert "p/old (4 dimensions) was retired" in str(receipt.reason)
