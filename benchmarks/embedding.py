"""How much of a model's speed is left when passages go through the whole stage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import ours, passages, postgres
from benchmarks.figures import Figure, at_least
from detent.configuration import EmbeddingSettings
from detent.embedding import open_provider
from detent.knowledge import Passage
from detent.lifecycle import PASSAGE
from detent.sources import Source
from detent.store import Store
from detent.store.exchange import load
from detent.worker import work_here
from detent.worker.memory import collect_seldom

COUNT = 60_000
SOURCE = Source("bench", {"Passage": PASSAGE})


def measure(tell: Callable[[str], None]) -> list[Figure]:
    """Passages embedded per second through the whole stage, beside the model called alone in ideal batches."""
    texts, _ = passages.World().make(COUNT, seed=1)
    contents = [Passage.of(f"passage {number}", text).content for number, text in enumerate(texts)]
    tell("the model's own package")
    package = _package(contents[:3000])
    tell("the provider alone")
    alone = _alone(contents)
    with postgres.server() as server, postgres.empty_database(server) as conninfo:
        tell("the whole stage")
        stage = asyncio.run(_stage(conninfo, texts))
    characters = sum(map(len, contents)) / COUNT
    return [
        Figure("characters of a passage", characters, "characters"),
        Figure("wordllama's own embed()", package, "passages/s"),
        Figure("Detent's provider alone", alone, "passages/s"),
        Figure("the whole stage", stage, "passages/s"),
        at_least(0.85, "stage ÷ the model's own embed()", stage / package, "times", peer="wordllama"),
        at_least(0.85, "stage ÷ Detent's provider alone", stage / alone, "times"),
    ]


def _package(contents: Sequence[str]) -> float:
    import wordllama

    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    model.embed(list(contents[:256]), norm=True)
    return max(_rate(lambda some: model.embed(list(some), norm=True), contents, size) for size in (64, 256, 1024))


def _alone(contents: Sequence[str]) -> float:
    provider = open_provider(EmbeddingSettings())
    provider.embed(contents[:256])
    return _rate(provider.embed, contents, provider.batch_size)


def _rate(embed: Callable[[Sequence[str]], object], contents: Sequence[str], size: int) -> float:
    began = time.perf_counter()
    for start in range(0, len(contents), size):
        embed(contents[start : start + size])
    return len(contents) / (time.perf_counter() - began)


async def _stage(conninfo: str, texts: Sequence[str]) -> float:
    collect_seldom()
    async with Store(conninfo) as store:
        async with store.database.connection() as connection:
            await load(connection, (line.replace('"ready"', '"linked"') for line in passages.lines(texts)))
        while await store.texts.index():
            pass
        async with work_here(store, [SOURCE], ours.defaults()) as worker:
            began = time.perf_counter()
            working = asyncio.create_task(worker.run(until_idle=True))
            while worker.completed < COUNT:
                await asyncio.wait({working}, timeout=0.05)
            seconds = time.perf_counter() - began
            await working
        return COUNT / seconds
