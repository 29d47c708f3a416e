"""What the store's tests share: a wiki with articles, files with nodes, a look into the tables, and a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import namedtuple_row

from detent.lifecycle import ARTICLE, NODE
from detent.store import Store

Query = Callable[..., list[Any]]


@pytest.fixture
def query(database: str) -> Iterator[Query]:
    """Runs a statement behind the store's back and returns its rows."""
    options = "-c search_path=detent,public -c timezone=UTC"
    with psycopg.connect(database, autocommit=True, row_factory=namedtuple_row, options=options) as connection:

        def run(statement: str, *parameters: Any) -> list[Any]:
            cursor = connection.execute(statement.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

        yield run


@pytest.fixture
async def wiki(store: Store) -> Store:
    """A store with a source of articles and one of files."""
    await store.declare("wiki", "Article", ARTICLE)
    await store.declare("docs", "File", NODE)
    return store


@pytest.fixture
def tick(store: Store) -> Callable[[float], datetime]:
    """Sets the database's clock, and moves it on by so many seconds."""
    store.database.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def move(seconds: float) -> datetime:
        assert store.database.now is not None
        store.database.now += timedelta(seconds=seconds)
        return store.database.now

    return move
