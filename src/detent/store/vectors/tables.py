"""Statements that name tables made at run time: the templates of `vectors.sql` with the names in their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from psycopg import sql

from detent.store.database import Connection
from detent.store.statements import SQL

Place = str | float | sql.Composable

_UNION = sql.SQL("\nUNION ALL\n")
_AND = sql.SQL(" AND ")
_ALWAYS = sql.Composed([sql.SQL("true")])


def compose(name: str, **places: Place) -> sql.Composed:
    """A statement with its places filled: strings are names of tables, numbers stand as they are."""
    return sql.SQL(SQL[name]).format(**{place: _written(value) for place, value in places.items()})


def union(statements: Iterable[sql.Composable]) -> sql.Composed:
    """What all of these find."""
    return _UNION.join(statements)


def all_of(conditions: Iterable[sql.Composable]) -> sql.Composed:
    """That all of these hold; of none, always."""
    joined = list(conditions)
    return _AND.join(joined) if joined else _ALWAYS


async def run(
    connection: Connection, statement: sql.Composed, parameters: Mapping[str, Any] | None = None
) -> list[Any]:
    """Run a statement once. It is planned for what it is given: how many items a filter allows decides its plan,
    and the tables it names will be others soon."""
    cursor = await connection.execute(statement, parameters, prepare=False)
    return await cursor.fetchall() if cursor.description else []


def _written(value: Place) -> sql.Composable:
    if isinstance(value, sql.Composable):
        return value
    return sql.Identifier(value) if isinstance(value, str) else sql.Literal(value)
