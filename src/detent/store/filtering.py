"""Filters, as search can use them before it ranks: few items are named, many are looked at one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from detent.knowledge.filters import Filters
from detent.store.database import Connection, Database, fetch
from detent.store.kinds import Kinds

MOST_NAMED = 20_000
"""How many items are named one by one; of more, those are looked at that the search finds."""

_CONDITIONS = {
    "labels": sql.SQL("item.kind_id = ANY (%(labels)s::integer[])"),
    "categories": sql.SQL("""node.item_id IN (
        SELECT item_id FROM reference
        WHERE kind_id = ANY (%(category_kinds)s::integer[]) AND key = ANY (%(categories)s::text[] || ARRAY(
            SELECT key FROM alias
            WHERE kind_id = ANY (%(category_kinds)s::integer[]) AND to_key = ANY (%(categories)s::text[])
        )))"""),
    "properties": sql.SQL("node.properties <> '{}' AND node.properties @> %(properties)s::jsonb"),
    "since": sql.SQL("node.properties ? 'date' AND (node.properties ->> 'date') COLLATE \"C\" >= %(since)s"),
    "until": sql.SQL(
        "node.properties ? 'date' AND (node.properties ->> 'date') COLLATE \"C\" <= %(until)s || chr(1114111)"
    ),
    "prefix": sql.SQL(
        "item.kind_id = ANY (%(kinds)s::integer[]) "
        "AND item.key >= %(prefix)s AND item.key <= %(prefix)s || chr(1114111)"
    ),
}
# The matching ones come first, and what belongs to them is looked up only as far as the limit lets it.
_MATCHING = sql.SQL("""
    WITH RECURSIVE matching AS (
        SELECT node.item_id FROM node JOIN item ON item.id = node.item_id
        WHERE item.kind_id = ANY (%(kinds)s::integer[]) AND {conditions} LIMIT %(limit)s::bigint
    ),
    family AS (
        SELECT item_id FROM matching
        UNION
        SELECT node.item_id FROM family JOIN node ON node.parent_id = family.item_id
    )
    SELECT item_id FROM family LIMIT %(limit)s::bigint""")
_CHECKING = sql.SQL("""
    WITH RECURSIVE ancestor AS (
        SELECT item_id AS id, item_id, parent_id FROM node WHERE item_id = ANY (%(ids)s::bigint[])
        UNION
        SELECT ancestor.id, node.item_id, node.parent_id
        FROM ancestor JOIN node ON node.item_id = ancestor.parent_id
    )
    SELECT DISTINCT ancestor.id AS item_id
    FROM ancestor JOIN node ON node.item_id = ancestor.item_id JOIN item ON item.id = node.item_id
    WHERE {conditions}""")


@dataclass(frozen=True)
class Scope:
    """Where to search: in these kinds, None for all; among the items that are named, None for all. If there are too
    many to name, `wide` says that each has to be checked."""

    kinds: Sequence[int] | None = None
    allowed: frozenset[int] | None = None
    wide: bool = False
    conditions: sql.Composable = field(default_factory=lambda: sql.SQL("true"))
    parameters: dict[str, Any] | None = None

    async def check(self, connection: Connection, ids: Sequence[int]) -> set[int]:
        """Which of these items meet the filters."""
        statement = _CHECKING.format(conditions=self.conditions)
        cursor = await connection.execute(statement, {**(self.parameters or {}), "ids": list(ids)})
        return {row.item_id for row in await cursor.fetchall()}


class Filtering:
    def __init__(self, database: Database, kinds: Kinds) -> None:
        self._database = database
        self._kinds = kinds

    async def scope(self, filters: Filters) -> Scope:
        """What filters leave. A source or label that does not exist is an error."""
        if filters == Filters():
            return Scope(None)
        labelled = await self._kinds.chosen(filters.sources, filters.labels)
        chosen = await self._kinds.chosen(filters.sources, ())
        numbers = [kind.id for kind in chosen] if filters.sources else None
        if not filters.narrows:
            return Scope(numbers)
        parameters: dict[str, Any] = {
            "kinds": [kind.id for kind in chosen],
            "labels": [kind.id for kind in labelled],
            "category_kinds": [kind.id for kind in await self._kinds.select() if kind.label == "Category"],
            "categories": list(filters.categories),
            "properties": Jsonb(dict(filters.properties)),
            "since": filters.since,
            "until": filters.until,
            "prefix": filters.prefix,
        }
        used = [
            condition for name, condition in _CONDITIONS.items() if getattr(filters, name) not in ((), [], {}, None)
        ]
        conditions = sql.SQL(" AND ").join(used)
        return await self._named_or_wide(Scope(numbers, conditions=conditions, parameters=parameters), filters)

    async def named(self, scope: Scope) -> Scope:
        """A wide scope with all its items named, however many they are."""
        return Scope(scope.kinds, frozenset(await self._matching(scope, None)))

    async def _named_or_wide(self, scope: Scope, filters: Filters) -> Scope:
        wide = Scope(scope.kinds, None, True, scope.conditions, scope.parameters)
        assert scope.parameters is not None  # noqa: S101  it has conditions
        if filters == Filters(filters.sources, filters.labels) and await self._are_many(scope.parameters["labels"]):
            return wide
        ids = await self._matching(scope, MOST_NAMED + 1)
        return wide if len(ids) > MOST_NAMED else Scope(scope.kinds, frozenset(ids))

    async def _matching(self, scope: Scope, limit: int | None) -> list[int]:
        """The items that meet the filters and what belongs to them, no more than the limit."""
        statement = _MATCHING.format(conditions=scope.conditions)
        async with self._database.connection() as connection:
            cursor = await connection.execute(statement, {**(scope.parameters or {}), "limit": limit})
            return [row.item_id for row in await cursor.fetchall()]

    async def _are_many(self, kinds: Sequence[int]) -> bool:
        """Whether there are so many items of these kinds; nothing is scanned for it."""
        async with self._database.connection() as connection:
            rows = await fetch(connection, "count")
        return sum(int(row.count) for row in rows if row.kind_id in kinds) > MOST_NAMED
