"""Embeddings as settling writes them: the vector, and what it was made with and from, with the item's new state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from detent.errors import Unstorable
from detent.knowledge import Embedding
from detent.store import arrays
from detent.store.database import Connection, fetch

if TYPE_CHECKING:
    from detent.store.vectors import Model, Vectors

Lines = Sequence[tuple[int, Embedding]]


class VectorsGone(Exception):
    """Texts were known to have vectors, which have been tidied away since: they have to be embedded after all."""

    def __init__(self, hashes: set[UUID]) -> None:
        self.hashes = hashes


class Embeddings:
    def __init__(self, vectors: Callable[[], Vectors]) -> None:
        self._vectors = vectors

    async def write(self, connection: Connection, lines: Lines) -> None:
        """Write vectors, keep those that are known from being tidied away, and note what they were made with."""
        hashed = [embedding for _, embedding in lines if embedding.hash is not None]
        for name in sorted({(str(each.provider), str(each.model)) for each in hashed}):
            await self._write_model(connection, name, [e for e in hashed if (e.provider, e.model) == name])
        await note_embeddings(connection, lines)

    async def _write_model(self, connection: Connection, name: tuple[str, str], lines: list[Embedding]) -> None:
        made = [(each.hash, each.vector) for each in lines if each.hash is not None and each.vector is not None]
        known = [each.hash for each in lines if each.hash is not None and each.vector is None]
        model = await self._model(connection, name, len(made[0][1]) if made else None)
        if made:
            import numpy as np

            try:
                vectors = np.stack([vector for _, vector in made])
                await self._vectors().write(connection, model, [number for number, _ in made], vectors)
            except ValueError as error:
                raise Unstorable(f"the vector cannot be kept: {error}") from error
        if known:
            gone = set(known) - await self._vectors().keep(connection, model, known)
            if gone:
                raise VectorsGone(gone)

    async def _model(self, connection: Connection, name: tuple[str, str], dimensions: int | None) -> Model:
        """The model in use of this name; a text that is known was found under it."""
        from detent.store.vectors import Model

        for model in [Model(*row) for row in await fetch(connection, "models")]:
            same = (model.provider, model.name) == name and dimensions in (None, model.dimensions)
            if same and model.role != "former":
                return model
        raise Unstorable(f"there is no embedding model {name[1]!r} of {name[0]!r} in use to keep its vector under")


async def note_embeddings(connection: Connection, lines: Lines) -> None:
    """Keep what items were embedded with, in the transaction that moves them."""
    for provider, model in {(embedding.provider, embedding.model) for _, embedding in lines}:
        alike = [(item, each) for item, each in lines if (each.provider, each.model) == (provider, model)]
        parameters = {
            "ids": arrays.integers(item for item, _ in alike),
            "provider": provider,
            "model": model,
            "content_hashes": arrays.texts(embedding.content_hash for _, embedding in alike),
            "hashes": arrays.texts(embedding.hash.hex if embedding.hash else None for _, embedding in alike),
        }
        await fetch(connection, "note_embeddings", parameters)
