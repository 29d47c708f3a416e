"""Reads of search: nodes by title, the groups they belong to, and their shown fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from detent.store.database import Database


class Suggested(NamedTuple):
    """A node whose title begins as was typed."""

    title: str
    key: str
    kind_id: int


class Results:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def suggestions(self, typed: str, kinds: Sequence[int], limit: int) -> list[Suggested]:
        """Titles of these kinds that begin so, each once; those of passages come last."""
        rows = await self._database.fetch("suggestions", {"typed": typed, "kinds": list(kinds), "limit": limit})
        return [Suggested(row.title, row.key, row.kind_id) for row in rows]

    async def titled(
        self, title: str, kinds: Sequence[int], limit: int, *, allowed: Collection[int] | None = None
    ) -> list[int]:
        """Nodes with exactly this title, of these kinds, and among those allowed."""
        only = None if allowed is None else list(allowed)
        asked = {"title": title, "kinds": list(kinds), "allowed": only, "limit": limit}
        return [row.id for row in await self._database.fetch("titled", asked)]

    async def texts_of(self, item: int) -> tuple[list[UUID], list[UUID]]:
        """The hashes of an item's own texts, and of those of what belongs to it."""
        rows = await self._database.fetch("embedding_of", {"id": item})
        return [row.hash for row in rows if row.own], [row.hash for row in rows if not row.own]

    async def roots(self, ids: Sequence[int]) -> dict[int, int]:
        """The article or file that each of these belongs to, in the end."""
        rows = await self._database.fetch("roots", {"ids": list(ids)}) if ids else []
        return {row.id: row.root_id for row in rows}

    async def read(self, ids: Sequence[int], roots: Mapping[int, int]) -> dict[int, Any]:
        """Read the shown fields of nodes, and of the node each belongs to."""
        asked = {"ids": list(ids), "roots": [roots.get(number, number) for number in ids]}
        return {row.item_id: row for row in await self._database.fetch("results", asked)}
