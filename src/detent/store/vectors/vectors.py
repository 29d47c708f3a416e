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
        """Return the model of this name, ready to be written to: current if it is the first, otherwise next."""
        model = await self._models.register(provider, name, dimensions)
        if model.role == "current":
            await self._models.switch(model)
        await self.tidy()
        return model

    async def join(self, provider: str, name: str, dimensions: int) -> Model:
        """Return the model of this name in its present role, to continue what another process began."""
        return await self._models.join(provider, name, dimensions)

    async def wanted(self) -> Model | None:
        """Return the model that was registered last: everything is to be embedded with it."""
        return await self._models.wanted()

    async def models(self) -> list[Model]:
        """Return every model there ever was, oldest first."""
        return await self._models.all()

    async def current(self) -> Model | None:
        """Return the model that search uses."""
        return await self._models.in_role("current")

    async def next(self) -> Model | None:
        """Return the model that is being filled to replace the current one."""
        return await self._models.in_role("next")

    async def unfilled(self) -> Model | None:
        """Return the model that texts may lack a vector of."""
        return await self._models.unfilled()

    async def switch(self, model: Model) -> bool:
        """Make the model current, and the only one, if no text lacks a vector of it; return True if it is current
        now."""
        switched = await self._models.switch(model)
        if switched:
            await self.tidy()
        return switched

    async def write(self, connection: Connection, model: Model, hashes: Sequence[UUID], vectors: Numbers) -> None:
        """Write the vectors of these texts, one per row, in the caller's transaction; existing ones stay."""
        await self._writing.write(connection, model, hashes, vectors)

    async def load(self, connection: Connection, model: Model, hashes: Sequence[UUID], vectors: Numbers) -> None:
        """Write vectors as `write` does, by COPY, for many at once."""
        await self._writing.load(connection, model, hashes, vectors)

    async def keep(self, connection: Connection, model: Model, hashes: Sequence[UUID]) -> set[UUID]:
        """Return the texts that have a vector, and protect it for the items that get the text in the caller's
        transaction.

        A caller that skips `write` because a text has a vector asks here again, in that transaction.
        """
        return await self._writing.keep(connection, model, hashes)

    async def known(self, model: Model, hashes: Sequence[UUID]) -> set[UUID]:
        """Return the texts that have a vector now."""

        async def find(connection: Connection, listing: Listing) -> set[UUID]:
            return await writing.known(connection, listing, hashes)

        return await parts.reading(self._database, model.id, find)

    async def get(self, model: Model, hash: UUID) -> NDArray[np.float32] | None:  # noqa: A002 - its name everywhere
        """Return one text's vector."""

        async def find(connection: Connection, listing: Listing) -> NDArray[np.float32] | None:
            return await writing.get(connection, listing, hash)

        return await parts.reading(self._database, model.id, find)

    async def missing(self, model: Model, limit: int, *, after: UUID | None = None) -> Sequence[UUID]:
        """Return texts of items that have no vector of this model yet, in order; `after` is the last one seen."""

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
        """Return the items whose texts are nearest: of these kinds (by number), of those allowed (by number), or
        of all."""
        return await self._search.nearest(model, vector, limit=limit, kinds=kinds, allowed=allowed)

    async def merge(self, model: Model, *, at_least: int | None = None, more_to_come: bool = False) -> bool:
        """Do one step of indexing fresh vectors; return True if there was one to do.

        With `more_to_come`, and while nobody searches, a step takes more of them at a time.
        """
        return await self._merge.step(model, at_least=at_least, more_to_come=more_to_come)

    async def tidy(self) -> list[str]:
        """Drop tables that are no longer used, unless somebody still reads them; return their names."""
        return await parts.tidy(self._database)

    async def statistics(self, model: Model) -> list[PartStatistics]:
        """Return the contents and sizes of the model's parts."""

        async def find(connection: Connection, listing: Listing) -> list[PartStatistics]:
            return await statistics.measure(connection, listing)

        return await parts.reading(self._database, model.id, find)
