"""`detent remove`: a source goes with all it brought, only if somebody wants it, and can be interrupted."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

import detent
from detent.configuration.masking import masked
from detent.lifecycle import TOPIC

Result = subprocess.CompletedProcess[str]


@pytest.fixture
def topics(opened: detent.Detent) -> detent.Detent:
    """A source with 1,500 items, and another with one."""
    opened.declare("topics", "Topic", TOPIC)
    opened.declare("my notes", "Topic", TOPIC)
    opened.add("topics", "Topic", [f"topic {number:04}" for number in range(1500)])
    opened.add("my notes", "Topic", ["note"])
    return opened


def counts(db: detent.Detent) -> dict[str, int]:
    return {line.source: line.count for line in db.count_by_state()}


def test_a_source_is_removed_with_its_items(topics: detent.Detent, said: Callable[..., Result]) -> None:
    result = said("remove", "topics", "--yes")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "The source 'topics' is removed, with 1,500 items.\n"
    assert counts(topics) == {"my notes": 1}
    assert "topics" not in said("sources").stdout
    assert said("remove", "topics", "--yes").returncode == 2


def test_where_nobody_can_be_asked_nothing_is_removed(topics: detent.Detent, ran: Callable[..., Result]) -> None:
    result = ran("remove", "topics")
    assert (result.returncode, result.stdout) == (2, "")
    assert (
        "Remove the source 'topics' with 1,500 items permanently? There is no terminal to confirm on" in result.stderr
    )
    assert counts(topics) == {"topics": 1500, "my notes": 1}


def test_a_person_is_asked(topics: detent.Detent, terminal: Callable[..., Any]) -> None:
    shown = terminal("remove", "my notes")
    shown.wait_for("Remove the source 'my notes' with 1 item permanently?")
    shown.press("n\n")
    assert shown.end() == 130
    assert counts(topics)["my notes"] == 1
    shown = terminal("remove", "my notes")
    shown.wait_for("permanently?")
    shown.press("y\n")
    assert shown.end() == 0
    assert "is removed, with 1 item." in shown.shown
    assert counts(topics) == {"topics": 1500}


@pytest.mark.usefixtures("topics")
def test_an_unknown_source_gets_a_suggestion(said: Callable[..., Result]) -> None:
    result = said("remove", "topic", "--yes")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "There is no source 'topic'. Did you mean 'topics'?\n"


def test_an_interrupted_removal_says_how_to_go_on_and_does(
    topics: detent.Detent,
    start: Callable[..., Any],
    said: Callable[..., Result],
    until: Callable[..., None],
    database: str,
) -> None:
    with psycopg.connect(database) as another:
        another.execute("SELECT FROM detent.item WHERE key = 'topic 1400' FOR UPDATE")
        process = start("remove", "topics", "--yes", "--project", ".", "--database", database)
        until(lambda: counts(topics)["topics"] == 500)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "1,000 items removed so far" in err
    again = shlex.join(["detent", "remove", "topics", "--project", ".", "--database", masked(database)])
    assert f"To remove the rest: {again}\n" in err
    assert topics.claim(TOPIC, "pending", owner="w", limit=1000)[0].source == "my notes"
    with pytest.raises(detent.DetentError, match="being removed"):
        topics.declare("topics", "Topic", TOPIC)
    assert said("remove", "topics", "--yes").stdout == "The source 'topics' is removed, with 500 items.\n"
    assert counts(topics) == {"my notes": 1}
