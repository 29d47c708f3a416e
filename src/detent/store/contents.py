"""What handlers may read of the items they are given: it is handed to them, so that they need no database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from detent.knowledge import Item, Node, Passage
from detent.store.database import Database

if TYPE_CHECKING:
    from detent.store.vectors import Model, Vectors


class Contents:
    def __init__(self, database: Database, vectors: Callable[[], Vectors]) -> None:
        self._database = database
        self._vectors = vectors

    async def with_nodes(self, items: Sequence[Item]) -> list[Item]:
        """The items with their content so far."""
        rows = await self._database.fetch("read_nodes", {"ids": [item.id for item in items]})
        nodes = {row.item_id: Node(row.title, row.text, row.properties, row.content_hash) for row in rows}
        return [item._replace(node=nodes.get(item.id)) for item in items]

    async def with_passages(self, items: Sequence[Item], model: Model | None) -> list[Item]:
        """The items with the texts that are to be embedded, and whether they need to be."""
        rows = await self._database.fetch("read_texts", {"ids": [item.id for item in items]})
        passages = {row.item_id: Passage(row.title, row.text) for row in rows}
        hashes = {number: passage.hash for number, passage in passages.items()}
        known = await self._vectors().known(model, sorted(set(hashes.values()))) if model else set()
        nothing = Passage("", "")
        return [
            item._replace(passage=passages.get(item.id, nothing)._replace(known=hashes.get(item.id) in known))
            for item in items
        ]
