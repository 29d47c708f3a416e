"""What the store's tests share: a wiki with articles, files with nodes, and a clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from detent.lifecycle import ARTICLE, NODE
from detent.store import Store


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
