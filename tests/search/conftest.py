"""A small library to search: articles with sections, embedded by the provider that works offline."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from detent.configuration import EmbeddingSettings
from detent.knowledge import Child, Done, Mention, Node, Reference
from detent.lifecycle import ARTICLE, PASSAGE
from detent.search import Search
from detent.store import Stage, Store
from detent.store.graph.contents import having_vectors
from detent.worker.embedder import Embedder


class Library:
    """A store with articles in it, and a search over them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.search = Search(store)
        self._embedder = Embedder(EmbeddingSettings())

    async def declare(self, source: str = "wiki") -> None:
        await self.store.declare(source, "Article", ARTICLE)
        for label in ("Section", "Category"):
            await self.store.declare(source, label, PASSAGE)

    async def put(
        self,
        key: str,
        *sections: str,
        links: tuple[str, ...] = (),
        category: str | None = None,
        source: str = "wiki",
        **properties: object,
    ) -> None:
        """An article with these sections. What is searched is not brought up to date."""
        await self.store.add(source, "Article", [key])
        kind = await self.store.kinds.get(source, "Article")
        found = await self.store.items.find(kind, [key])
        await self.store.reset([found[key].id])
        [item] = await self.store.claim(Stage(ARTICLE, "discovered"), owner="w", kinds=[kind])
        references = [Reference("LINKS_TO", "Article", link) for link in links]
        if category is not None:
            references.append(Reference("IN_CATEGORY", "Category", category))
        children = [
            Child("Section", f"{key}/{number}", Node(f"{key} {number}", text), edge="HAS_SECTION")
            for number, text in enumerate(sections)
        ]
        mentions = [Mention("Category", category, Node(category))] if category else []
        done = Done(Node(key, "", properties), references, children=children, mentions=mentions)
        [receipt] = await self.store.settle([(item, done)])
        assert receipt.state == "loaded", receipt

    async def embed(self) -> None:
        """Embeds what waits for it."""
        model = await self._embedder.model(self.store)
        while items := await self.store.claim(Stage(PASSAGE, "linked"), owner="e", limit=500):
            passages = await self.store.contents.with_passages(items)
            hashes = [item.passage.hash for item in passages if item.passage]
            filled = having_vectors(passages, await self.store.vectors.known(model, hashes))
            await self.store.settle(list(zip(filled, self._embedder(filled), strict=True)))

    async def tend(self) -> None:
        """Brings all that is searched up to date."""
        await self.embed()
        while await self.store.texts.index():
            pass

    async def number(self, key: str) -> int:
        [number] = await self.store.listing.find(key)
        return number


@pytest.fixture
async def library(store: Store) -> AsyncIterator[Library]:
    library = Library(store)
    await library.declare()
    yield library
    library.search.close()
