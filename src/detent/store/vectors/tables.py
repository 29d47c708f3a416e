"""Statements that name tables created at run time: the templates of `vectors.sql` with the names filled in."""

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
    """Fill the places of a statement: strings are names of tables, numbers are inserted as they are."""
    return sql.SQL(SQL[name]).format(**{place: _written(value) for place, value in places.items()})


def union(statements: Iterable[sql.Composable]) -> sql.Composed:
    """Return the union of these statements."""
    return _UNION.join(statements)


def all_of(conditions: Iterable[sql.Composable]) -> sql.Composed:
    """Return the conjunction of these conditions; of none, true."""
    joined = list(conditions)
    return _AND.join(joined) if joined else _ALWAYS


async def run(
    connection: Connection, statement: sql.Composed, parameters: Mapping[str, Any] | None = None
) -> list[Any]:
    """Run a statement once. It is planned for its parameters: the number of items that a filter allows decides the
    plan, and its tables will soon be replaced."""
    cursor = await connection.execute(statement, parameters, prepare=False)
    return await cursor.fetchall() if cursor.description else []


def _written(value: Place) -> sql.Composable:
    if isinstance(value, sql.Composable):
        return value
    return sql.Identifier(value) if isinstance(value, str) else sql.Literal(value)
