"""Texts that a process reserves while it embeds them: nobody else has them, and nobody is kept from them for ever."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from detent.errors import DatabaseAway, DatabaseBusy
from detent.store import Store
from detent.store.database import Connection, fetch
from detent.store.vectors import reservations
from detent.store.vectors.reservations import Reservations

Query = Callable[..., list[Any]]

RESERVED = """
FROM pg_locks JOIN pg_database ON oid = database WHERE locktype = 'advisory' AND datname = current_database()
"""
ONE, TWO, THREE = (uuid4() for _ in range(3))


@contextlib.asynccontextmanager
async def two(store: Store) -> AsyncIterator[tuple[Reservations, Reservations]]:
    """What two processes reserve."""
    first, second = Reservations(store.database), Reservations(store.database)
    try:
        yield first, second
    finally:
        await first.close()
        await second.close()


def fail_once(monkeypatch: pytest.MonkeyPatch, error: psycopg.Error) -> None:
    """The next statement takes effect, and is answered by an error: as one that fails half-way."""

    async def failing(connection: Connection, name: str, parameters: Any) -> list[Any]:
        await fetch(connection, name, parameters)
        monkeypatch.setattr(reservations, "fetch", fetch)
        raise error

    monkeypatch.setattr(reservations, "fetch", failing)


async def cut(query: Query) -> None:
    """End all connections that have reserved something."""
    query(f"SELECT pg_terminate_backend(pid) {RESERVED}")
    await nothing_reserved(query)


async def nothing_reserved(query: Query) -> None:
    """Wait until the server has let go of what a connection had that is closed, which takes it a while."""
    async with asyncio.timeout(30):
        while is_any_held(query):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def is_any_held(query: Query) -> bool:
    try:
        return bool(query(f"SELECT {RESERVED}"))
    except psycopg.errors.OutOfMemory:
        return True


async def test_what_one_process_has_reserved_no_other_gets_until_it_is_done(store: Store) -> None:
    async with two(store) as (first, second):
        assert await first.take([ONE, TWO]) == {ONE, TWO}
        assert await second.take([TWO, THREE]) == {THREE}
        assert await first.take([ONE]) == set()
        first.free([TWO])
        await first.flush()
        assert await second.take([ONE, TWO]) == {TWO}


async def test_after_its_connection_was_cut_a_process_can_reserve_the_same_texts_again(
    store: Store, query: Query
) -> None:
    async with two(store) as (first, _):
        assert await first.take([ONE]) == {ONE}
        await cut(query)
        with pytest.raises(DatabaseAway):
            await first.take([TWO])
        assert await first.take([ONE, TWO]) == {ONE, TWO}


async def test_what_was_done_while_the_connection_was_cut_is_free(store: Store, query: Query) -> None:
    async with two(store) as (first, second):
        await first.take([ONE, TWO])
        await cut(query)
        first.free([ONE])
        with pytest.raises(DatabaseAway):
            await first.flush()
        assert await second.take([ONE, TWO]) == {ONE, TWO}
        await first.flush()
        assert await first.take([ONE]) == set()


async def test_a_server_without_room_for_locks_is_done_without_and_keeps_none(
    store: Store, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two(store) as (first, second):
        await first.take([THREE])
        fail_once(monkeypatch, psycopg.errors.OutOfMemory("out of shared memory"))
        assert await first.take([ONE, TWO]) == {ONE, TWO}
        await nothing_reserved(query)
        assert await second.take([ONE, TWO, THREE]) == {ONE, TWO, THREE}
        assert await first.take([ONE]) == set()


@pytest.mark.parametrize("verb", ["take", "flush"])
async def test_an_error_that_passes_is_told_as_one_and_leaves_nothing_reserved(
    store: Store, query: Query, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two(store) as (first, second):
        await first.take([ONE])
        first.free([ONE] if verb == "flush" else [])
        fail_once(monkeypatch, psycopg.errors.QueryCanceled("statement timeout"))
        with pytest.raises(DatabaseBusy):
            await (first.take([TWO]) if verb == "take" else first.flush())
        await nothing_reserved(query)
        assert await second.take([ONE, TWO]) == {ONE, TWO}


async def test_a_server_that_really_has_no_room_for_so_many_locks(store: Store, query: Query) -> None:
    """Many thousand more than its settings have room for."""
    [row] = query("SELECT current_setting('max_locks_per_transaction')::integer AS locks")
    [most] = query("SELECT current_setting('max_connections')::integer AS connections")
    many: list[UUID] = [uuid4() for _ in range(4 * row.locks * (most.connections + 20))]
    async with two(store) as (first, second):
        assert await first.take(many) == set(many)
        await nothing_reserved(query)
        assert await second.take(many[:10]) == set(many[:10])
