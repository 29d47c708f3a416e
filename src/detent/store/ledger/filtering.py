"""Filters, prepared for search before ranking: few items are listed, many are checked one by one."""

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
"""Largest number of items that are listed; if there are more, the search's results are checked instead."""

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
# Matching items come first; the items that belong to them are looked up only as far as the limit allows.
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
    """The scope of a search: these kinds, None for all, and the listed items, None for all.

    If there are too many items to list, `wide` requires a check of each result. Each condition is met by an item
    itself, or by one that it belongs to.
    """

    kinds: Sequence[int] | None = None
    allowed: frozenset[int] | None = None
    wide: bool = False
    conditions: Sequence[sql.Composable] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    async def check(self, connection: Connection, ids: Sequence[int]) -> set[int]:
        """Return the items that meet the filters."""
        met = [sql.SQL("bool_or({})").format(condition) for condition in self.conditions]
        statement = _CHECKING.format(conditions=sql.SQL(" AND ").join(met))
        cursor = await connection.execute(statement, {**self.parameters, "ids": list(ids)})
        return {row.item_id for row in await cursor.fetchall()}


class Filtering:
    def __init__(self, database: Database, kinds: Kinds) -> None:
        self._database = database
        self._kinds = kinds

    async def scope(self, filters: Filters) -> Scope:
        """Return the scope of filters. An unknown source or label is an error."""
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
        """Return a wide scope with all its items listed, however many."""
        return await self._named(scope, await self._matching(scope, scope.conditions[-1], None))

    async def unknown_categories(self, keys: Sequence[str]) -> list[str]:
        """Return a sentence on each of these keys that is no category's, with the nearest existing one."""
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
        """List the items if there is a condition that few enough meet."""
        for condition in scope.conditions:
            if condition is _LABELS and await self._are_many(scope.parameters["labels"]):
                continue
            ids = await self._matching(scope, condition, MOST_NAMED + 1)
            if len(ids) <= MOST_NAMED:
                return await self._named(scope, ids)
        return replace(scope, wide=True)

    async def _named(self, scope: Scope, ids: Sequence[int]) -> Scope:
        """Keep those of the items, which meet one of the conditions, that meet all."""
        if len(scope.conditions) == 1:
            return Scope(scope.kinds, frozenset(ids))
        async with self._database.connection() as connection:
            return Scope(scope.kinds, frozenset(await scope.check(connection, ids)))

    async def _matching(self, scope: Scope, condition: sql.Composable, limit: int | None) -> list[int]:
        """Return the items that meet a condition and the items that belong to them, up to the limit."""
        statement = _MATCHING.format(condition=condition)
        async with self._database.connection() as connection:
            cursor = await connection.execute(statement, {**scope.parameters, "limit": limit})
            return [row.item_id for row in await cursor.fetchall()]

    async def _are_many(self, kinds: Sequence[int]) -> bool:
        """True if there are many items of these kinds, according to the tallies."""
        async with self._database.connection() as connection:
            rows = await fetch(connection, "count")
        return sum(int(row.count) for row in rows if row.kind_id in kinds) > MOST_NAMED


def _used(filters: Filters) -> list[sql.Composable]:
    """Return the conditions of these filters. Both ends of a time range apply to the same date."""
    given = {name: each for name, each in _CONDITIONS.items() if getattr(filters, name) not in ((), [], {}, None)}
    dates = [given.pop(name) for name in ("since", "until") if name in given]
    return [*given.values(), *([sql.SQL(" AND ").join(dates)] if dates else [])]
