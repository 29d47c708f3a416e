"""Models: which one search uses, which one is being filled to take its place, and how that happens."""

from __future__ import annotations

from dataclasses import dataclass

from detent.errors import DatabaseBusy, DetentError
from detent.store.database import Connection, Database, fetch
from detent.store.vectors import parts

MOST_DIMENSIONS = 4000
"""More than that, and pgvector makes no index of vectors in half precision."""


class ModelRetired(DetentError):
    """The model is no longer used: another one has taken its place. Ask which is current, and use that."""

    def __init__(self, model: object) -> None:
        super().__init__(f"The embedding model {model} is no longer used, and its vectors are gone.")


@dataclass(frozen=True)
class Model:
    """An embedding model, in the role it had when it was read: `current`, `next` or `former`."""

    id: int
    provider: str
    name: str
    dimensions: int
    role: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.name} ({self.dimensions} dimensions)"


class Models:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Model]:
        return [Model(*row) for row in await self._database.fetch("models")]

    async def in_role(self, role: str) -> Model | None:
        return next((model for model in await self.all() if model.role == role), None)

    async def register(self, provider: str, name: str, dimensions: int) -> Model:
        """The model of this name, with a part to write to. The first becomes current, a later one next, and the
        current one, asked for again, ends whatever was to take its place."""
        if not 0 < dimensions <= MOST_DIMENSIONS:
            raise ValueError(f"A model has 1 to {MOST_DIMENSIONS} dimensions, and {provider}/{name} has {dimensions}.")
        async with self._database.transaction() as connection:
            await fetch(connection, "lock_models")
            roles = {model.role: model for model in [Model(*row) for row in await fetch(connection, "models")]}
            current, following = roles.get("current"), roles.get("next")
            is_current = current is None or _named(current) == (provider, name, dimensions)
            if following and (is_current or _named(following) != (provider, name, dimensions)):
                await fetch(connection, "retire_model", {"model": following.id})
            named = {"provider": provider, "name": name, "dimensions": dimensions}
            [row] = await fetch(connection, "keep_model", named | {"role": "current" if is_current else "next"})
            model = Model(*row)
            await _make_sure_of_fresh(connection, model)
        return model

    async def switch(self, model: Model) -> bool:
        """Make the next model current if no text lacks a vector of it; returns whether it is current now.

        Nobody writes to the current one meanwhile, so that nothing comes in that the next one does not have.
        """
        if (standing := await self._standing(model)) is None or standing.role != "next":
            return standing is not None and standing.role == "current"
        if await parts.reading(self._database, model.id, lambda connection, list_: parts.missing(connection, list_, 1)):
            return False
        try:
            async with self._database.transaction() as connection:
                return await _switch(connection, model)
        except DatabaseBusy:
            return False

    async def _standing(self, model: Model) -> Model | None:
        return next((known for known in await self.all() if known.id == model.id), None)


async def _switch(connection: Connection, model: Model) -> bool:
    await fetch(connection, "wait_shortly")
    await fetch(connection, "lock_models")
    roles = {row.role: row.id for row in await fetch(connection, "models")}
    if roles.get("next") != model.id:
        return False
    if "current" in roles and not await parts.exclude_writers(connection, roles["current"]):
        return False
    await fetch(connection, "allow_any_plan")
    listing = await parts.read(connection, model.id)
    if await parts.missing(connection, listing, 1):
        return False
    if "current" in roles:
        await fetch(connection, "retire_model", {"model": roles["current"]})
    return bool(await fetch(connection, "promote_model", {"model": model.id}))


async def _make_sure_of_fresh(connection: Connection, model: Model) -> None:
    """A part to write to, also if somebody dropped the table of the one that is listed."""
    listing = await parts.read(connection, model.id)
    if listing.fresh is None:
        await fetch(connection, "unlist_parts", {"parts": [part.id for part in listing.lost if part.role == "fresh"]})
        await fetch(connection, "next_generation", {"model": model.id})
        await parts.make(connection, model.id, model.dimensions, role="fresh")


def _named(model: Model) -> tuple[str, str, int]:
    return model.provider, model.name, model.dimensions
