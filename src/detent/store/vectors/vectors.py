"""The verbs of vectors in one place, over one database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from detent.store.database import Connection, Database
from detent.store.vectors import parts, statistics, writing
from detent.store.vectors.merge import Merge
from detent.store.vectors.models import Model, Models
from detent.store.vectors.parts import Listing
from detent.store.vectors.search import VectorHits, VectorSearch
from detent.store.vectors.statistics import PartStatistics
from detent.store.vectors.wire import Numbers
from detent.store.vectors.writing import Writing


class Vectors:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._models = Models(database)
        self._writing = Writing()
        self._search = VectorSearch(database)
        self._merge = Merge(database)

    async def register(self, provider: str, name: str, dimensions: int) -> Model:
        """The model of this name, ready to be written to: current if it is the first, otherwise next."""
        model = await self._models.register(provider, name, dimensions)
        if model.role == "current":
            await self._models.switch(model)
        await self.tidy()
        return model

    async def join(self, provider: str, name: str, dimensions: int) -> Model:
        """The model of this name in the role that it has, for whoever goes on with what another began."""
        return await self._models.join(provider, name, dimensions)

    async def wanted(self) -> Model | None:
        """The model that was registered last: everything is to be embedded with it."""
        return await self._models.wanted()

    async def models(self) -> list[Model]:
        """Every model there ever was, the oldest first."""
        return await self._models.all()

    async def current(self) -> Model | None:
        """The model that search uses."""
        return await self._models.in_role("current")

    async def next(self) -> Model | None:
        """The model that is being filled to take the current one's place."""
        return await self._models.in_role("next")

    async def unfilled(self) -> Model | None:
        """The model that texts may lack a vector of."""
        return await self._models.unfilled()

    async def switch(self, model: Model) -> bool:
        """Make the model current, and the only one, if no text lacks a vector of it; returns whether it is now."""
        switched = await self._models.switch(model)
        if switched:
            await self.tidy()
        return switched

    async def write(self, connection: Connection, model: Model, hashes: Sequence[UUID], vectors: Numbers) -> None:
        """Write the vectors of these texts, one per row, in the caller's transaction; those that are there stay."""
        await self._writing.write(connection, model, hashes, vectors)

    async def load(self, connection: Connection, model: Model, hashes: Sequence[UUID], vectors: Numbers) -> None:
        """The same by COPY, for many at once."""
        await self._writing.load(connection, model, hashes, vectors)

    async def keep(self, connection: Connection, model: Model, hashes: Sequence[UUID]) -> set[UUID]:
        """Which of these texts have a vector, which then stays for the items that the caller's transaction gives
        the text to. Whoever skips `write` because a text is known asks here again, in that transaction."""
        return await self._writing.keep(connection, model, hashes)

    async def known(self, model: Model, hashes: Sequence[UUID]) -> set[UUID]:
        """Which of these texts have a vector now."""

        async def find(connection: Connection, listing: Listing) -> set[UUID]:
            return await writing.known(connection, listing, hashes)

        return await parts.reading(self._database, model.id, find)

    async def get(self, model: Model, hash: UUID) -> NDArray[np.float32] | None:  # noqa: A002 - its name everywhere
        """One text's vector."""

        async def find(connection: Connection, listing: Listing) -> NDArray[np.float32] | None:
            return await writing.get(connection, listing, hash)

        return await parts.reading(self._database, model.id, find)

    async def missing(self, model: Model, limit: int, *, after: UUID | None = None) -> Sequence[UUID]:
        """Texts of items that have no vector of this model yet, in order; `after` is the last one seen."""

        async def find(connection: Connection, listing: Listing) -> Sequence[UUID]:
            return await parts.missing(connection, listing, limit, after)

        return await parts.reading(self._database, model.id, find)

    async def search(
        self,
        model: Model,
        vector: Numbers,
        *,
        limit: int,
        kinds: Collection[int] | None = None,
        allowed: Collection[int] | None = None,
    ) -> VectorHits:
        """The items whose texts are nearest: of these kinds (their numbers), of those allowed (theirs), or of all."""
        return await self._search.nearest(model, vector, limit=limit, kinds=kinds, allowed=allowed)

    async def merge(self, model: Model, *, at_least: int | None = None, more_to_come: bool = False) -> bool:
        """Do one step of turning fresh vectors into indexed ones; returns whether there was one to do. While there is
        `more_to_come`, and nobody searches, that is done for more of them at a time."""
        return await self._merge.step(model, at_least=at_least, more_to_come=more_to_come)

    async def tidy(self) -> list[str]:
        """Drop tables that are no longer used, unless somebody still reads them; returns their names."""
        return await parts.tidy(self._database)

    async def statistics(self, model: Model) -> list[PartStatistics]:
        """What the model's parts hold, and how large they are."""

        async def find(connection: Connection, listing: Listing) -> list[PartStatistics]:
            return await statistics.measure(connection, listing)

        return await parts.reading(self._database, model.id, find)
