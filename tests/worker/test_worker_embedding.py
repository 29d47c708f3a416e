"""The stage that embeds: for all sources, each text once, with reasons for what is left out, and with another model."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from detent import Child, Done, Handler, Item, Node, Outcome, Source
from detent.configuration import EmbeddingSettings
from detent.embedding import Budget, Provider, register
from detent.embedding.provider import Vectors
from detent.errors import DetentError
from detent.lifecycle import ARTICLE, PASSAGE
from detent.worker.embedder import Embedder

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

Query = Callable[..., list[Any]]


class Counting(Provider):
    """A provider that says how often it was asked for what, and fails when it is told to."""

    name = "counting"
    batch_size = 64

    def __init__(self, settings: EmbeddingSettings) -> None:
        self.model = settings.model or "first"
        self.dimensions = settings.dimensions or 8

    def embed(self, texts: Sequence[str]) -> Vectors:
        with LOCK:
            BATCHES.append(len(texts))
            ASKED.update(texts)
        for text in texts:
            if text.startswith("broken") or (FAILING and "\nbad" in text):
                raise FAILING.pop() if FAILING else ValueError("cannot read it")
        rows = [np.frombuffer(hashlib.sha512(text.encode()).digest(), np.uint8)[: self.dimensions] for text in texts]
        vectors = np.array(rows, np.float32) + 1
        normal: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return normal


LOCK = threading.Lock()
ASKED: Counter[str] = Counter()
BATCHES: list[int] = []
FAILING: list[Exception] = []


@pytest.fixture(autouse=True)
def counting() -> Iterator[None]:
    register("counting", Counting)
    ASKED.clear()
    BATCHES.clear()
    FAILING.clear()
    yield


COUNTING: dict[str, Any] = {"embedding__provider": "counting"}
LONG = "long enough to be embedded"


def wiki(name: str, pages: dict[str, list[tuple[str, str]]]) -> Source:
    def load(item: Item) -> Done:
        children = [Child("Section", f"{item.key}/{title}", Node(title, text)) for title, text in pages[item.key]]
        return Done(Node(item.key), children=children)

    lifecycles = {"Article": ARTICLE, "Section": PASSAGE}
    return Source(name, lifecycles, [Handler("claimed", load, label="Article")])


async def load(bench: Bench, source: Source, *keys: str, **flags: Any) -> None:
    await bench.add(source, *keys, label="Article")
    await bench.run(source, **COUNTING, **flags)


async def again(bench: Bench, source: Source, *keys: str, **flags: Any) -> None:
    await bench.store.mark_changed(source.name, "Article", {key: str(id(object())) for key in keys})
    await bench.run(source, **COUNTING, **flags)


async def nearest(bench: Bench, text: str) -> str:
    model = await bench.store.vectors.current()
    assert model is not None
    settings = EmbeddingSettings(provider="counting", model=model.name, dimensions=model.dimensions)
    hits = await bench.store.vectors.search(model, Counting(settings).embed([text])[0], limit=1)
    return (await bench.store.show(hits.hits[0].item_id)).item.key


async def test_passages_of_all_sources_are_embedded_together(bench: Bench, query: Query) -> None:
    sources = [wiki(name, {name: [(f"{name} {n}", f"{LONG} {n}") for n in range(10)]}) for name in ("one", "two")]
    for source in sources:
        await bench.add(source, source.name, label="Article")
    await bench.run(*sources, **COUNTING)
    assert {state for key, state in (await bench.states()).items() if "/" in key} == {"ready"}
    assert sum(BATCHES) == 20 and len(BATCHES) < 5
    rows = query("SELECT DISTINCT provider, model FROM embedding WHERE hash IS NOT NULL")
    assert rows == [("counting", "first")]
    assert await nearest(bench, f"two 3\n{LONG} 3") == "two/two 3"
    assert await bench.sound()


async def test_the_same_text_is_embedded_once_across_items_and_restarts(bench: Bench, query: Query) -> None:
    """ANCESTORS 44: calls were repeated after a restart, without a bound on spending."""
    pages = {key: [("same", f"{LONG} the same"), (key, f"{LONG} {key}")] for key in "abc"}
    source = wiki("one", pages)
    await load(bench, source, "a")
    await load(bench, source, "b", "c")
    await load(bench, wiki("other", pages), "a", "b", "c")
    assert set(ASKED.values()) == {1} and len(ASKED) == 4
    assert len(query("SELECT DISTINCT hash FROM embedding")) == 4
    assert len(query("SELECT item_id FROM embedding")) == 12


async def test_one_changed_section_embeds_one_section_again(bench: Bench) -> None:
    """ANCESTORS 20 and 21: all was embedded again for one change, and an edited text was never indexed again."""
    pages = {"a": [(f"s{n}", f"{LONG} {n}") for n in range(5)]}
    source = wiki("one", pages)
    await load(bench, source, "a")
    pages["a"][2] = ("s2", f"{LONG} edited")
    ASKED.clear()
    await again(bench, source, "a")
    assert list(ASKED) == [f"s2\n{LONG} edited"]
    assert await nearest(bench, f"s2\n{LONG} edited") == "a/s2"


async def test_what_is_too_short_or_of_a_label_without_vectors_is_skipped_with_its_reason(bench: Bench) -> None:
    """ANCESTORS 19: nodes that no stage wanted stayed in `linked`, and the loop spun on them."""
    source = wiki("one", {"a": [("short", "no"), ("long", LONG)]})
    await load(bench, source, "a")
    assert await bench.states() == {"a": "loaded", "a/short": "skip", "a/long": "ready"}
    assert "fewer than 12 characters" in str((await bench.history("a/short"))[-1].reason)
    other = wiki("two", {"b": [("long", LONG)]})
    await load(bench, other, "b", embedding__skip_labels=["Section"])
    assert (await bench.states())["b/long"] == "skip"
    assert "label Section" in str((await bench.history("b/long"))[-1].reason)


async def test_one_bad_text_does_not_fail_its_batch(bench: Bench) -> None:
    source = wiki("one", {"a": [("good", LONG), ("broken", LONG), ("fine", LONG)]})
    await load(bench, source, "a", worker__max_attempts=2)
    states = await bench.states()
    assert (states["a/good"], states["a/broken"], states["a/fine"]) == ("ready", "error", "ready")
    assert "cannot read it" in str((await bench.errors())["a/broken"][1])


async def test_a_service_that_is_away_is_asked_again_with_the_whole_batch(bench: Bench) -> None:
    source = wiki("one", {"a": [(f"s{n}", f"bad {LONG} {n}") for n in range(6)]})
    FAILING.append(ConnectionError("nobody there"))
    await load(bench, source, "a")
    assert BATCHES == [6, 6]
    assert (await bench.states())["a/s1"] == "ready"


async def test_another_model_embeds_again_while_search_goes_on_and_then_takes_over(bench: Bench, query: Query) -> None:
    source = wiki("one", {"a": [(f"s{n}", f"{LONG} {n}") for n in range(40)], "b": [("new", f"{LONG} of b")]})
    await load(bench, source, "a")
    first = await bench.store.vectors.current()
    assert first is not None and (first.name, first.dimensions) == ("first", 8)
    assert await bench.store.vectors.register("counting", "second", 12) == await bench.store.vectors.next()
    assert await nearest(bench, f"s7\n{LONG} 7") == "a/s7"
    ASKED.clear()
    await load(bench, source, "b", embedding__model="second", embedding__dimensions=12)
    assert set(ASKED.values()) == {1} and len(ASKED) == 41
    current = await bench.store.vectors.current()
    assert current is not None and (current.name, current.dimensions) == ("second", 12)
    assert await bench.store.vectors.next() is None
    assert await nearest(bench, f"s7\n{LONG} 7") == "a/s7"
    assert await nearest(bench, f"new\n{LONG} of b") == "b/new"
    assert query("SELECT DISTINCT model FROM embedding") == [("second",)]
    assert await bench.sound()


async def test_a_run_with_another_model_and_nothing_else_to_do_embeds_again(bench: Bench) -> None:
    source = wiki("one", {"a": [("s", LONG)]})
    await load(bench, source, "a")
    await bench.run(source, **COUNTING, embedding__model="second")
    current = await bench.store.vectors.current()
    assert current is not None and current.name == "second"
    assert {f"s\n{LONG}": 2} == ASKED
    assert [entry.reason for entry in await bench.history("a/s")][2] == "to be embedded with second"


async def test_what_the_new_model_cannot_embed_does_not_hold_up_the_others(bench: Bench) -> None:
    source = wiki("one", {"a": [("s", f"bad {LONG}"), ("t", LONG)]})
    await load(bench, source, "a")
    FAILING.extend([ValueError("no"), ValueError("no")])
    await bench.run(source, **COUNTING, embedding__model="second", worker__max_attempts=1)
    current = await bench.store.vectors.current()
    assert current is not None and current.name == "second"
    assert ((await bench.states())["a/s"], (await bench.states())["a/t"]) == ("error", "ready")
    assert await nearest(bench, f"t\n{LONG}") == "a/t"


async def test_an_unknown_provider_is_told_before_anything_is_claimed(bench: Bench) -> None:
    source = wiki("one", {"a": [("s", LONG)]})
    await bench.add(source, "a", label="Article")
    with pytest.raises(DetentError, match="no embedding provider 'contuing'"):
        await bench.run(source, embedding__provider="contuing")
    assert await bench.states() == {"a": "discovered"}


async def test_when_a_run_has_ended_every_text_is_in_the_index(bench: Bench) -> None:
    source = wiki("one", {"a": [(f"s{n}", f"{LONG} number{n}") for n in range(30)]})
    await load(bench, source, "a")
    assert await bench.store.texts.pending() == 0
    assert (await bench.store.texts.statistics()).texts == 31


class Paid(Counting):
    """Every text costs a token."""

    name = "paid"

    def __init__(self, settings: EmbeddingSettings) -> None:
        super().__init__(settings)
        self.budget = Budget(settings.token_budget)

    def embed(self, texts: Sequence[str]) -> Vectors:
        assert self.budget is not None
        self.budget.reserve(len(texts))
        return super().embed(texts)


async def test_a_budget_holds_across_restarts(bench: Bench) -> None:
    """ANCESTORS 44: calls were repeated after a restart, without a bound on spending."""
    register("paid", Paid)
    source = wiki("one", {key: [(f"{key}{n}", f"{LONG} {key}{n}") for n in range(4)] for key in "abc"})
    flags: dict[str, Any] = {"embedding__provider": "paid", "embedding__token_budget": 10}
    for key in "abc":
        await bench.add(source, key, label="Article")
        await bench.run(source, **flags)
    assert sum(BATCHES) <= 10
    states = Counter(state for key, state in (await bench.states()).items() if "/" in key)
    assert states["ready"] == sum(BATCHES) >= 8
    assert states["error"] == 12 - states["ready"]
    assert "10" in str((await bench.errors())["c/c3"][1])


async def test_a_text_whose_vector_was_tidied_away_meanwhile_is_embedded_after_all(
    bench: Bench, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = wiki("one", {"a": [("same", LONG)], "b": [("same", LONG), ("other", f"{LONG} too")]})
    await load(bench, source, "a")
    call = Embedder.__call__

    def tidied(embedder: Embedder, items: Sequence[Item]) -> list[Outcome]:
        outcomes = call(embedder, items)
        if any(item.passage and item.passage.known for item in items):
            for row in query("SELECT name FROM vector_part"):
                query(f"DELETE FROM {row.name}")  # noqa: S608  our own name
        return outcomes

    monkeypatch.setattr(Embedder, "__call__", tidied)
    await load(bench, source, "b")
    assert (await bench.states())["b/same"] == (await bench.states())["b/other"] == "ready"
    assert ASKED[f"same\n{LONG}"] == 2
    assert "is gone" in str((await bench.history("b/same"))[1].reason)


async def test_two_workers_at_once_never_embed_the_same_text(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its own half of the passages, and every text is in both halves; embedding takes a while."""
    embed = Counting.embed

    def slowly(provider: Counting, texts: Sequence[str]) -> Vectors:
        time.sleep(0.2)
        return embed(provider, texts)

    monkeypatch.setattr(Counting, "embed", slowly)
    pages = {key: [(f"s{n}", f"{LONG} {n}") for n in range(40)] for key in ("a", "b", "c")}
    source = wiki("one", pages)
    await bench.add(source, *pages, label="Article")
    workers = [bench.worker(source, **COUNTING, embedding__batch_size=10) for _ in range(2)]
    async with asyncio.timeout(60):
        await asyncio.gather(*[worker.run(until_idle=True) for worker in workers])
    assert set(ASKED.values()) == {1} and len(ASKED) == 40
    assert Counter(state for key, state in (await bench.states()).items() if "/" in key) == {"ready": 120}
    assert await bench.sound()


async def test_batches_of_one_worker_that_have_a_text_in_common_do_not_wait_to_be_tried_later(
    bench: Bench, query: Query
) -> None:
    pages = {key: [(f"s{n}", f"{LONG} {n}") for n in range(20)] for key in "abcdef"}
    await load(bench, wiki("one", pages), *pages, embedding__batch_size=10)
    assert set(ASKED.values()) == {1} and len(ASKED) == 20
    assert Counter(state for key, state in (await bench.states()).items() if "/" in key) == {"ready": 120}
    assert query("SELECT DISTINCT reason FROM journal WHERE reason LIKE '%embedded%'") == []
    assert await bench.sound()
