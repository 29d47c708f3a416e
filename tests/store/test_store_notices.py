"""NOTIFY is a hint: seldom sent, never from a row's change, and nothing depends on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg

from detent.knowledge import Done
from detent.lifecycle import ARTICLE
from detent.store import Stage, Store
from detent.store.notices import CHANNEL, QUIET_SECONDS

Query = Callable[..., list[Any]]


async def test_hints_are_sent_at_most_a_few_times_a_second(store: Store) -> None:
    sent = [await store.notices.hint() for _ in range(200)]
    assert sent[0]
    assert sum(sent) <= 1 + 200 * 0.1 / QUIET_SECONDS
    assert QUIET_SECONDS >= 0.2


async def test_a_hint_wakes_those_who_listen(database: str, store: Store) -> None:
    async with Store(database) as other, other.notices.listening() as heard:
        async with asyncio.timeout(10):
            while not heard.is_set():
                await store.notices.hint()
                await asyncio.sleep(0.02)


async def test_moving_items_notifies_nobody(database: str, wiki: Store, query: Query) -> None:
    """ANCESTORS 47: NOTIFY on every row serialised commits."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        await wiki.add("wiki", "Article", "abc")
        items = await wiki.claim(Stage(ARTICLE, "discovered"), owner="w")
        await wiki.settle([(item, Done()) for item in items])
        assert list(connection.notifies(timeout=0.2)) == []
    on_insert, on_update = 4, 16
    moving = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgtype::integer & %s <> 0"
    assert query(moving, on_insert | on_update) == []


async def test_listening_outlives_the_loss_of_its_connection_and_does_without(database: str, store: Store) -> None:
    async with store.notices.listening() as heard:
        async with asyncio.timeout(20):
            while not heard.is_set():
                await store.notices.hint()
                await asyncio.sleep(0.02)
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND query LIKE 'LISTEN%'"
                )
            heard.clear()
            while not heard.is_set():
                await store.notices.hint()
                await asyncio.sleep(0.05)


async def test_listening_without_a_database_just_hears_nothing() -> None:
    store = Store("host=/nowhere dbname=none", wait_seconds=0.1)
    async with store.notices.listening() as heard:
        await asyncio.sleep(0.05)
        assert not heard.is_set()
