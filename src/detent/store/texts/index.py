"""The writing side of the index: new texts become blocks, gone texts are marked in theirs, and blocks are merged.

Each step is one transaction under one lock, so that it happens completely or not at all, and never twice. The rows
that an interrupted step took from the queue are back in it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from detent.store import arrays
from detent.store.database import Connection, Database, fetch
from detent.store.statements import SQL
from detent.store.texts import merging
from detent.store.texts.blocks import (
    LENGTH,
    MOST_TEXTS,
    OFFSET,
    TEXT,
    Block,
    Contents,
    MergeInput,
    build,
    from_bits,
    mark,
    merge,
    to_bits,
)
from detent.store.texts.lexemes import Occurrences, read
from detent.store.texts.vocabulary import MOST_WORDS, Vocabulary

LOCK = 0x0DE7E27_10
MOST_BYTES = 1 << 24
"""Largest total size of the texts of one step, so that long texts need no more memory than others."""

LONG = 16_000
"""Bytes. PostgreSQL distinguishes at most 16,383 positions in a text, and so undercounts the words of a longer
one. Searches count the same way, and so must the index."""

COUNTED = 100_000
"""Number of waiting texts at which counting stops."""


@dataclass(frozen=True)
class Statistics:
    """Size of the index. `dead_texts` are part of `texts` until their blocks are rewritten."""

    blocks: int
    texts: int
    words: int
    dead_texts: int
    dead_words: int
    pending: int


class TextIndex:
    """Moves changes of texts into blocks, and keeps the number of blocks small."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._vocabularies: defaultdict[str, Vocabulary] = defaultdict(Vocabulary)

    async def index(self, limit: int = 20_000) -> int:
        """Index up to `limit` changes; return their number. 0 if another program is indexing."""
        async with self._changing() as connection:
            if connection is None:
                return 0
            changes = await fetch(
                connection, "take_text_changes", {"limit": min(limit, MOST_TEXTS), "bytes": MOST_BYTES}
            )
            await self._add(connection, {row.text_id for row in changes if not row.gone})
            await self._bury(connection, {row.text_id for row in changes if row.gone})
        return len(changes)

    async def tidy(self, tolerance: float = merging.TOLERANCE) -> bool:
        """Merge some blocks into one, or rewrite one with a larger dead part than this; return True if there was
        one."""
        async with self._changing() as connection:
            if connection is None:
                return False
            sizes = [merging.Size(*row) for row in await fetch(connection, "text_block_sizes")]
            chosen = merging.choose(sizes, tolerance)
            if not chosen:
                return False
            parts = [await _read_part(connection, size.id) for size in chosen]
            merged = await asyncio.to_thread(merge, parts)
            await fetch(connection, "drop_text_blocks", {"blocks": arrays.integers(size.id for size in chosen)})
            if merged is not None:
                await _write(connection, chosen[0].kind_id, merged)
        return True

    async def pending(self) -> int:
        """Return the number of texts waiting to be indexed, at most 100,000."""
        rows = await self._database.fetch("text_pending", {"most": COUNTED})
        return int(rows[0].count)

    async def statistics(self) -> Statistics:
        rows = await self._database.fetch("text_statistics")
        return Statistics(**rows[0]._asdict(), pending=await self.pending())

    @contextlib.asynccontextmanager
    async def _changing(self) -> AsyncIterator[Connection | None]:
        """Open a transaction in which blocks may be changed; None if another program changes them."""
        async with self._database.transaction() as connection:
            locked = await fetch(connection, "try_lock_texts", {"lock": LOCK})
            yield connection if locked[0].locked else None

    async def _add(self, connection: Connection, texts: set[int]) -> None:
        if not texts:
            return
        rows = await fetch_binary(connection, "texts_to_index", {"texts": arrays.integers(sorted(texts)), "long": LONG})
        alike = defaultdict(list)
        for row in rows:
            alike[row.kind_id, row.language, row.vector is not None].append(row)
        for (kind, language, is_long), some in alike.items():
            if is_long:
                found = await asyncio.to_thread(read, [row.vector for row in some])
            else:
                found = await self._occurrences(connection, language, [row.content for row in some])
            await _write(connection, kind, await asyncio.to_thread(build, [row.text_id for row in some], found))

    async def _occurrences(self, connection: Connection, language: str, texts: Sequence[str]) -> Occurrences:
        """Return the lexemes of texts, after asking PostgreSQL about unknown words."""
        vocabulary = self._vocabularies[language]
        if len(vocabulary) > MOST_WORDS:
            vocabulary = self._vocabularies[language] = Vocabulary()
        spelled = await asyncio.to_thread(vocabulary.spell, texts)
        if unknown := vocabulary.unknown:
            asked = {"language": language, "words": arrays.texts(word.decode() for word in unknown)}
            rows = await fetch_binary(connection, "word_vectors", asked)
            await asyncio.to_thread(vocabulary.learn, [row.vector for row in rows])
        return await asyncio.to_thread(vocabulary.occurrences, spelled)

    async def _bury(self, connection: Connection, texts: set[int]) -> None:
        """Mark texts dead. A text that is in no block was gone before it was indexed."""
        if not texts:
            return
        gone = np.array(sorted(texts), np.int64)
        span = {"first": int(gone[0]), "last": int(gone[-1])}
        for row in await fetch(connection, "text_blocks_between", span):
            await _mark(connection, row.id, gone)


