"""Connection strings: what a user says in one is kept, and one that cannot be read is told without its secrets."""

from __future__ import annotations

import asyncio
import re
import traceback
from typing import LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from detent.application.connecting import located
from detent.errors import UnreadableConnection
from detent.store import Store
from detent.store.address import read
from detent.store.database import Database, connection_options
from detent.worker.patience import opened

UNREADABLE = {
    "postgresql://me:s3cret@db:notaport/x": "its port is not a number from 1 to 65535",
    "postgresql://me:s3cret@db:70000/x": "its port is not a number from 1 to 65535",
    "host=db port=5432,cret": "its port is not a number from 1 to 65535",
    "postgresql://me:s3cret/db/x": "its port is not a number from 1 to 65535",
    "host=db connect_timeout=cret": "its connect_timeout is not a number",
    "postgresql://me:s3@cret@db/x": "an @ or / in its user or password is not written as %40 or %2F",
    "postgresql://me:12/s3cret@db/x": "an @ or / in its user or password is not written as %40 or %2F",
    "postgres://me@server:s3cret@db/x": "an @ or / in its user or password is not written as %40 or %2F",
    "postgresql://me:s3%cret@db/x": "a % in it is not followed by two hexadecimal digits; the sign itself is %25",
    "postgresql://me:s3%00cret@db/x": "a % in it is not followed by two hexadecimal digits; the sign itself is %25",
    "postgresql://me:s3cret@[::1/x": "[ ] contains no address, or : or / does not follow it",
    "postgresql://me:s3cret@[::1]cret/x": "[ ] contains no address, or : or / does not follow it",
    "postgresql://me:s3cret@db/x y": "a space in it is not written as %20",
    "postgresql://me:s3cret@db/x?cret": "an option in it has no =",
    "postgresql://db/x?pasword=s3cret": "pasword is not an option of PostgreSQL; password may be meant",
    "host=db pasword=s3cret": "pasword is not an option of PostgreSQL; password may be meant",
    "host=db password=s3 cret=1": "it has an option that PostgreSQL does not know",
    "postgresql:/me:s3cret@db/x?sslmode=require": "it has an option that PostgreSQL does not know",
    "host=db password=s3 cret": "a word in it has no =, perhaps because a value with a space is not in quotes",
    "host=db password='s3cret": "a quote in it is not closed",
    "postgres//me:s3cret@db": "it is neither a URL that begins with postgresql:// nor options such as host=db",
    "me:s3cret@db/x": "it is neither a URL that begins with postgresql:// nor options such as host=db",
    "mysql://me:s3cret@db/x": "it is neither a URL that begins with postgresql:// nor options such as host=db",
    "host=db password=s3cret\udcff": "it is not UTF-8 text",
}


@pytest.mark.parametrize(("connection", "reason"), UNREADABLE.items())
def test_what_cannot_be_read_is_told_with_the_reason_and_without_a_piece_of_a_password(
    connection: str, reason: str
) -> None:
    with pytest.raises(UnreadableConnection) as refused:
        Database(connection)
    assert str(refused.value) == (
        f"The database's connection string cannot be read: {reason}. `detent config` shows where it was given."
    )
    trace = "".join(traceback.format_exception(refused.value))
    assert not re.search("s3|cret", trace), "nor do libpq's words, which quote it, stand in a trace"


@pytest.mark.parametrize(
    "connection",
    [
        "",
        "postgresql://",
        "postgresql:///x?host=/run/postgresql",
        "postgresql://me:s%40%2F%25@db1:5432,db2/x",
        "postgresql://db:/x",
        "postgresql://[::1]:5432/x",
        "postgresql://db/my@database",
        "postgresql://db:5432/x?user=me@company",
        "host=@abstract",
        "host=a,b port=1,2",
        "host = db password = 'with space \\' and quote' connect_timeout=2",
        "service=mine",
    ],
)
def test_what_libpq_understands_is_read(connection: str) -> None:
    assert read(connection) == psycopg.conninfo.conninfo_to_dict(connection)


