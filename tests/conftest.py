"""One PostgreSQL for all tests of a run, and a database of its own for each test, copied from a template."""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from psycopg import conninfo, sql
from psycopg.rows import namedtuple_row

from detent.embedding import wordllama
from detent.postgres import attach
from detent.services import keyring
from detent.store import Store

MEMORY = Path("/dev/shm")  # noqa: S108  a file system in memory, where Linux has one
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK | os.X_OK):
    # Copying a database takes 0.05 s in memory and 0.4 to 1 s on a disk, and there is one for nearly each test.
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# Without it each of the hundreds of programs that are started here compiles all of Detent again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

hypothesis.settings.register_profile("detent", deadline=None, print_blob=True)
hypothesis.settings.load_profile("detent")

Query = Callable[..., list[Any]]

PROXIES = ("http_proxy", "https_proxy", "all_proxy")

_number = itertools.count(1)
_read_once = functools.cache(wordllama._load)


@pytest.fixture(autouse=True, scope="session")
def no_settings_from_outside() -> None:
    """A developer's own DETENT_… settings do not reach the tests, and nothing that they ask goes over a proxy: it is
    all on this machine."""
    settings = [name for name in os.environ if name.startswith("DETENT_") and name != "DETENT_SAMPLES"]
    for name in [*settings, *(name for name in os.environ if name.lower() in PROXIES)]:
        del os.environ[name]


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """Programs that the tests start heed Ctrl-C, also when the tests run in the background, where shells let all that
    they start ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="module")
def one_model() -> Iterator[None]:
    """The model that works offline is read once for all tests of a process: each time takes a tenth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wordllama, "_load", _read_once)
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The conninfo of a server with a template database `detent_template` that has the schema."""
    folder = Path(tempfile.mkdtemp(prefix="detent-tests-"))
    folder.chmod(0o755)  # the account that PostgreSQL runs under must reach it
    try:
        with attach(folder / ".detent") as attachment:
            with psycopg.connect(attachment.conninfo, autocommit=True) as connection:
                # The machine does not lose power during the tests, so nothing need wait for its disk.
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
                connection.execute("CREATE DATABASE detent_template")
            asyncio.run(_prepare(conninfo.make_conninfo(attachment.conninfo, dbname="detent_template")))
            yield attachment.conninfo
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _prepare(template: str) -> None:
    async with Store(template):
        pass


@pytest.fixture
def make_database(server: str) -> Iterator[Callable[[], str]]:
    """Makes databases with the schema and nothing in it, and drops them after the test."""
    made: list[str] = []

    def make() -> str:
        name = f"test_{os.getpid()}_{next(_number)}"
        made.append(name)
        with psycopg.connect(server, autocommit=True) as connection:
            statement = "CREATE DATABASE {} TEMPLATE detent_template STRATEGY FILE_COPY"  # five times as fast here
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))
        return conninfo.make_conninfo(server, dbname=name)

    yield make
    with psycopg.connect(server, autocommit=True) as connection:
        for name in made:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def database(make_database: Callable[[], str]) -> str:
    """The conninfo of an empty database with the schema."""
    return make_database()


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
    async with Store(database) as opened:
        yield opened


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
def rows_of_all_tables(query: Query) -> Callable[[], str]:
    """All that the database has in its tables, as text."""

    def read() -> str:
        tables = query("SELECT tablename FROM pg_tables WHERE schemaname = 'detent'")
        return "\n".join(
            row.text
            for (name,) in tables
            for row in query(f'SELECT t::text AS text FROM detent."{name}" t')  # noqa: S608  names of our own tables
        )

    return read


@pytest.fixture
def forgotten_secrets() -> Iterator[None]:
    """What one test reads of secrets is unknown to the next."""
    factory = logging.getLogRecordFactory()
    yield
    keyring._known.clear()
    logging.setLogRecordFactory(factory)
