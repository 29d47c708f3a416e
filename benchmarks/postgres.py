"""The PostgreSQL that all contenders share, and an empty database for each measurement.

The server is Detent's embedded one, with the settings that its users get, under `build/`, so that its data
lies on a real disk; or, as everywhere in Detent, the one that `DETENT_DATABASE_URL` names.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from detent.postgres import attach

FOLDER = Path("build/bench/server")
DATABASE = "detent_benchmark"


@contextmanager
def server() -> Iterator[str]:
    """The conninfo of a server that keeps what it has committed."""
    given = os.environ.get("DETENT_DATABASE_URL")
    if given:
        _require_durable(given)
        yield given
        return
    with attach(FOLDER) as attachment:
        _require_durable(attachment.conninfo)
        yield attachment.conninfo


@contextmanager
def empty_database(server_conninfo: str, named: str = DATABASE) -> Iterator[str]:
    """The conninfo of a new database. What earlier measurements left to write is on disk before it starts."""
    name = sql.Identifier(named)
    with psycopg.connect(server_conninfo, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        connection.execute("CHECKPOINT")
        try:
            yield make_conninfo(server_conninfo, dbname=named)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def _require_durable(conninfo: str) -> None:
    with psycopg.connect(conninfo) as connection:
        for setting in ("fsync", "synchronous_commit"):
            found = connection.execute("SELECT current_setting(%s)", [setting]).fetchone()
            if found != ("on",):
                raise RuntimeError(f"The server has {setting} off; switch it on, or the figures mean nothing.")
