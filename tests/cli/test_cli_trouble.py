"""A database that is busy: commands end with a sentence, and not with a stack trace."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo, sql

import detent

Result = subprocess.CompletedProcess[str]


def test_db_prune_says_so_when_somebody_reads_the_journal(
    database: str, opened: detent.Detent, said: Callable[..., Result]
) -> None:
    opened.wait(opened.asynchronous.store.journal.extend(datetime(2010, 1, 1, tzinfo=UTC), months=1))
    with psycopg.connect(database) as reader:
        reader.execute("SELECT count(*) FROM detent.journal")

        result = said("db", "prune", "--before", "2011-01-01")

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "The database is busy or full: the journal's partitions cannot be changed while it is read. "
        "Nothing was lost; try again.\n"
    )
    assert "Dropped the moves of 2010-01" in said("db", "prune", "--before", "2011-01-01").stdout


@pytest.mark.parametrize("command", ["status", "items", "pause topics", "db check"])
def test_a_command_that_meets_a_time_limit_of_the_server_says_so(
    database: str, project: Path, said: Callable[..., Result], command: str
) -> None:
    with psycopg.connect(database) as somebody:
        name = sql.Identifier(str(conninfo.conninfo_to_dict(database)["dbname"]))
        somebody.execute(sql.SQL("ALTER DATABASE {} SET statement_timeout = '100ms'").format(name))
        somebody.commit()
        somebody.execute("LOCK TABLE detent.source, detent.item, detent.tally IN ACCESS EXCLUSIVE MODE")

        result = said(*command.split())

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "The database is busy or full: canceling statement due to statement timeout. Nothing was lost; try again.\n"
    )
