"""`detent retry`, `reset` and `skip`: the number they report is the number that was moved."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import detent
from detent.lifecycle import NODE, TOPIC

Result = subprocess.CompletedProcess[str]


@pytest.fixture
def failed(opened: detent.Detent) -> detent.Detent:
    """Six topics: three failed for good, one is done, two wait. And a file that could not be linked."""
    opened.declare("topics", "Topic", TOPIC)
    opened.add("topics", "Topic", [f"topic {n}" for n in range(6)])
    troubles = [detent.Trouble.NOT_FOUND, detent.Trouble.NOT_FOUND, detent.Trouble.FORBIDDEN]
    items = opened.claim(TOPIC, "pending", owner="somebody", limit=4)
    opened.settle([(item, detent.Failed("no", trouble)) for item, trouble in zip(items, troubles, strict=False)])
    opened.settle([(items[3], detent.Done())])
    opened.declare("files", "File", NODE)
    opened.add("files", "File", ["a.py"])
    for state in ("pending", "parsed"):
        [item] = opened.claim(NODE, state, owner="somebody")
        opened.settle([(item, detent.Done() if state == "pending" else detent.Failed("no link"))])
    return opened


def states(opened: detent.Detent, source: str = "topics") -> dict[str, int]:
    return {line.state: line.count for line in opened.count_by_state() if line.source == source}


def test_retry_reports_the_number_that_was_sent_round(failed: detent.Detent, said: Callable[..., Result]) -> None:
    """ANCESTORS 25: it always reported 0, and it queued nothing."""
    result = said("retry", "--source", "topics")

    assert (result.returncode, result.stdout) == (0, "Retried 3 items.\n")
    assert states(failed) == {"pending": 5, "success": 1}
    assert said("retry", "--source", "topics").stdout == "No such items have failed.\n"


def test_retry_by_kind_of_error_and_all(failed: detent.Detent, said: Callable[..., Result]) -> None:
    assert said("retry", "--error-kind", "forbidden").stdout == "Retried 1 item.\n"
    assert said("retry", "--error-kind", "link", "--dry-run").stdout == "Would retry 1 item.\n"
    assert said("retry", "--all").stdout == "Retried 3 items.\n"
    assert states(failed) == {"pending": 5, "success": 1}
    assert states(failed, "files") == {"parsed": 1}


def test_retry_goes_back_to_the_state_that_is_asked_for(failed: detent.Detent, said: Callable[..., Result]) -> None:
    assert said("retry", "a.py", "--to", "pending").returncode == 0
    assert states(failed, "files") == {"pending": 1}


def test_a_move_that_is_not_made_is_not_reported_as_made(failed: detent.Detent, said: Callable[..., Result]) -> None:
    """ANCESTORS 4: a rejected move was logged as success and returned normally."""
    result = said("retry", "topic 0", "topic 3")

    assert result.returncode == 1
    assert result.stdout == "Retried 1 item.\n"
    assert "topic 3 was left in the state success: only failed items can be retried" in result.stderr
    illegal = said("retry", "a.py", "--to", "ready")
    assert illegal.returncode == 2
    assert "`detent lifecycles node` lists its moves" in illegal.stderr
    assert states(failed, "files") == {"error": 1}


@pytest.mark.parametrize("command", ["retry", "reset", "skip"])
def test_which_items_must_be_said(said: Callable[..., Result], command: str) -> None:
    result = said(command)
    assert result.returncode == 2
    assert "Select items by key" in result.stderr
    assert said(command, "topic 0", "--all").returncode == 2


def test_reset_begins_anew_with_any_item(failed: detent.Detent, said: Callable[..., Result]) -> None:
    [held] = failed.claim(TOPIC, "pending", owner="somebody", limit=1)

    result = said("reset", "--source", "topics", "--yes")

    assert (result.returncode, result.stdout) == (0, "Reset 6 items.\n")
    assert states(failed) == {"pending": 6}
    assert failed.settle([(held, detent.Done())])[0].status.value == "lost"
    assert said("reset", "--state", "error", "--yes").stdout == "Reset 1 item.\n"
    assert said("reset", "--error-kind", "timeout", "--yes").stdout == "There are no such items.\n"


def test_a_dry_run_says_how_many_items_it_would_be_and_does_nothing(
    failed: detent.Detent, said: Callable[..., Result], document: Callable[..., Any]
) -> None:
    before = [failed.count_by_state(), failed.history(failed.find("topic 0")[0])]

    assert said("retry", "--error-kind", "not_found", "--dry-run").stdout == "Would retry 2 items.\n"
    assert document("retry", "topic 0", "topic 3", "--dry-run") == {
        "count": 1,
        "refused": document("items", "--state", "success")["items"],
        "dry_run": True,
    }
    assert document("reset", "--all", "--dry-run") == {"count": 7, "refused": [], "dry_run": True}
    assert said("skip", "--all", "--dry-run").stdout == "Would skip 1 item.\n"
    assert [failed.count_by_state(), failed.history(failed.find("topic 0")[0])] == before


def test_skip_skips_what_waits_or_failed(failed: detent.Detent, said: Callable[..., Result]) -> None:
    failed.add("files", "File", ["b.py"])

    assert said("skip", "--source", "files").stdout == "Skipped 2 items.\n"
    assert states(failed, "files") == {"skip": 2}
    assert [entry.to_state for entry in failed.history(failed.find("a.py")[0])][-2:] == ["pending", "skip"]
    refused = said("skip", "topic 0")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "topic 0 was left in the state failed: its lifecycle does not allow skipping" in refused.stderr


def test_without_a_terminal_reset_asks_nobody_and_does_nothing(
    failed: detent.Detent, ran: Callable[..., Result]
) -> None:
    """ANCESTORS 43: the program asked a question on the terminal, at night, under cron."""
    result = ran("reset", "--all", stdin=subprocess.PIPE)

    assert result.returncode == 2
    assert "There is no terminal to confirm on, so nothing was done. Add --yes" in result.stderr
    assert states(failed) == {"pending": 2, "success": 1, "failed": 3}


def test_on_a_terminal_reset_asks(failed: detent.Detent, terminal: Callable[..., Any]) -> None:
    screen = terminal("reset", "--source", "topics")
    screen.wait_for("Reset 6 items to the start of the lifecycle? [y/N]")
    screen.press("n\n")
    assert screen.end() == 130
    assert "Nothing was done." in screen.shown
    assert "Error" not in screen.shown
    assert states(failed) == {"pending": 2, "success": 1, "failed": 3}

    screen = terminal("reset", "topic 3")
    screen.wait_for("Reset 1 item to the start of the lifecycle? [y/N]")
    screen.press("y\n")
    assert screen.end() == 0
    assert states(failed) == {"pending": 3, "failed": 3}


def test_more_items_than_a_page_are_all_sent_round(opened: detent.Detent, said: Callable[..., Result]) -> None:
    opened.declare("topics", "Topic", TOPIC)
    opened.add("topics", "Topic", [f"topic {n}" for n in range(5001)])
    items = opened.claim(TOPIC, "pending", owner="somebody", limit=5001)
    opened.settle([(item, detent.Failed("no")) for item in items])

    assert said("retry", "--all").stdout == "Retried 5,001 items.\n"
    assert states(opened) == {"pending": 5001}
