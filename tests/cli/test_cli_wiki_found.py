"""What is found of a wiki says where it stands there, and can be chosen by when it was edited."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage
from tests.sources.wiki.server import WikiServer

Result = subprocess.CompletedProcess[str]

OWL = "It hunts by night.\n== Where & when ==\nIn forests."


@pytest.fixture(params=["api", "dump"])
def loaded(
    request: pytest.FixtureRequest, said: Callable[..., Result], ran: Callable[..., Result], plain: Path
) -> Iterator[None]:
    dump = dumps.write(plain, [DumpedPage("Grey owl?", OWL, edited="2026-01-01T18:43:00Z")])
    with WikiServer({"Grey owl?": OWL}) as wiki:
        place = ("--api", wiki.api) if request.param == "api" else ("--dump", str(dump))
        said("add", "wiki", "birds", *place, "--seed", "Grey owl?")
        assert ran("run").returncode == 0
        yield


@pytest.mark.usefixtures("loaded")
def test_a_hit_links_to_its_page(document: Callable[..., Any]) -> None:
    hits = document("search", "--mode", "text", "forests")["hits"]
    assert [hit["link"] for hit in hits] == ["http://owl.example/wiki/Grey_owl%3F"]


@pytest.mark.usefixtures("loaded")
def test_articles_are_found_by_when_they_were_edited(said: Callable[..., Result]) -> None:
    def keys(*more: str) -> str:
        return said("search", "--mode", "text", "forests", *more).stdout

    assert "Grey owl?" in keys("--since", "2026", "--until", "2026-01")
    assert "Grey owl?" not in keys("--since", "2026-02")
    assert "Grey owl?" not in keys("--until", "2025")
