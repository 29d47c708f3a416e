"""Passages and their embeddings: what is embedded, and what came of it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from detent.knowledge.node import Node


UNTITLED = "untitled"
"""The property of a node whose title is only its name, such as a file's: it says nothing of the text, and is not
embedded with it. So what is renamed keeps its vector."""


class Passage(NamedTuple):
    """The text of an item that gets a vector, as it was written and as it is embedded.

    `hash` is the same for the same content; its vector is kept under it. `known`: it has one already, under the same
    model.
    """

    text: str
    content: str
    hash: UUID
    known: bool = False

    @classmethod
    def of_node(cls, node: Node) -> Passage:
        """What is embedded of a node."""
        return cls.of("" if UNTITLED in node.properties else node.title, node.text)

    @classmethod
    def of(cls, title: str, text: str) -> Passage:
        """A text says more together with its title."""
        content = f"{title}\n{text}" if title else text
        return cls(text, content, UUID(bytes=hashlib.sha256(content.encode()).digest()[:16]))


class Embedding(NamedTuple):
    """What an item was embedded with, and the hash of the content that was.

    `hash` is that of the text by which Detent keeps its vector. Without `vector` that text has one already; without
    both, the vector is kept elsewhere. `renewable`: if its model is no longer used by then, somebody makes another with
    the one that is, and the item is given back for that.
    """

    provider: str | None = None
    model: str | None = None
    content_hash: str | None = None
    hash: UUID | None = None
    vector: NDArray[Any] | None = None
    renewable: bool = False
