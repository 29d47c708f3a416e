"""`detent run` while a wiki is away: it says why it waits."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki.server import Failing, WikiServer, refusing

Result = subprocess.CompletedProcess[str]
Start = Callable[..., subprocess.Popen[str]]

TITLES = [f"Page {number}" for number in range(120)]
SOON = Failing(503, {"Content-Type": "text/html", "Retry-After": "20"}, b"<h1>Back soon</h1>")
LATE = Failing(503, {"Content-Type": "text/html", "Retry-After": "3600"}, b"<h1>Back soon</h1>")
BEHIND = refusing("maxlag", "Waiting for a copy: 7.5 seconds behind", {"Retry-After": "3600"})


@pytest.fixture
def added(said: Callable[..., Result], project: Path) -> Iterator[WikiServer]:
    """A wiki with more seeds than are asked for at once."""
    settings = (project / "detent.toml").read_text()
    (project / "detent.toml").write_text(settings.replace('modules = ["handlers"]', ""))
    (project / "seeds").write_text("\n".join(TITLES))
    with WikiServer(dict.fromkeys(TITLES, "Text.")) as wiki:
        assert said("add", "wiki", "birds", "--api", wiki.api, "--seeds-file", "seeds", "--depth", "0").returncode == 0
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
        assert line.startswith("120 items wait for a later retry, the first until 20")
        assert f"The wiki {added.api} " in line
        assert told in line


def test_a_wiki_that_cannot_be_reached_is_told_while_it_is_waited_for(start: Start, added: WikiServer) -> None:
    added.close()
    process = start("run")
    assert process.stderr is not None
    told = next(line for line in process.stderr if "cannot be reached" in line)
    assert added.host.partition(":")[0] in told
    process.terminate()
    assert process.wait(30) == 143


def test_while_articles_wait_for_their_turn_it_is_told_why_and_until_when(start: Start, added: WikiServer) -> None:
    """Those that were refused are to be tried again later; the others are in the hands of handlers that wait."""
    added.fail_next(SOON, SOON)
    process = start("run")
    assert process.stderr is not None
    told = next(line for line in process.stderr if "refused" in line)
    assert "refused with 503 Service Unavailable: Back soon; it is asked again at 20" in told
    process.kill()


def test_on_a_terminal_the_reason_stands_below_the_table(terminal: Callable[..., Any], added: WikiServer) -> None:
    added.fail_next(SOON, SOON)
    screen = terminal("run")
    screen.wait_for("refused with 503 Service Unavailable: Back soon; it is asked again at 20")
    screen.process.kill()
