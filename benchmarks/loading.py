"""Loading passages with text and vectors, beside plain COPY of the same rows.

What Detent has loaded is copied out, the tables are emptied, and the same rows are copied back into them: with their
keys and indexes, all made ready beforehand, one large COPY for each table. That is as fast as PostgreSQL can have these
rows. Beside it, for the sake of scale: texts and vectors alone, in two bare tables without any key.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from benchmarks import finding, passages, postgres
from benchmarks.figures import Figure, at_least
from detent.store import Store
from detent.store.database import Connection
from detent.store.exchange import load
from detent.store.vectors import wire

COUNT = 200_000
STEP = 10_000


def measure(tell: Callable[[str], None]) -> list[Figure]:
    """Passages with text and vectors loaded per second, beside plain COPY of the same rows."""
    tell("making passages")
    texts, vectors = passages.World().make(COUNT, seed=3)
    hashes = passages.hashes(texts)
    with postgres.server() as server:
        with postgres.empty_database(server) as conninfo:
            tell("plain COPY into bare tables")
            bare = asyncio.run(_bare(conninfo, texts, vectors))
        with postgres.empty_database(server) as conninfo:
            tell("loading")
            ours = asyncio.run(_ours(conninfo, texts, hashes, vectors))
            tell("plain COPY of what was loaded")
            same = asyncio.run(_same(conninfo))
    return [
        Figure("Detent", ours, "passages/s"),
        Figure("plain COPY of the same rows", same, "passages/s"),
        at_least(0.5, "Detent ÷ plain COPY of the same rows", ours / same, "times", peer="PostgreSQL COPY"),
        Figure("plain COPY of texts and vectors into bare tables", bare, "passages/s"),
        Figure("Detent ÷ that", ours / bare, "times", peer="PostgreSQL COPY"),
    ]


async def _bare(conninfo: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> float:
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
            await load(connection, lines, each_chunk=with_vectors)
            return len(texts) / (time.perf_counter() - began)


async def _same(conninfo: str) -> float:
    async with Store(conninfo) as store, store.database.connection() as connection:
        names = [row.name for row in await (await connection.execute(_FILLED)).fetchall()]
        rows = {name: await _copied_out(connection, name) for name in names}
        await connection.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(map(sql.Identifier, names))))
        await connection.execute("CHECKPOINT")
        began = time.perf_counter()
        async with connection.transaction():
            for name, data in rows.items():
                async with connection.cursor() as cursor, cursor.copy(_copy(name, "FROM STDIN")) as copy:
                    await copy.write(data)
        return COUNT / (time.perf_counter() - began)


_FILLED = """
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = 'detent'::regnamespace AND relkind = 'r'
      AND (relname IN ('item', 'place', 'node', 'text_change', 'embedding') OR relname ~ '^vector_[0-9]')
    ORDER BY relname"""


async def _copied_out(connection: Connection, name: str) -> bytes:
    async with connection.cursor() as cursor, cursor.copy(_copy(name, "TO STDOUT")) as copy:
        return b"".join([bytes(data) async for data in copy])


def _copy(name: str, where: str) -> sql.Composed:
    return sql.SQL("COPY {} {} (FORMAT binary)").format(sql.Identifier(name), sql.SQL(where))
