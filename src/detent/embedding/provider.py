"""The interface of every provider of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy

    from detent.embedding.budget import Budget

Vectors: TypeAlias = "numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float32]]"
Vector: TypeAlias = "numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]"


class Provider(Protocol):
    """Turns texts into vectors.

    A class that derives from this one needs `name`, `model`, `dimensions`, `batch_size` and `embed`; the rest is
    here. Its methods are called from several threads at the same time.

    `name` and `model` together say what a vector was made with: vectors are compared only with those of the same
    pair, and another pair means that all are made again. So a model that was shortened to fewer dimensions has
    another name. `batch_size` is how many texts a call likes best; any number is accepted. Where `dimensions` is not
    known beforehand, the first look at it may load a model or ask a service. `light`: it asks nobody and needs little
    memory, so that several processes may have it without being told to.
    """

    name: str
    model: str
    dimensions: int
    batch_size: int
    budget: Budget | None = None
    light: bool = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector for each text, in the same order: float32, of length 1.

        A text in which the model finds nothing, such as an empty one, has the vector of zeros.
        """
        ...

    def embed_query(self, text: str) -> Vector:
        """The vector of what somebody searches for; some models make another one of it than of a text to be found."""
        vector: Vector = self.embed([text])[0]
        return vector

    def close(self) -> None:
        """Let go of connections and of the model. Closing twice does no harm."""
        return
