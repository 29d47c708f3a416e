"""Filters, as search can use them before it ranks: few items are named, many are looked at one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from detent.configuration.values import nearest
from detent.knowledge.filters import Filters
from detent.store.database import Connection, Database, fetch
from detent.store.ledger.kinds import Kinds
from detent.store.values import beginning_like

MOST_NAMED = 20_000
"""How many items are named one by one; of more, those are looked at that the search finds."""

_LABELS = sql.SQL("item.kind_id = ANY (%(labels)s::integer[])")
_CONDITIONS = {
    "labels": _LABELS,
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
        WHERE item.kind_id = ANY (%(kinds)s::integer[]) AND {condition} LIMIT %(limit)s::bigint
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
    SELECT ancestor.id AS item_id
    FROM ancestor JOIN node ON node.item_id = ancestor.item_id JOIN item ON item.id = node.item_id
    GROUP BY ancestor.id HAVING {conditions}""")


@dataclass(frozen=True)
class Scope:
    """Where to search: in these kinds, None for all; among the items that are named, None for all. If there are too
    many to name, `wide` says that each has to be checked. Each condition is met by an item itself, or by one that it
    belongs to."""

    kinds: Sequence[int] | None = None
    allowed: frozenset[int] | None = None
    wide: bool = False
    conditions: Sequence[sql.Composable] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    async def check(self, connection: Connection, ids: Sequence[int]) -> set[int]:
        """Which of these items meet the filters."""
        met = [sql.SQL("bool_or({})").format(condition) for condition in self.conditions]
        statement = _CHECKING.format(conditions=sql.SQL(" AND ").join(met))
        cursor = await connection.execute(statement, {**self.parameters, "ids": list(ids)})
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
            "category_kinds": await self._category_kinds(),
            "categories": list(filters.categories),
            "properties": Jsonb(dict(filters.properties)),
            "since": filters.since,
            "until": filters.until,
            "prefix": filters.prefix,
        }
        return await self._named_or_wide(Scope(numbers, conditions=_used(filters), parameters=parameters))

    async def named(self, scope: Scope) -> Scope:
        """A wide scope with all its items named, however many they are."""
        return await self._named(scope, await self._matching(scope, scope.conditions[-1], None))

    async def unknown_categories(self, keys: Sequence[str]) -> list[str]:
        """A sentence on each of these keys that no category has, with the nearest that one has."""
        if not keys:
            return []
        kinds = await self._category_kinds()
        rows = await self._database.fetch("unknown_categories", {"keys": list(keys), "kinds": kinds})
        return [await self._no_category(row.key, kinds) for row in rows]

    async def _no_category(self, key: str, kinds: Sequence[int]) -> str:
        parameters = {"kinds": kinds, **beginning_like(key)}
        known = {row.key: row.key for row in await self._database.fetch("similar_categories", parameters)}
        meant = nearest(key, known)
        return f"There is no category {key!r}." + (f" Did you mean {meant!r}?" if meant is not None else "")

    async def _category_kinds(self) -> list[int]:
        return [kind.id for kind in await self._kinds.select() if kind.label == "Category"]

    async def _named_or_wide(self, scope: Scope) -> Scope:
        """The items are named if there is a condition that few enough meet."""
        for condition in scope.conditions:
            if condition is _LABELS and await self._are_many(scope.parameters["labels"]):
                continue
            ids = await self._matching(scope, condition, MOST_NAMED + 1)
            if len(ids) <= MOST_NAMED:
                return await self._named(scope, ids)
        return replace(scope, wide=True)

    async def _named(self, scope: Scope, ids: Sequence[int]) -> Scope:
        """Of items that meet one of the conditions, those that meet all."""
        if len(scope.conditions) == 1:
            return Scope(scope.kinds, frozenset(ids))
        async with self._database.connection() as connection:
            return Scope(scope.kinds, frozenset(await scope.check(connection, ids)))

    async def _matching(self, scope: Scope, condition: sql.Composable, limit: int | None) -> list[int]:
        """The items that meet a condition and what belongs to them, no more than the limit."""
        statement = _MATCHING.format(condition=condition)
        async with self._database.connection() as connection:
            cursor = await connection.execute(statement, {**scope.parameters, "limit": limit})
            return [row.item_id for row in await cursor.fetchall()]

    async def _are_many(self, kinds: Sequence[int]) -> bool:
        """Whether there are so many items of these kinds; nothing is scanned for it."""
        async with self._database.connection() as connection:
            rows = await fetch(connection, "count")
        return sum(int(row.count) for row in rows if row.kind_id in kinds) > MOST_NAMED


def _used(filters: Filters) -> list[sql.Composable]:
    """The conditions of these filters. Both ends of a time are met by the same date."""
    given = {name: each for name, each in _CONDITIONS.items() if getattr(filters, name) not in ((), [], {}, None)}
    dates = [given.pop(name) for name in ("since", "until") if name in given]
    return [*given.values(), *([sql.SQL(" AND ").join(dates)] if dates else [])]
