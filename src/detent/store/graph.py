"""Nodes, references, new items and checkpoints: what an outcome carries beside the item's new state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from psycopg.types.json import Jsonb

from detent.knowledge import Done, Item, NewItem, Node, Reference
from detent.store.database import Connection, fetch
from detent.store.items import add, birth_state
from detent.store.kinds import Kind, Kinds

Produced = Sequence[tuple[Item, Done]]


class Embedding(NamedTuple):
    """What an item was embedded with, and the hash of the content that was embedded."""

    provider: str | None = None
    model: str | None = None
    content_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Embedded(Done):
    """A stage ended, and this is said of the item's embedding."""

    embedding: Embedding = field(default_factory=Embedding)


class Graph:
    """Writes what outcomes carry, in the transaction that settles them."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds

    @staticmethod
    def carries_data(done: Done) -> bool:
        return bool(
            done.node
            or done.references is not None
            or done.found
            or done.checkpoint is not None
            or isinstance(done, Embedded)
        )

    async def check(self, item: Item, done: Done) -> None:
        """Raise if the outcome names a kind of item that nobody has declared, or a state it cannot be born in."""
        for reference in done.references or ():
            await self._kind(item, reference)
        for new in done.found:
            birth_state(await self._kind(item, new), new)

    async def write(self, connection: Connection, produced: Produced) -> None:
        nodes = [(item, done.node) for item, done in produced if done.node is not None]
        if nodes:
            await _write_nodes(connection, nodes)
        linked = [(item, done.references) for item, done in produced if done.references is not None]
        if linked:
            await self._write_references(connection, linked)
        checkpoints = [(item, done.checkpoint) for item, done in produced if done.checkpoint is not None]
        if checkpoints:
            parameters = {
                "ids": [item.id for item, _ in checkpoints],
                "data": [Jsonb(dict(data)) for _, data in checkpoints],
            }
            await fetch(connection, "write_checkpoints", parameters)
        embedded = [(item.id, done.embedding) for item, done in produced if isinstance(done, Embedded)]
        await note_embeddings(connection, embedded)
        found = [(item, new) for item, done in produced for new in done.found]
        if found:
            await add(connection, [(await self._kind(item, new), new) for item, new in found])

    async def _write_references(
        self, connection: Connection, linked: Sequence[tuple[Item, Sequence[Reference]]]
    ) -> None:
        await fetch(connection, "drop_references", {"ids": [item.id for item, _ in linked]})
        lines = [
            (item, position, reference) for item, references in linked for position, reference in enumerate(references)
        ]
        if not lines:
            return
        kinds = [await self._kind(item, reference) for item, _, reference in lines]
        parameters = {
            "ids": [item.id for item, _, _ in lines],
            "positions": [position for _, position, _ in lines],
            "types": [reference.type for _, _, reference in lines],
            "kinds": [kind.id for kind in kinds],
            "keys": [reference.key for _, _, reference in lines],
            "properties": [Jsonb(dict(reference.properties)) for _, _, reference in lines],
        }
        await fetch(connection, "write_references", parameters)

    async def _kind(self, item: Item, target: NewItem | Reference) -> Kind:
        return await self._kinds.get(target.source or item.source, target.label)


async def note_embeddings(connection: Connection, embedded: Sequence[tuple[int, Embedding]]) -> None:
    """Keep what items were embedded with, in the transaction that moves them."""
    if embedded:
        parameters = {
            "ids": [item for item, _ in embedded],
            "providers": [embedding.provider for _, embedding in embedded],
            "models": [embedding.model for _, embedding in embedded],
            "hashes": [embedding.content_hash for _, embedding in embedded],
        }
        await fetch(connection, "note_embeddings", parameters)


async def _write_nodes(connection: Connection, nodes: Sequence[tuple[Item, Node]]) -> None:
    parameters = {
        "ids": [item.id for item, _ in nodes],
        "titles": [node.title for _, node in nodes],
        "texts": [node.text for _, node in nodes],
        "properties": [Jsonb(dict(node.properties)) for _, node in nodes],
        "hashes": [node.content_hash for _, node in nodes],
    }
    await fetch(connection, "write_nodes", parameters)