@pytest.mark.parametrize("connection", ["postgresql://me:s3cret@db:notaport/x", "host=db password=s3 cret"])
async def test_a_mistake_is_not_waited_for(connection: str) -> None:
    async with asyncio.timeout(60):
        with pytest.raises(UnreadableConnection):
            async with opened(connection):
                pass
        with pytest.raises(UnreadableConnection):
            async with located(database=connection):
                pass


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("sslmode=cret", "its sslmode is unknown to PostgreSQL"),
        ("target_session_attrs=cret", "its target_session_attrs is unknown to PostgreSQL"),
        ("host=a,b,c port=1,2", "it has a different number of ports and hosts"),
        ("service=cret", "its service is not defined"),
    ],
)
async def test_what_only_an_attempt_shows_to_be_a_mistake_is_told_as_one(given: str, reason: str) -> None:
    with pytest.raises(UnreadableConnection) as refused:
        async with located(database=f"host=/nowhere password=s3cret {given}"):
            pass
    assert f"cannot be read: {reason}." in str(refused.value)
    assert "cret" not in str(refused.value)


async def show(store: Store, statement: LiteralString) -> object:
    async with store.database.connection() as connection:
        row = await (await connection.execute(statement)).fetchone()
        return row[0] if row else None


async def test_a_users_own_options_are_in_force_beside_detents(database: str) -> None:
    own = "-c statement_timeout=54321 --work_mem=5MB -c search_path=elsewhere"
    async with Store(make_conninfo(database, options=own)) as store:
        assert await show(store, "SHOW statement_timeout") == "54321ms"
        assert await show(store, "SHOW work_mem") == "5MB"
        assert await show(store, "SHOW enable_seqscan") == "off"
        assert await show(store, "SHOW search_path") == "detent,public", "Detent's come last"


async def test_options_may_come_in_a_url_or_from_the_environment(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = psycopg.conninfo.conninfo_to_dict(database)
    url = f"postgresql://detent@/{known['dbname']}?host={known['host']}"
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=11111")
    async with Store(url) as store:
        assert await show(store, "SHOW statement_timeout") == "11111ms"
        assert await show(store, "SHOW enable_seqscan") == "off"
    async with Store(f"{url}&options=-c%20statement_timeout%3D22222") as store:
        assert await show(store, "SHOW statement_timeout") == "22222ms"
        assert await show(store, "SHOW enable_seqscan") == "off"


async def test_what_the_engine_relies_on_is_set_whatever_the_surroundings_say(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "latin1")
    own = "-c datestyle=German -c intervalstyle=iso_8601 -c default_transaction_isolation=serializable"
    async with Store(make_conninfo(database, options=own)) as store:
        assert await show(store, "SHOW client_encoding") == "UTF8"
        assert await show(store, "SHOW datestyle") == "ISO, DMY"
        assert await show(store, "SHOW intervalstyle") == "postgres"
        assert await show(store, "SHOW default_transaction_isolation") == "read committed"


def test_a_server_that_is_gone_is_noticed_soon_unless_the_user_says_when() -> None:
    assert connection_options("host=db")["tcp_user_timeout"] == 30_000
    assert "tcp_user_timeout" not in connection_options("host=db tcp_user_timeout=5")


async def test_who_listens_for_hints_has_a_users_own_options_too(database: str) -> None:
    """This one gives each statement a number, which others can see."""
    own = make_conninfo(database, options="-c compute_query_id=on")
    seen = "SELECT query_id FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    async with Store(own) as store, store.notices.listening() as heard:
        async with asyncio.timeout(60):
            while not heard.is_set():
                await store.notices.hint()
                await asyncio.sleep(0.05)
        assert await show(store, seen) is not None


def test_detents_options_alone_need_no_address() -> None:
    assert connection_options()["options"].startswith("-c search_path=detent,public ")
