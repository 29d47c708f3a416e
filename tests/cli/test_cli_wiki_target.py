"""A wiki's target: what is beyond it is held back, and that is told."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki.server import STALLED, Failing, WikiServer

Result = subprocess.CompletedProcess[str]

PAGES = {"Owl": "It hunts [[mouse|mice]] in the [[forest]].", "Mouse": "Small.", "Forest": "Trees."}


@pytest.fixture
def wiki(plain: Path) -> Iterator[WikiServer]:
    with WikiServer(PAGES) as running:
        yield running


def test_what_is_beyond_the_target_is_held_back_and_does_not_wait(
    said: Callable[..., Result], ran: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer
) -> None:
    said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl", "--target", "2")
    result = ran("run")
    assert result.returncode == 0
    assert "birds/Article claimed: 2 of 2 done" in result.stderr

    told = said("status").stdout
    totals = document("status")["totals"]

    assert any(line.split()[-4:] == ["discovered", "1", "held", "back"] for line in told.splitlines())
    assert "1 held back" in told
    assert "--target" in told
    assert (totals["waiting"], totals["held_back"]) == (0, 1)
    said("add", "wiki", "birds", "--target", "3")
    assert ran("run").returncode == 0
    totals = document("status")["totals"]
    assert (totals["waiting"], totals["held_back"]) == (0, 0)
    assert "held back" not in said("status").stdout


def test_a_target_below_what_is_loaded_says_that_no_other_is_loaded(
    said: Callable[..., Result], ran: Callable[..., Result], wiki: WikiServer
) -> None:
    full = "loaded already: no other is until --target is raised."
    added = said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl", "--target", "2")
    assert added.stdout.endswith("`detent run` loads them.\n")
    assert ran("run").returncode == 0
    assert said("add", "wiki", "birds", "--target", "1").stdout.endswith(f"2 articles are {full}\n")
    assert said("add", "wiki", "birds", "--target", "2").stdout.endswith(f"2 articles are {full}\n")
    assert said("add", "wiki", "birds", "--target", "3").stdout.endswith("`detent run` loads them.\n")


def test_a_target_that_is_lowered_beside_a_run_is_heeded_by_it(
    said: Callable[..., Result], start: Callable[..., subprocess.Popen[str]], document: Callable[..., Any], plain: Path
) -> None:
    titles = [f"Page {number}" for number in range(1_000)]
    with WikiServer(dict.fromkeys(titles, "Text. [[Category:Pages]]")) as wiki:
        said("add", "wiki", "pages", "--api", wiki.api, "--category", "Pages", "--depth", "0", "--target", "900")
        wiki.wait_for_requests(len(wiki.requests))
        wiki.fail_next(Failing(), STALLED, STALLED)  # how titles are spelt, and two batches
        running = start("run")
        wiki.wait_for_requests(3)
        said("add", "wiki", "pages", "--target", "60")
        wiki.release()
        assert running.wait(60) == 0
    [expansion] = document("status")["expansions"]
    assert 60 <= expansion["loaded_count"] <= 200  # four batches were under way
