"""`detent status` and `detent sources`: from counts that are kept, never by scanning."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import conninfo, sql

import detent
from detent.lifecycle import CRAWL, TOPIC

Result = subprocess.CompletedProcess[str]


@pytest.fixture
def topics(opened: detent.Detent) -> detent.Detent:
    """Five topics, of which one failed and two are in somebody's hands."""
    opened.declare("topics", "Topic", TOPIC)
    opened.add("topics", "Topic", [f"topic {n}" for n in range(5)])
    first, *_ = opened.claim(TOPIC, "pending", owner="somebody", limit=3)
    opened.settle([(first, detent.Failed("no"))])
    return opened


@pytest.mark.usefixtures("topics")
def test_status_shows_states_totals_failures_and_workers(said: Callable[..., Result]) -> None:
    shown = [" ".join(line.split()) for line in said("status").stdout.splitlines()]

    assert "topics Topic pending 2 waiting" in shown
    assert "Topic in_progress 2 working" in shown
    assert "Topic failed 1 failed" in shown
    assert "Topic total 5" in shown
    assert "5 items: 2 waiting, 2 working, 1 failed. See what failed: detent items --state failed" in shown
    assert any(line.startswith("somebody 2 ") for line in shown)


@pytest.mark.usefixtures("topics")
def test_the_names_of_the_documents_fields(document: Callable[..., Any]) -> None:
    status = document("status")

    told = {"at", "totals", "sources", "workers", "states", "labels", "errors", "embedding", "expansions", "services"}
    assert set(status) == told
    totals = {"items": 5, "waiting": 2, "held_back": 0, "working": 2, "failed": 1, "stopped": 0, "done": 0}
    assert status["totals"] == totals
    [source] = status["sources"]
    assert set(source) == {"name", "added_at", "paused_at", "labels"}
    [label] = source["labels"]
    counts = {"total", "waiting", "held_back", "working", "failed", "stopped", "done"}
    assert set(label) == {"label", "lifecycle", "states", *counts}
    assert label["states"][0] == {"state": "pending", "meaning": "waiting", "count": 2, "held_back": 0}
    [worker] = status["workers"]
    assert set(worker) == {"owner", "items", "leases", "since", "deadline"}
    assert worker["since"].endswith("+00:00")
    assert status["states"] == {"pending": 2, "in_progress": 2, "failed": 1}
    assert status["labels"] == {"Topic": status["states"]}
    assert status["errors"] == [{"label": "Topic", "error_type": "rejected", "count": 1, "keys": ["topic 0"]}]
    assert status["embedding"] == {"current": None, "next": None}


def test_the_help_explains_the_fields_of_the_document(said: Callable[..., Result]) -> None:
    told = said("status", "--help").stdout
    for field in ("states", "labels", "errors", "embedding"):
        assert f"\n    {field} " in told, field


def test_sources_and_their_pause(
    topics: detent.Detent, said: Callable[..., Result], document: Callable[..., Any]
) -> None:
    topics.declare("courts", "Partition", CRAWL)
    assert "is paused" in said("pause", "topics").stdout

    sources = document("sources")["sources"]

    assert [(each["name"], each["paused_at"] is not None) for each in sources] == [("courts", False), ("topics", True)]
    assert sources[0]["labels"] == [{"label": "Partition", "lifecycle": "crawl", "items": 0}]
    assert "topics (paused)" in said("status").stdout
    assert "since 20" in said("sources").stdout
    assert topics.claim(TOPIC, "pending", owner="somebody") == []
    assert said("resume", "topics").stdout.startswith("topics is resumed")
    assert said("resume", "topics").stdout == "topics was not paused.\n"
    assert len(topics.claim(TOPIC, "pending", owner="somebody")) == 2
    assert said("pause", "topic").stderr.strip() == "There is no source 'topic'. Did you mean 'topics'?"


@pytest.mark.usefixtures("opened")
def test_sources_tell_what_they_were_told_to_take(
    said: Callable[..., Result], document: Callable[..., Any], tmp_path: Path
) -> None:
    said("add", "files", "docs", str(tmp_path), "--include", "*.md")

    [source] = document("sources")["sources"]

    assert (source["type"], source["settings"]["root"]) == ("files", str(tmp_path))
    assert f"docs (files): root {tmp_path}; include *.md;" in said("sources").stdout.replace("\n", " ")


