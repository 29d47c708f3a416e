"""`detent run` while a wiki is away: it says why it waits, and stops at once."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki.server import STALLED, Failing, WikiServer, refusing

Result = subprocess.CompletedProcess[str]
Start = Callable[..., subprocess.Popen[str]]
Until = Callable[[Callable[[], object]], None]
Query = Callable[..., list[Any]]

TITLES = [f"Page {number}" for number in range(150)]  # three batches
SOON = Failing(503, {"Content-Type": "text/html", "Retry-After": "20"}, b"<h1>Back soon</h1>")
LATER_THAN_THE_TEST = Failing(503, {"Content-Type": "text/html", "Retry-After": "59"}, b"<h1>Back soon</h1>")
LATE = Failing(503, {"Content-Type": "text/html", "Retry-After": "3600"}, b"<h1>Back soon</h1>")
BEHIND = refusing("maxlag", "Waiting for a copy: 7.5 seconds behind", {"Retry-After": "3600"})


@pytest.fixture
def added(said: Callable[..., Result], plain: Path) -> Iterator[WikiServer]:
    """A wiki with more seeds than are asked for at once. Those of a category are not fetched before they are loaded."""
    with WikiServer(dict.fromkeys(TITLES, "Text. [[Category:Pages]]")) as wiki:
        assert said("add", "wiki", "birds", "--api", wiki.api, "--category", "Pages", "--depth", "0").returncode == 0
        yield wiki


@pytest.mark.parametrize(
    ("failing", "told"),
    [(LATE, "refused with 503 Service Unavailable: Back soon"), (BEHIND, "is behind with its copies")],
)
def test_the_last_line_of_a_run_tells_why_items_wait(
    ran: Callable[..., Result], added: WikiServer, failing: Failing, told: str
) -> None:
    added.fail_next(failing)
    for _ in range(2):  # the second time, the wiki is not even asked
        result = ran("run", "--no-wait")
        assert result.returncode == 3
        [line] = result.stdout.splitlines()
        assert line.startswith("150 items wait for a later retry, the first until 20")
        assert f"The wiki {added.api} " in line
        assert told in line


def test_a_run_that_waits_for_nothing_ends_however_many_batches_there_are(
    said: Callable[..., Result], ran: Callable[..., Result], plain: Path, query: Query
) -> None:
    titles = [f"Page {number}" for number in range(500)]
    (plain / "seeds").write_text("\n".join(titles))
    with WikiServer(dict.fromkeys(titles, "Text.")) as wiki:
        said("add", "wiki", "birds", "--api", wiki.api, "--seeds-file", "seeds", "--depth", "0")
    result = ran("run", "--no-wait")
    assert result.returncode == 3
    assert "500 items wait for a later retry" in result.stdout
    assert "cannot be reached" in result.stdout
    assert [row.attempt for row in query("SELECT DISTINCT attempt FROM item")] == [0]


def test_a_wiki_that_cannot_be_reached_is_told_while_it_is_waited_for(start: Start, added: WikiServer) -> None:
    added.close()
    process = start("run")
    assert process.stderr is not None
    told = next(line for line in process.stderr if "cannot be reached" in line)
    assert added.host in told
    process.terminate()
    assert process.wait(30) == 143


def test_while_articles_wait_for_their_turn_it_is_told_why_and_until_when(start: Start, added: WikiServer) -> None:
    """Those that were refused are to be tried again later; the others are in the hands of handlers that wait."""
    added.fail_next(SOON, SOON)
    process = start("run")
    assert process.stderr is not None
    told = next(line for line in process.stderr if "refused" in line)
    assert "refused with 503 Service Unavailable: Back soon; next request at 20" in told
    process.kill()


def test_while_what_has_changed_is_asked_for_it_is_told_why_that_takes_so_long(
    ran: Callable[..., Result], start: Start, added: WikiServer
) -> None:
    assert ran("run").returncode == 0
    added.fail_next(SOON)
    process = start("run", "--refresh")
    assert process.stderr is not None
    told = next(line for line in process.stderr if "refused" in line)
    assert "refused with 503 Service Unavailable: Back soon; next request at 20" in told
    process.kill()


def test_on_a_terminal_the_reason_stands_below_the_table(terminal: Callable[..., Any], added: WikiServer) -> None:
    added.fail_next(SOON, SOON)
    screen = terminal("run")
    screen.wait_for("refused with 503 Service Unavailable: Back soon; next request at 20")
    screen.process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_only_waits_for_a_turn_is_let_go_at_once_without_an_attempt(
    start: Start, added: WikiServer, query: Query, number: signal.Signals
) -> None:
    added.fail_next(LATER_THAN_THE_TEST, LATER_THAN_THE_TEST)
    process = start("run")
    assert process.stderr is not None
    next(line for line in process.stderr if "next request at" in line)
    process.send_signal(number)
    assert process.wait(20) == 128 + number
    assert query("SELECT DISTINCT state, attempt FROM item") == [("discovered", 0)]
    assert query("SELECT token FROM lease") == []
    told = {row.reason for row in query("SELECT reason FROM journal")}
    assert "the worker stopped" in told


def test_a_request_that_is_under_way_may_finish(start: Start, until: Until, added: WikiServer, query: Query) -> None:
    added.wait_for_requests(len(added.requests))
    added.fail_next(Failing(), STALLED, LATER_THAN_THE_TEST)  # how titles are spelt, one batch, and another one
    process = start("run")
    added.wait_for_requests(3)
    until(lambda: query("SELECT service FROM pace WHERE held_until > now()"))
    process.terminate()
    assert process.stderr is not None
    next(line for line in process.stderr if "Stopping" in line)
    added.release()
    assert process.wait(20) == 143
    done = query("SELECT key FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article' AND state = 'processed'")
    assert len(done) == 50
    assert query("SELECT token FROM lease") == []
