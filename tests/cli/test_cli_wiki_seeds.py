"""What `detent add wiki` makes of seeds that are not quite titles."""

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

PAGES = {"Owl": "It hunts. [[Category:Birds]]", "Barn owl": "It is an owl. [[Category:Birds of Europe]]"}


@pytest.fixture
def plain(project: Path) -> Path:
    settings = (project / "detent.toml").read_text()
    (project / "detent.toml").write_text(settings.replace('modules = ["handlers"]', ""))
    return project


@pytest.fixture
def wiki(plain: Path) -> Iterator[WikiServer]:
    with WikiServer(PAGES) as running:
        yield running


def test_a_seed_may_be_the_address_of_its_page(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer
) -> None:
    page, other = f"http://{wiki.host}/wiki/Barn_owl#Food", f"http://{wiki.host}/w/index.php?title=Owl"
    added = said("add", "wiki", "birds", "--api", wiki.api, "--seed", page, "--seed", other)
    assert added.returncode == 0, added.stderr
    [source] = document("sources")["sources"]
    assert source["settings"]["seeds"] == ["Barn owl", "Owl"]


def test_the_address_of_a_page_elsewhere_is_no_seed(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer
) -> None:
    page = "https://de.wikipedia.org/wiki/Gro%C3%9Fe_Eule"
    told = said("add", "wiki", "birds", "--api", wiki.api, "--seed", page).stderr
    assert told.startswith(
        f"{page} is no address of a page of {wiki.host}. A seed is a title, such as 'Gro\u00dfe Eule'."
    )
    assert document("sources")["sources"] == []


def test_the_address_of_a_page_is_no_seed_of_a_dump(said: Callable[..., Result], plain: Path, tmp_path: Path) -> None:
    dump = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in PAGES.items()])
    told = said("add", "wiki", "birds", "--dump", str(dump), "--seed", "https://wiki.example/wiki/Owl").stderr
    assert told.startswith("https://wiki.example/wiki/Owl is an address. A seed is a title, such as 'Owl'.")


def test_an_address_with_https_where_http_is_spoken_is_told(said: Callable[..., Result], wiki: WikiServer) -> None:
    told = said("add", "wiki", "birds", "--api", wiki.api.replace("http:", "https:"), "--seed", "Owl").stderr
    assert told.splitlines() == [
        f"The wiki https://{wiki.host}/w/api.php does not speak https there; try http://{wiki.host}/w/api.php."
    ]
