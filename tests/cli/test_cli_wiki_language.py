"""The words of a wiki are brought to their stems in the language that it says it is written in."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage
from tests.sources.wiki.server import WikiServer

Result = subprocess.CompletedProcess[str]

PAGES = {"Waldkauz": "Er schläft in hohlen Bäumen.", "Elster": "Sie mag Silber."}


def test_a_german_wiki_is_searched_in_german(ran: Callable[..., Result], plain: Path) -> None:
    with WikiServer(PAGES, language="de") as wiki:
        added = ran("add", "wiki", "vögel", "--api", wiki.api, "--seed", "Waldkauz", "--seed", "Elster")
        assert added.returncode == 0, added.stderr
        assert ran("run").returncode == 0
        found = ran("search", "--mode", "text", "baum")
        assert "Waldkauz" in found.stdout
        assert "Elster" not in found.stdout


@pytest.mark.parametrize(
    ("code", "options", "language"),
    [
        ("en", (), "english"),
        ("pt-BR", (), "portuguese"),
        ("ja", (), None),
        ("", (), None),
        ("en", ("--language", "simple"), "simple"),
        ("ja", ("--language", "german"), "german"),
    ],
)
@pytest.mark.parametrize("way", ["api", "dump"])
def test_what_is_said_of_the_language_counts_and_otherwise_what_the_wiki_says(
    document: Callable[..., Any],
    said: Callable[..., Result],
    plain: Path,
    *,
    way: str,
    code: str,
    options: tuple[str, ...],
    language: str | None,
) -> None:
    pages = [DumpedPage(title, text) for title, text in PAGES.items()]
    dump = dumps.write(plain, pages, wiki=dumps.Wiki(language=code))
    with WikiServer(PAGES, language=code) as wiki:
        place = ("--api", wiki.api) if way == "api" else ("--dump", str(dump))
        said("add", "wiki", "birds", *place, "--seed", "Elster", *options)
        said("add", "wiki", "birds", "--add-seed", "Waldkauz")
    [source] = document("sources")["sources"]
    assert source["settings"]["seeds"] == ["Elster", "Waldkauz"]
    assert source["settings"]["language"] == language


def test_a_language_that_the_server_has_no_rules_for_is_not_taken(
    document: Callable[..., Any], said: Callable[..., Result], plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detent.sources.wiki.languages.searched_as", lambda code: "volapuk")
    with WikiServer(PAGES, language="vo") as wiki:
        assert said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Elster").returncode == 0
    [source] = document("sources")["sources"]
    assert source["settings"]["language"] is None
