"""Loading passages with text and vectors, beside plain COPY of the same rows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import finding, passages, postgres
from benchmarks.figures import Figure, at_least
from detent.store import Store
from detent.store.exchange import load
from detent.store.vectors import wire

COUNT = 200_000
STEP = 10_000


def measure(tell: Callable[[str], None]) -> list[Figure]:
    """Passages with text and vectors loaded per second, beside plain COPY of the same rows into bare tables."""
    tell("making passages")
    texts, vectors = passages.World().make(COUNT, seed=3)
    hashes = passages.hashes(texts)
    with postgres.server() as server:
        with postgres.empty_database(server) as conninfo:
            tell("plain COPY")
            plain = asyncio.run(_plain(conninfo, texts, vectors))
        with postgres.empty_database(server) as conninfo:
            tell("loading")
            ours = asyncio.run(_ours(conninfo, texts, hashes, vectors))
    return [
        Figure("plain COPY into bare tables", plain, "passages/s"),
        Figure("Detent", ours, "passages/s"),
        at_least(0.5, "Detent ÷ plain COPY", ours / plain, "times", peer="PostgreSQL COPY"),
    ]


async def _plain(conninfo: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> float:
    """The rows as COPY likes them best, made beforehand: texts in one table, vectors in another."""
    hashes = passages.hashes(texts)
    lines = [f"{place}\tp{place:09}\tpassage {place}\t{text}\n" for place, text in enumerate(texts)]
    steps = [
        ("".join(lines[start : start + STEP]), _binary(hashes[start : start + STEP], vectors[start : start + STEP]))
        for start in range(0, len(texts), STEP)
    ]
    async with Store(conninfo) as store, store.database.connection() as connection:
        await connection.execute("CREATE TABLE bare_text (id bigint, key text, title text, text text)")
        await connection.execute("CREATE TABLE bare_vector (hash uuid, vector halfvec(256))")
        began = time.perf_counter()
        for rows, packed in steps:
            async with connection.transaction(), connection.cursor() as cursor:
                async with cursor.copy("COPY bare_text FROM STDIN") as copy:
                    await copy.write(rows)
                async with cursor.copy("COPY bare_vector FROM STDIN (FORMAT binary)") as copy:
                    await copy.write(packed)
        return len(texts) / (time.perf_counter() - began)


def _binary(hashes: Sequence[Any], vectors: NDArray[np.float32]) -> bytes:
    names, values = wire.sorted_once(hashes, wire.checked(vectors, passages.DIMENSIONS, len(hashes)))
    return wire.copy_lines(names, values)


async def _ours(conninfo: str, texts: Sequence[str], hashes: Sequence[Any], vectors: NDArray[np.float32]) -> float:
    lines = list(passages.lines(texts))
    async with Store(conninfo) as store:
        model = await store.vectors.register("synthetic", "topics", passages.DIMENSIONS)
        with_vectors = finding.writer(store, model, hashes, vectors)
        async with store.database.connection() as connection:
            began = time.perf_counter()
            await load(connection, lines, each_step=with_vectors)
            return len(texts) / (time.perf_counter() - began)
