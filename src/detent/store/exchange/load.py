"""Import of an exported file: in chunks, each a transaction of its own.

It writes with COPY into the tables themselves, numbers included: nothing is written twice, and PostgreSQL stores
such rows in pages instead of one by one. An existing item is locked first, as by anybody who moves items, and its
content is then replaced by the file's. So a file may be imported again, after an interruption for example, and the
items imported before stay the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import psycopg

from detent.errors import DetentError, LineRefused
from detent.knowledge.value import Value
from detent.store.database import Connection, fetch
from detent.store.exchange.declaring import Targets
from detent.store.exchange.records import AliasLine, Chunk, ItemLine, Name, chunks
from detent.store.exchange.writing import number_items, write_items
from detent.store.graph.aliases import Claim, write_claims
from detent.store.ledger.family import ChangedHands, asked_by_name
from detent.store.ledger.removal import MENTIONS_LOCK

T = TypeVar("T")

_TRIES = 50
"""Attempts per chunk whose items others move or add at the same moment."""

EachChunk = Callable[[Connection, Sequence[ItemLine]], Awaitable[None]]
"""Writes further data with the items of each chunk, in its transaction, such as their embeddings. With it, items
keep the state in the file; without it, items that lack an embedding wait for one."""

TellOf = Callable[[int, int | None], None]
"""Is called with the number of items imported, and the number that the file announces."""


@dataclass
class Loaded(Value):
    """The result of an import."""

    items: int = 0
    nodes: int = 0
    references: int = 0
    aliases: int = 0


class _Orphan(NamedTuple):
    """A node whose parent did not exist when it was written."""

    line: int
    item_id: int
    parent: Name


async def load(
    connection: Connection,
    lines: Iterable[bytes | str],
    *,
    each_chunk: EachChunk | None = None,
    tell: TellOf | None = None,
) -> Loaded:
    """Import the lines of a file written by `Dump.lines`. The connection is in autocommit, outside a transaction.

    While PostgreSQL writes a chunk, a thread reads and checks the next one. Nodes without references to them are
    not swept meanwhile, because the references may be in a later chunk.
    """
    loader = _Loader(connection, each_chunk)
    await fetch(connection, "keep_mentions", {"lock": MENTIONS_LOCK})
    try:
        await _load_chunks(loader, chunks(lines), tell)
        await loader.place_orphans()
    finally:
        if not connection.closed:
            await fetch(connection, "release_mentions", {"lock": MENTIONS_LOCK})
    return loader.loaded


async def _load_chunks(loader: _Loader, ahead: Iterator[Chunk], tell: TellOf | None) -> None:
    expected: int | None = None
    chunk = await asyncio.to_thread(next, ahead, None)
    while chunk is not None:
        following = asyncio.create_task(asyncio.to_thread(next, ahead, None))
        try:
            await loader.load(chunk)
        finally:
            await asyncio.wait([following])
        expected = expected if chunk.expected is None else chunk.expected
        if tell is not None:
            tell(loader.loaded.items, expected)
        chunk = await following


class _Loader:
    def __init__(self, connection: Connection, each_chunk: EachChunk | None) -> None:
        self.loaded = Loaded()
        self._connection = connection
        self._each_chunk = each_chunk
        self._targets = Targets()
        self._orphans: list[_Orphan] = []

    async def load(self, chunk: Chunk) -> None:
        await self._targets.declare(self._connection, chunk)
        if chunk.items:
            self._orphans += await self._insistently(lambda: self._items(chunk.items))
            self.loaded.items += len(chunk.items)
            self.loaded.nodes += sum(line.content is not None for line in chunk.items)
            self.loaded.references += sum(len(line.links) for line in chunk.items)
        if chunk.aliases:
            await self._insistently(lambda: self._aliases(chunk.aliases))
            self.loaded.aliases += len(chunk.aliases)

    async def place_orphans(self) -> None:
        """Attach nodes to parents that came after them."""
        if not self._orphans:
            return
        parents = await self._find(orphan.parent for orphan in self._orphans)
        for orphan in self._orphans:
            if orphan.parent not in parents:
                owner = "/".join(orphan.parent)
                raise LineRefused(orphan.line, f"its parent {owner} is neither in the file nor in the database")
        parameters = {
            "ids": [orphan.item_id for orphan in self._orphans],
            "parents": [parents[orphan.parent] for orphan in self._orphans],
        }
        await fetch(self._connection, "set_parents", parameters)

    async def _insistently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run the work in a transaction, and retry it if somebody else moved or added one of the items meanwhile."""
        for _ in range(_TRIES):
            try:
                async with self._connection.transaction():
                    return await work()
            except (psycopg.errors.UniqueViolation, ChangedHands):
                continue
        raise DetentError("Others keep moving the imported items. Stop the workers, and import again.")

    async def _items(self, lines: Sequence[ItemLine]) -> list[_Orphan]:
        """Write the items of a chunk; of items with the same name, the last. Return those whose parents are missing."""
        named = {line.name: line for line in lines}
        for line in named.values():
            target = self._targets.get(line.name.source, line.name.label, line.line)
            line.kind_id, line.embedded = target.id, target.resting(line.record["state"])
            to_embed = line.content is not None and self._each_chunk is None
            line.state = target.unembedded(line.embedded) if to_embed else line.embedded
            line.id = line.text_id = 0
        chosen = sorted(named.values(), key=_order)  # so that concurrent writers never deadlock
        await self._targets.hold(self._connection, _kinds_of(chosen))
        await fetch(self._connection, "join_movers")
        there = await number_items(self._connection, chosen)
        orphans = await self._set_parents(named, chosen)
        await write_items(self._connection, self._targets, chosen, there)
        await self._forget_aliases(chosen, there)
        if self._each_chunk is not None:
            await self._each_chunk(self._connection, chosen)
        return orphans

    async def _set_parents(self, named: dict[Name, ItemLine], lines: Sequence[ItemLine]) -> list[_Orphan]:
        elsewhere = {line.parent for line in lines if line.parent is not None and line.parent not in named}
        found = await self._find(elsewhere)
        orphans = []
        for line in lines:
            if line.parent is not None:
                here = named.get(line.parent)
                line.parent_id = here.id if here is not None else found.get(line.parent)
                if line.parent_id is None:
                    orphans.append(_Orphan(line.line, line.id, line.parent))
        return orphans

    async def _find(self, names: Iterable[Name]) -> dict[Name, int]:
        """Return the numbers of items that exist."""
        kinds = {name: self._targets.find(name.source, name.label) for name in set(names)}
        asked = {(kind.id, name.key): name for name, kind in kinds.items() if kind is not None}
        if not asked:
            return {}
        parameters = {"kinds": [kind for kind, _ in asked], "keys": [key for _, key in asked]}
        rows = await fetch(self._connection, "find", parameters)
        return {asked[row.kind_id, row.key]: row.id for row in rows}

    async def _forget_aliases(self, lines: Sequence[ItemLine], there: Sequence[ItemLine]) -> None:
        """Remove aliases for keys that have a node, and all claims of items that are replaced."""
        kinds = sorted({line.kind_id for line in lines})
        if not await fetch(self._connection, "any_aliases", {"kinds": kinds}):
            return
        asked = asked_by_name([(line.kind_id, line.name.key) for line in lines if line.content is not None])
        if there or await fetch(self._connection, "aliased", asked):
            await fetch(self._connection, "lock_aliases")
            await fetch(self._connection, "drop_aliases", {"ids": [line.id for line in there], **asked})

    async def _aliases(self, lines: Sequence[AliasLine]) -> None:
        await self._targets.hold(self._connection, {(line.source, line.label): line.line for line in lines})
        tellers = await self._find(line.said_by for line in lines if line.said_by is not None)
        await fetch(self._connection, "lock_aliases")
        kinds = [self._targets.get(line.source, line.label, line.line).id for line in lines]
        said_by = [tellers.get(line.said_by, 0) if line.said_by is not None else 0 for line in lines]
        claims = [Claim(kind, line.key, line.to) for kind, line in zip(kinds, lines, strict=True)]
        await write_claims(self._connection, list(zip(claims, said_by, strict=True)))


def _kinds_of(lines: Sequence[ItemLine]) -> dict[tuple[str, str], int]:
    """Return the sources and labels of items and of their targets, each with a line that names it."""
    own = {(line.name.source, line.name.label): line.line for line in lines}
    return own | {(source, label): line.line for line in lines for source, label, _ in line.links}


def _order(line: ItemLine) -> tuple[int, str]:
    return line.kind_id, line.name.key
