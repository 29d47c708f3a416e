"""The schema: made by whoever comes first, refused by whoever is too old, and whole or not there."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import conninfo, sql

from detent.errors import DatabaseAway, RightsMissing, SchemaTooNew
from detent.store import Store
from detent.store import migration as schema
from detent.store.migration import Migration, migrations, upgrade

PROGRAM = """
import asyncio, sys
from detent.lifecycle import ARTICLE
from detent.store import Store

async def main() -> None:
    async with Store(sys.argv[1]) as store:
        await store.declare("wiki", "Article", ARTICLE)
        print(await store.add("wiki", "Article", ["a"]))

asyncio.run(main())
"""


KILL = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = 'empty_database' AND query LIKE '%pg_sleep%' AND wait_event = 'PgSleep'
"""


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """The conninfo of a database without the schema."""
    name = sql.Identifier("empty_database")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        try:
            yield conninfo.make_conninfo(server, dbname="empty_database")
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def tables(database: str) -> list[str]:
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'detent' ORDER BY 1")
        return [row[0] for row in rows]


async def test_several_processes_that_start_at_once_on_an_empty_database_all_succeed(empty: str) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, empty, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(4)
    ]
    ends = await asyncio.gather(*[process.communicate() for process in processes])
    assert [process.returncode for process in processes] == [0] * 4, [error.decode() for _, error in ends]
    assert sorted(out.decode().strip() for out, _ in ends) == ["0", "0", "0", "1"]


async def test_several_stores_that_open_at_once_apply_each_step_once(empty: str) -> None:
    stores = await asyncio.gather(*[Store(empty).open() for _ in range(8)])
    for store in stores:
        await store.close()
    with psycopg.connect(empty) as connection:
        found = connection.execute("SELECT number FROM detent.migration ORDER BY 1").fetchall()
    assert [row[0] for row in found] == [migration.number for migration in migrations()]


async def test_an_older_program_says_that_the_schema_is_newer_and_stops(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO detent.migration (number, name) VALUES (9999, 'from the future')")
    with pytest.raises(SchemaTooNew, match=r"schema 9999.*upgrade this one too"):
        await Store(database).open()


async def test_the_database_is_left_as_it_was_by_an_older_program(database: str) -> None:
    before = tables(database)
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO detent.migration (number, name) VALUES (9999, 'from the future')")
    with pytest.raises(SchemaTooNew):
        await Store(database).open()
    assert tables(database) == before


async def test_a_step_that_fails_leaves_nothing_behind(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = migrations()
    broken = Migration(known[-1].number + 1, "broken", "CREATE TABLE half (id integer); SELECT 1 / 0;")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", lambda: [*known, broken])
        with pytest.raises(psycopg.errors.DivisionByZero):
            await Store(empty).open()
    assert tables(empty) == []
    async with Store(empty):
        assert "item" in tables(empty)


async def test_a_program_that_is_killed_while_it_migrates_leaves_nothing_behind(
    empty: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrations()
    slow = Migration(known[-1].number + 1, "slow", "CREATE TABLE half (id integer); SELECT pg_sleep(60);")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", lambda: [*known, slow])
        opening = asyncio.create_task(Store(empty).open())
        with psycopg.connect(server, autocommit=True) as connection:
            for _ in range(500):
                if connection.execute(KILL).fetchall():
                    break
                await asyncio.sleep(0.02)
        with pytest.raises(DatabaseAway):
            await opening
    assert tables(empty) == []
    async with Store(empty):
        assert "item" in tables(empty)


async def test_a_step_is_recorded_with_what_it_did(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Store(empty) as store:
        known = migrations()
        further = Migration(known[-1].number + 1, "further", "CREATE TABLE further (id integer)")
        monkeypatch.setattr(schema, "migrations", lambda: [*known, further])
        assert [step.name for step in await upgrade(store.database)] == ["further"]
        assert await upgrade(store.database) == []
    assert "further" in tables(empty)


async def test_a_role_without_rights_is_told_what_an_administrator_can_do_and_then_it_works(empty: str) -> None:
    role = f"poor_{uuid.uuid4().hex[:8]}"
    poor = conninfo.make_conninfo(empty, user=role)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        try:
            with pytest.raises(RightsMissing) as refused:
                await Store(poor).open()
            advice = str(refused.value).partition("can run: ")[2]
            assert advice.endswith(f" CREATE SCHEMA IF NOT EXISTS detent AUTHORIZATION {role};")
            connection.execute(advice.encode())
            async with Store(poor) as store:
                assert await store.tallies.check() == []
        finally:
            connection.execute("DROP SCHEMA IF EXISTS detent CASCADE")
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def test_steps_are_numbered_without_gaps() -> None:
    numbers = [migration.number for migration in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_database_per_test_has_the_schema(make_database: Callable[[], str]) -> None:
    assert "item" in tables(make_database())