async def fetch_binary(connection: Connection, name: str, parameters: Mapping[str, Any]) -> list[Any]:
    """Return the rows of a named statement that returns many bytes."""
    cursor = await connection.execute(SQL[name], parameters, binary=True)
    return await cursor.fetchall()


async def _write(connection: Connection, kind: int, block: Block) -> None:
    parameters = {
        "kind": kind,
        "count": len(block.texts),
        "words": block.words,
        "first": int(block.texts[0]),
        "last": int(block.texts[-1]),
        "texts": block.texts.astype(TEXT).tobytes(),
        "lengths": block.lengths.astype(LENGTH).tobytes(),
        "offsets": block.offsets.astype(OFFSET).tobytes(),
        "common": block.common,
    }
    rows = await fetch(connection, "write_text_block", parameters)
    postings = {
        "block": rows[0].id,
        "terms": arrays.texts(term.decode() for term in block.terms),
        "counts": arrays.integers(block.counts.tolist()),
        "numbers": arrays.integers(block.numbers.tolist()),
        "befores": arrays.integers(_before(block.counts.tolist())),
        "entries": block.entries,
    }
    await fetch(connection, "write_postings", postings)


def _before(counts: Iterable[int]) -> Iterable[int]:
    total = 0
    for count in counts:
        yield total
        total += count


async def _read_part(connection: Connection, block: int) -> MergeInput:
    (row,) = await fetch_binary(connection, "text_block", {"block": block})
    (packed,) = await fetch_binary(connection, "packed_postings", {"block": block})
    contents = Contents(
        np.frombuffer(row.texts, TEXT).astype(np.int64),
        np.frombuffer(row.lengths, LENGTH).astype(np.int64),
        packed.terms.split(b"\0")[:-1],
        np.frombuffer(packed.counts, ">i4").astype(np.int64),
        packed.entries,
    )
    return MergeInput(contents, from_bits(row.dead, row.count))


async def _mark(connection: Connection, block: int, gone: np.typing.NDArray[np.int64]) -> None:
    (row,) = await fetch_binary(connection, "text_block", {"block": block})
    before = from_bits(row.dead, row.count)
    dead = mark(np.frombuffer(row.texts, TEXT).astype(np.int64), before, gone)
    if (dead == before).all():
        return
    words = int(np.frombuffer(row.lengths, LENGTH)[dead].sum())
    marked = {"block": block, "dead": to_bits(dead), "dead_count": int(dead.sum()), "dead_words": words}
    await fetch(connection, "mark_text_block", marked)
