"""The content of items that handlers may read: it is handed to them, so that they need no database."""

from __future__ import annotations

from collections.abc import Sequence, Set
from uuid import UUID

from detent.knowledge import Item, Node, Passage, Reference
from detent.store import arrays
from detent.store.database import Database


class Contents:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def with_nodes(self, items: Sequence[Item]) -> list[Item]:
        """Return the items with their content so far."""
        rows = await self._database.fetch("read_nodes", {"ids": [item.id for item in items]})
        nodes = {row.item_id: Node(row.title, row.text, row.properties, row.content_hash) for row in rows}
        return [item._replace(node=nodes.get(item.id)) for item in items]

    async def with_links(self, items: Sequence[Item]) -> list[Item]:
        """Return the items with their content so far and their links, in order."""
        links: dict[int, list[Reference]] = {}
        for row in await self._database.fetch("read_links", {"ids": [item.id for item in items]}):
            reference = Reference(row.type, row.label, row.key, row.source, row.properties)
            links.setdefault(row.item_id, []).append(reference)
        return [item._replace(links=links.get(item.id, [])) for item in await self.with_nodes(items)]

    async def with_passages(self, items: Sequence[Item]) -> list[Item]:
        """Return the items with the texts to be embedded."""
        rows = await self._database.fetch("read_texts", {"ids": arrays.integers(item.id for item in items)})
        passages = {row.item_id: Passage.of(row.title, row.text) for row in rows}
        nothing = Passage.of("", "")
        return [item._replace(passage=passages.get(item.id, nothing)) for item in items]


def having_vectors(items: Sequence[Item], known: Set[UUID]) -> list[Item]:
    """Return the items, with the passages marked whose texts have a vector."""
    return [
        item._replace(passage=passage._replace(known=True))
        if (passage := item.passage) is not None and passage.hash in known
        else item
        for item in items
    ]
