"""Passages and their embeddings: the text that is embedded, and the result."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from detent.knowledge.node import Node


UNTITLED = "untitled"
"""Property of a node whose title is only its name, such as a file's. Such a title says nothing about the text and
is not embedded with it, so a renamed node keeps its vector."""


class Passage(NamedTuple):
    """The text of an item that gets a vector, as written and as embedded.

    `hash` is the same for the same content; the vector is stored under it. `known`: the text already has a vector
    from the same model.
    """

    text: str
    content: str
    hash: UUID
    known: bool = False

    @classmethod
    def of_node(cls, node: Node) -> Passage:
        """Return the passage of a node."""
        return cls.of("" if UNTITLED in node.properties else node.title, node.text)

    @classmethod
    def of(cls, title: str, text: str) -> Passage:
        """Return the passage of a text with its title, which adds to the meaning of the text."""
        content = f"{title}\n{text}" if title else text
        return cls(text, content, UUID(bytes=hashlib.sha256(content.encode()).digest()[:16]))


class Embedding(NamedTuple):
    """The model an item was embedded with, and the hash of the embedded content.

    `hash` is the text hash under which Detent stores the vector. Without `vector`, that text has a vector already;
    without both, the vector is kept elsewhere. `renewable`: if the model has been retired by the time of the
    commit, the item is released, so that it gets a vector from the current model.
    """

    provider: str | None = None
    model: str | None = None
    content_hash: str | None = None
    hash: UUID | None = None
    vector: NDArray[Any] | None = None
    renewable: bool = False