MANY = """
SET search_path = detent, public;
INSERT INTO item (kind_id, key, state, since, added_at)
SELECT kind.id, number::text, 'pending', now(), now() FROM kind, generate_series(1, 200000) AS number;
INSERT INTO place SELECT kind_id, state, not_before, priority, id FROM item;
INSERT INTO tally SELECT kind_id, state, count(*) FROM item GROUP BY kind_id, state;
"""


def touched(database: str) -> list[tuple[object, ...]]:
    """How often the large tables were read, in any way."""
    with psycopg.connect(database) as connection:
        return connection.execute(
            "SELECT relname, seq_scan, coalesce(idx_scan, 0) FROM pg_stat_user_tables "
            "WHERE relname IN ('item', 'place', 'failure') OR relname LIKE 'journal%' ORDER BY relname"
        ).fetchall()


def test_status_reads_no_item_however_many_there_are(
    opened: detent.Detent, ran: Callable[..., Result], database: str, until: Callable[[Callable[[], object]], None]
) -> None:
    """ANCESTORS 12 and 46: counting for the status line scanned all items."""
    opened.declare("topics", "Topic", TOPIC)
    opened.close()
    with psycopg.connect(database) as connection:
        connection.execute(MANY)
    until(lambda: not connections(database))
    before = touched(database)

    result = ran("status")

    assert "200,000 items: 200,000 waiting." in result.stdout
    until(lambda: not connections(database))
    assert touched(database) == before


def connections(database: str) -> list[tuple[object, ...]]:
    """Connections of others: what they read is counted when they have gone."""
    with psycopg.connect(database) as connection:
        return connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND application_name = 'detent'"
        ).fetchall()


def test_watch_without_a_terminal_prints_a_block_at_each_change(
    topics: detent.Detent, start: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start("status", "--watch")
    assert process.stdout is not None
    blocks = iter(process.stdout)
    next(line for line in blocks if "5 items: " in line)

    topics.add("topics", "Topic", ["one more"])

    next(line for line in blocks if "6 items: " in line)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""


def test_watch_without_a_terminal_waits_for_a_database_that_is_away_and_goes_on(
    topics: detent.Detent, start: Callable[..., subprocess.Popen[str]], server: str, database: str
) -> None:
    topics.close()
    process = start("status", "--watch")
    assert process.stdout is not None
    assert process.stderr is not None
    blocks = iter(process.stdout)
    next(line for line in blocks if "5 items: " in line)

    with closed(server, database):
        assert "does not answer" in process.stderr.readline()

    next(line for line in blocks if "5 items: " in line)
    with detent.open(database=database) as opened:
        opened.add("topics", "Topic", ["one more"])
    next(line for line in blocks if "6 items: " in line)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert process.stderr.read() == ""


@contextlib.contextmanager
def closed(server: str, database: str) -> Iterator[None]:
    """A database whose connections are cut, and which takes no new ones."""
    name = str(conninfo.conninfo_to_dict(database)["dbname"])
    allow = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(allow.format(sql.Identifier(name), sql.Literal(False)))
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        yield
        connection.execute(allow.format(sql.Identifier(name), sql.Literal(True)))


def test_watch_on_a_terminal_until_ctrl_c(topics: detent.Detent, terminal: Callable[..., Any]) -> None:
    screen = terminal("status", "--watch")
    screen.wait_for("5 items")
    topics.add("topics", "Topic", ["one more"])
    screen.wait_for("6 items")

    screen.press("\x03")

    assert screen.end() == 0
    assert "Traceback" not in screen.shown


@pytest.mark.usefixtures("topics")
def test_colours_on_a_terminal_unless_they_are_not_wanted(terminal: Callable[..., Any], project: Path) -> None:
    red = "\x1b[31m"
    for arguments, environment, coloured in (
        (["status"], {}, True),
        (["status"], {"NO_COLOR": "1"}, False),
        (["status", "--no-color"], {}, False),
    ):
        screen = terminal(*arguments, **environment)
        assert screen.end() == 0
        assert (red in screen.shown) == coloured
