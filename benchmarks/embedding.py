"""How much of a model's speed is left when passages go through the whole stage."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.embedding.bert import make_model

from benchmarks import passages, postgres
from benchmarks.figures import Figure, at_least
from detent.configuration import load
from detent.embedding import open_provider
from detent.knowledge import Passage
from detent.lifecycle import PASSAGE
from detent.sources import Source
from detent.store import Store
from detent.store.exchange import load as load_graph
from detent.worker.in_process import work_here
from detent.worker.interpreter import prepare_for_work

MANY = 60_000
FEW = 1_500
"""How many passages a transformer embeds without a GPU."""
SIZES = (64, 256, 1024)
"""The batches in which a model's own package is called; the best of them counts."""
SOURCE = Source("bench", {"Passage": PASSAGE})

Embed = Callable[[Sequence[str], int], object]
"""Calls a model's own package with texts in batches of a size."""


@dataclass(frozen=True)
class Contender:
    """A provider, its model's own package called alone, and how many passages they are given."""

    name: str
    flags: dict[str, object]
    package: Embed
    count: int


def measure(tell: Callable[[str], None]) -> list[Figure]:
    """Passages embedded per second through the whole stage, beside the model called alone in ideal batches."""
    texts, _ = passages.World().make(MANY, seed=1)
    figures = _figures(_wordllama(), texts, tell)
    if find_spec("sentence_transformers") is not None:
        with _transformer() as contender:
            figures += _figures(contender, texts, tell)
    return figures


def _figures(contender: Contender, texts: Sequence[str], tell: Callable[[str], None]) -> list[Figure]:
    name, texts = contender.name, texts[: contender.count]
    contents = [Passage.of(f"passage {number}", text).content for number, text in enumerate(texts)]
    tell(f"{name}: the model's own package")
    package = _package(contender, contents)
    tell(f"{name}: the provider alone")
    alone = _alone(contender, contents)
    stages = []
    for processes in (1, 2):
        tell(f"{name}: the whole stage, processes: {processes}")
        with postgres.server() as server, postgres.empty_database(server) as conninfo:
            stages.append(asyncio.run(_stage(conninfo, contender, texts, processes)))
    stage, together = stages
    return [
        Figure(f"{name}: characters of a passage", sum(map(len, contents)) / len(contents), "characters"),
        Figure(f"{name}: the package alone", package, "passages/s"),
        Figure(f"{name}: Detent's provider alone", alone, "passages/s"),
        Figure(f"{name}: the whole stage", stage, "passages/s"),
        Figure(f"{name}: the whole stage, two processes", together, "passages/s"),
        at_least(0.85, f"{name}: stage ÷ the package alone", stage / package, "times", peer=name),
        Figure(f"{name}: stage ÷ Detent's provider alone", stage / alone, "times"),
        Figure(f"{name}: stage, two processes ÷ the package alone", together / package, "times", peer=name),
    ]


def _wordllama() -> Contender:
    import wordllama

    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    package = _in_batches(lambda texts: model.embed(texts, norm=True))
    return Contender("wordllama", {}, package, MANY)


@contextmanager
def _transformer() -> Iterator[Contender]:
    """A model as large as all-MiniLM-L6-v2, with random weights; on a GPU, in half precision."""
    import torch
    from sentence_transformers import SentenceTransformer

    gpu = torch.cuda.is_available()
    with TemporaryDirectory() as folder:
        words = ["query:", *passages.World().words[:30_000]]
        saved = make_model(Path(folder), words, width=384, layers=6, heads=12, longest=512)
        model: Any = SentenceTransformer(str(saved), device="cuda" if gpu else "cpu")
        model = model.half() if gpu else model

        def package(contents: Sequence[str], size: int) -> None:
            model.encode(list(contents), batch_size=size, show_progress_bar=False, normalize_embeddings=True)

        flags: dict[str, object] = {"embedding.provider": "sentence-transformers", "embedding.model": str(saved)}
        yield Contender("sentence-transformers", flags, package, MANY if gpu else FEW)


def _package(contender: Contender, contents: Sequence[str]) -> float:
    some = contents[: contender.count // 10]
    contender.package(some[:256], 64)
    return max(_rate(contender.package, some, size) for size in SIZES)


def _alone(contender: Contender, contents: Sequence[str]) -> float:
    provider = open_provider(load(None, flags=contender.flags).embedding)
    provider.embed(contents[:256])
    return _rate(_in_batches(provider.embed), contents, provider.batch_size)


def _in_batches(embed: Callable[[list[str]], object]) -> Embed:
    def one_after_the_other(contents: Sequence[str], size: int) -> None:
        for start in range(0, len(contents), size):
            embed(list(contents[start : start + size]))

    return one_after_the_other


def _rate(embed: Embed, contents: Sequence[str], size: int) -> float:
    began = time.perf_counter()
    embed(contents, size)
    return len(contents) / (time.perf_counter() - began)


async def _stage(conninfo: str, contender: Contender, texts: Sequence[str], processes: int) -> float:
    async with Store(conninfo) as store:
        async with store.database.connection() as connection:
            await load_graph(connection, (line.replace('"ready"', '"linked"') for line in passages.lines(texts)))
        while await store.texts.index():
            pass
        spawning = multiprocessing.get_context("spawn")
        crew = [spawning.Process(target=_work, args=(conninfo, contender.flags)) for _ in range(processes)]
        for process in crew:
            process.start()
        before, began = await _done(store, len(texts) // 10)
        after, ended = await _done(store, len(texts))
        for process in crew:
            await asyncio.to_thread(process.join)
        return (after - before) / (ended - began)


def _work(conninfo: str, flags: dict[str, object]) -> None:
    """In a process of its own, a worker until nothing is left."""

    async def work() -> None:
        prepare_for_work()
        async with Store(conninfo) as store, work_here(store, [SOURCE], load(None, flags=flags)) as worker:
            await worker.run(until_idle=True)

    asyncio.run(work())


async def _done(store: Store, count: int) -> tuple[int, float]:
    """How many are embedded, and when, as soon as so many are. The first are not timed: the model is loaded then."""
    while True:
        done = sum(line.count for line in await store.count_by_state() if line.state == "ready")
        if done >= count:
            return done, time.perf_counter()
        await asyncio.sleep(0.05)
