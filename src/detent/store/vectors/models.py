"""Models: the one that search uses, the one that is being filled to replace it, and the switch between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from detent.errors import DatabaseBusy
from detent.knowledge.value import Value
from detent.store.database import Connection, Database, fetch
from detent.store.vectors import parts

MOST_DIMENSIONS = 4000
"""Limit of pgvector for indexes of vectors in half precision."""


@dataclass(frozen=True)
class Model(Value):
    """An embedding model, in the role it had when it was read: `current`, `next` or `former`."""

    id: int
    provider: str
    name: str
    dimensions: int
    role: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.name} ({self.dimensions} dimensions)"

    def as_data(self) -> dict[str, Any]:
        """Return the model for JSON, without its number and role."""
        return {"provider": self.provider, "model": self.name, "dimensions": self.dimensions}

    def is_named(self, provider: str, name: str, dimensions: int | None) -> bool:
        """True if the model matches this name; without dimensions, whatever it has."""
        return (self.provider, self.name) == (provider, name) and dimensions in (None, self.dimensions)


class Models:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Model]:
        return [Model(*row) for row in await self._database.fetch("models")]

    async def in_role(self, *roles: str) -> Model | None:
        """Return the model in the first of these roles that a model has."""
        models = {model.role: model for model in await self.all()}
        return next((models[role] for role in roles if role in models), None)

    async def wanted(self) -> Model | None:
        """Return the model that was registered last: the next one, or else the current one."""
        return await self.in_role("next", "current")

    async def unfilled(self) -> Model | None:
        """Return the model that texts may lack a vector of: the next one, or the current one if a replacement was
        abandoned."""
        return await self.in_role("next", *(["current"] if await self._database.fetch("set_aside") else []))

    async def join(self, provider: str, name: str, dimensions: int) -> Model:
        """Return the model of this name in its present role; register it only if nobody has."""
        known = [model for model in await self.all() if model.is_named(provider, name, dimensions)]
        return known[0] if known else await self.register(provider, name, dimensions)

    async def register(self, provider: str, name: str, dimensions: int) -> Model:
        """Return the model of this name, with a part to write to.

        The first model becomes current, a later one next. Registering the current one again abandons its
        replacement.
        """
        if not 0 < dimensions <= MOST_DIMENSIONS:
            raise ValueError(
                f"A model must have 1 to {MOST_DIMENSIONS} dimensions; {provider}/{name} has {dimensions}."
            )
        async with self._database.transaction() as connection:
            await fetch(connection, "lock_models")
            roles = {model.role: model for model in [Model(*row) for row in await fetch(connection, "models")]}
            current, following = roles.get("current"), roles.get("next")
            is_current = current is None or current.is_named(provider, name, dimensions)
            if following and (is_current or not following.is_named(provider, name, dimensions)):
                leave = "set_aside_model" if is_current else "retire_model"
                await fetch(connection, leave, {"model": following.id})
            named = {"provider": provider, "name": name, "dimensions": dimensions}
            [row] = await fetch(connection, "keep_model", named | {"role": "current" if is_current else "next"})
            model = Model(*row)
            await _make_sure_of_fresh(connection, model)
        return model

    async def switch(self, model: Model) -> bool:
        """Make the model current, and the only one, if no text lacks a vector of it; return True if it is current
        now.

        Nobody writes to the others meanwhile, so no text can arrive that this model lacks.
        """
        standing = await self._standing(model)
        if standing is None or standing.role == "former":
            return False
        if standing.role == "current" and not await self._database.fetch("set_aside"):
            return True
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
    if model.id not in (roles.get("next"), roles.get("current")):
        return False
    others = {roles.get("current"), *[row.id for row in await fetch(connection, "set_aside")]} - {model.id, None}
    if not all([await parts.exclude_writers(connection, other) for other in others]):
        return False
    await fetch(connection, "allow_any_plan")
    listing = await parts.read(connection, model.id)
    if await parts.missing(connection, listing, 1):
        return False
    for other in others:
        await fetch(connection, "retire_model", {"model": other})
    await fetch(connection, "promote_model", {"model": model.id})
    return True


async def _make_sure_of_fresh(connection: Connection, model: Model) -> None:
    """Create a part to write to, even if somebody dropped the table of the listed one."""
    listing = await parts.read(connection, model.id)
    if listing.fresh is None:
        await fetch(connection, "unlist_parts", {"parts": [part.id for part in listing.lost if part.role == "fresh"]})
        await fetch(connection, "next_generation", {"model": model.id})
        await parts.make(connection, model.id, model.dimensions, role="fresh")
