"""Searching a large collection while it grows: how soon an answer comes, how good the vector part is, what it costs."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from benchmarks import passages, postgres
from benchmarks.figures import Figure, at_least, at_most
from detent.configuration import EmbeddingSettings
from detent.embedding import register
from detent.knowledge import Embedding
from detent.knowledge.filters import Filters
from detent.search import Search
from detent.store import Store
from detent.store.exchange import load
from detent.store.vectors.embeddings import note_embeddings
from detent.store.vectors.models import Model
from detent.worker.tending import Tending

COUNT = 1_000_000
STEP = 20_000
FRESH = 15_000
"""How many vectors have no index yet when the searches begin. A worker makes one of 20,000 while they go on."""
QUERIES = 400
BESIDE = 250
"""How many passages are loaded at a time while there is searching."""
BATCHES = 300
"""As many are made beforehand: making passages up is no part of loading them."""
PAUSE_SECONDS = 0.2
WARM = 300
THINKING_SECONDS = 0.05
"""Somebody who searches looks at the answer; so does the benchmark, and the other process comes to its turn."""

TOPIC, COMMON = "words of a topic", "common words only"

Tell = Callable[[str], None]


def measure(tell: Tell, count: int = COUNT) -> list[Figure]:
    """Hybrid search over a million passages while others are loaded: p95, recall of the vectors, cost of the index."""
    register("synthetic", passages.Synthetic)
    with postgres.server() as server, postgres.empty_database(server) as conninfo:
        found = asyncio.run(_measure(conninfo, tell, count))
    return [
        Figure("passages", float(count), "passages"),
        Figure("loading them", found.loading, "s"),
        Figure("indexing their texts", found.texts, "s"),
        Figure("building the vector index", found.vectors, "s"),
        Figure("size of the text index", found.text_bytes / 1e6, "MB"),
        Figure("size of the vector index", found.vector_bytes / 1e6, "MB"),
        Figure("hybrid, queries of words, median", median(found.of_words), "ms"),
        at_most(50.0, "hybrid, queries of words, p95", p95(found.of_words), "ms"),
        *(Figure(f"hybrid, p95, {kind}", p95(times), "ms") for kind, times in found.by_kind.items()),
        Figure("passages loaded meanwhile", found.beside, "passages/s"),
        Figure("vector indexes built meanwhile", found.built, "indexes"),
        at_least(0.95, "recall@10 of the vector part", found.recall, "of exact"),
        at_least(0.95, "recall@10 while passages are loaded", found.recall_beside, "of exact"),
    ]


def p95(milliseconds: Sequence[float]) -> float:
    return quantiles(milliseconds, n=20)[-1]


@dataclass
class Found:
    loading: float = 0.0
    texts: float = 0.0
    vectors: float = 0.0
    text_bytes: float = 0.0
    vector_bytes: float = 0.0
    by_kind: dict[str, list[float]] = field(default_factory=dict)
    beside: float = 0.0
    built: float = 0.0
    recall: float = 0.0
    recall_beside: float = 0.0

    @property
    def of_words(self) -> list[float]:
        """How long queries took that are nothing but words, as most are: those of topics, and common ones."""
        return [each for kind in (TOPIC, COMMON) for each in self.by_kind[kind]]


async def _measure(conninfo: str, tell: Tell, count: int) -> Found:
    found = Found()
    async with Store(conninfo, size=8) as store:
        model = await store.vectors.register("synthetic", "topics", passages.DIMENSIONS)
        world = passages.World()
        for first in range(0, count, STEP):
            tell(f"{first:,} of {count:,} passages are loaded")
            batch = _batch(world, first, min(STEP, count - first))
            began = time.perf_counter()
            await _load(store, model, batch)
            found.loading += time.perf_counter() - began
        found.texts = await _repeat(store.texts.index, tell, "texts are indexed")
        found.texts += await _repeat(store.texts.tidy, tell, "blocks are merged")
        found.vectors = await _repeat(lambda: store.vectors.merge(model, at_least=1), tell, "vectors are indexed")
        found.text_bytes, found.vector_bytes = await _sizes(store)
        tell("recall")
        found.recall = await _recall(store, model, world)
        await _load(store, model, _batch(world, count, FRESH))
        tell("searching while passages are loaded")
        await _search_beside_loading(conninfo, store, model, count + FRESH, found)
    return found


@dataclass(frozen=True)
class Asked:
    """A search, and what kind of search it is."""

    kind: str
    text: str
    filters: Filters | None = None


def _asked(world: passages.World, count: int, seed: int) -> list[Asked]:
    """What people ask, in turn: mostly some words of a topic, and now and then what is harder to answer."""
    topics = [text for text, _ in world.queries(count, seed)]
    common = world.common_queries(count, seed)
    loaded, _ = world.make(STEP, seed=0)
    phrases = [" ".join(text.split()[:2]) for text in loaded]
    makers: list[Callable[[int], Asked]] = [
        lambda n: Asked(TOPIC, topics[n]),
        lambda n: Asked(TOPIC, topics[n]),
        lambda n: Asked(COMMON, common[n]),
        lambda n: Asked("a phrase", f'"{phrases[n]}" {topics[n]}'),
        lambda n: Asked("a filter that a tenth passes", topics[n], Filters(prefix="p0000")),
    ]
    return [makers[number % len(makers)](number) for number in range(count)]


@dataclass(frozen=True)
class Batch:
    """Passages that are ready to be loaded."""

    first: int
    lines: list[str]
    hashes: list[UUID]
    vectors: NDArray[np.float32]


def _batch(world: passages.World, first: int, count: int) -> Batch:
    texts, vectors = world.make(count, seed=first)
    return Batch(first, list(passages.lines(texts, first)), passages.hashes(texts, first), vectors)


async def _load(store: Store, model: Model, batch: Batch) -> None:
    with_vectors = writer(store, model, batch.hashes, batch.vectors, batch.first)
    async with store.database.connection() as connection:
        await load(connection, batch.lines, each_chunk=with_vectors)


def writer(
    store: Store, model: Model, hashes: Sequence[UUID], vectors: NDArray[np.float32], first: int = 0
) -> Callable[[Any, Sequence[Any]], Awaitable[None]]:
    """What writes the vectors of passages with each step of loading them."""

    async def with_vectors(connection: Any, lines: Sequence[Any]) -> None:
        places = [int(line.name.key[1:]) - first for line in lines]
        numbers = [hashes[place] for place in places]
        await store.vectors.load(connection, model, numbers, vectors[places])
        embedded = [Embedding(model.provider, model.name, None, number) for number in numbers]
        await note_embeddings(connection, [(line.id, each) for line, each in zip(lines, embedded, strict=True)])

    return with_vectors


async def _repeat(step: Callable[[], Any], tell: Tell, doing: str) -> float:
    began = time.perf_counter()
    while await step():
        tell(f"{doing}, for {time.perf_counter() - began:.0f} s so far")
    return time.perf_counter() - began


async def _sizes(store: Store) -> tuple[float, float]:
    async with store.database.connection() as connection:
        cursor = await connection.execute("""
            SELECT pg_total_relation_size('posting') + pg_total_relation_size('text_block') AS texts,
                   (SELECT sum(pg_indexes_size(name::regclass)) FROM vector_part)::bigint AS vectors""")
        row = (await cursor.fetchall())[0]
        return float(row.texts), float(row.vectors)


async def _recall(store: Store, model: Model, world: passages.World) -> float:
    shares = []
    for _, vector in world.queries(30, seed=5):
        hits = await store.vectors.search(model, vector, limit=10)
        exact = await _exact(store, vector)
        shares.append(len({hit.item_id for hit in hits.hits} & exact) / 10)
    return sum(shares) / len(shares)


async def _exact(store: Store, vector: NDArray[np.float32]) -> set[int]:
    """The ten nearest, by looking at each."""
    written = "[" + ",".join(f"{number:.6f}" for number in vector.tolist()) + "]"
    async with store.database.transaction() as connection:
        await connection.execute("SET LOCAL enable_indexscan = off")
        await connection.execute("SET LOCAL enable_seqscan = on")
        cursor = await connection.execute("SELECT name FROM vector_part")
        nearest: list[tuple[float, Any]] = []
        for part in await cursor.fetchall():
            statement = f"SELECT hash, vector <=> %s::halfvec AS d FROM {part.name} ORDER BY d LIMIT 10"  # noqa: S608
            rows = await connection.execute(statement.encode(), [written])
            nearest += [(row.d, row.hash) for row in await rows.fetchall()]
        hashes = [number for _, number in sorted(nearest)[:10]]
        rows = await connection.execute("SELECT item_id FROM embedding WHERE hash = ANY (%s)", [hashes])
        return {row.item_id for row in await rows.fetchall()}


async def _search_beside_loading(conninfo: str, store: Store, model: Model, count: int, found: Found) -> None:
    world = passages.World()
    search = Search(store, EmbeddingSettings(provider="synthetic"))
    asked = _asked(world, QUERIES + WARM, seed=9)
    for each in asked[:WARM]:
        await search.search(each.text, filters=each.filters)
    spawning = multiprocessing.get_context("spawn")
    ended, loaded = spawning.Event(), spawning.Value("q", 0)
    beside = spawning.Process(target=_go_on_loading, args=(conninfo, count, ended, loaded), daemon=True)
    beside.start()
    while not loaded.value:  # noqa: ASYNC110  it begins in another process
        await asyncio.sleep(0.1)
    began, before, indexes = time.perf_counter(), loaded.value, await _indexes(store, model)
    for each in asked[WARM:]:
        found.by_kind.setdefault(each.kind, []).append(await _milliseconds(search, each))
        await asyncio.sleep(THINKING_SECONDS)
    found.beside = (loaded.value - before) / (time.perf_counter() - began)
    found.built = len(await _indexes(store, model) - indexes)
    found.recall_beside = await _recall(store, model, world)
    if not beside.is_alive():
        raise RuntimeError("The process that loads passages ended before the searches did.")
    ended.set()
    await asyncio.to_thread(beside.join)


async def _indexes(store: Store, model: Model) -> set[str]:
    return {part.name for part in await store.vectors.statistics(model) if part.indexed}


async def _milliseconds(search: Search, asked: Asked) -> float:
    began = time.perf_counter()
    answer = await search.search(asked.text, filters=asked.filters)
    taken = (time.perf_counter() - began) * 1000
    if not answer.hits or any("failed" in note for note in answer.notes):
        raise RuntimeError(f"{asked} was answered with {answer}")
    return taken


def _go_on_loading(conninfo: str, first: int, ended: Any, loaded: Any) -> None:
    """In a process of its own: loads passages, some at a time, and has them indexed, as a worker does."""

    world = passages.World()
    batches = [_batch(world, first + number * BESIDE, BESIDE) for number in range(BATCHES)]

    async def go_on() -> None:
        async with Store(conninfo) as store:
            tending = Tending(store, lambda: asyncio.sleep(0))
            model = await store.vectors.current()
            assert model is not None
            while not ended.is_set():
                await _load(store, model, batches.pop())
                loaded.value += BESIDE
                await tending.run_once()
                await asyncio.sleep(PAUSE_SECONDS)

    asyncio.run(go_on())
