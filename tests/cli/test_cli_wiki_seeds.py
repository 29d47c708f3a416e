"""What `detent add wiki` makes of seeds that are not quite titles."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage
from tests.sources.wiki.server import Failing, WikiServer

Result = subprocess.CompletedProcess[str]

PAGES = {
    "Owl": "It hunts. [[Category:Birds]]",
    "Barn owl": "It is an owl. [[Category:Birds of Europe]]",
    "Category:Birdsong": "Nothing is in it.",
    "Machine learning": "It learns.",
    "Mercury": "__DISAMBIG__ [[Mercury (planet)]] or [[Machine learning]].",
}


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


def test_a_category_that_is_given_as_a_title_is_told_as_such(said: Callable[..., Result], wiki: WikiServer) -> None:
    told = said("add", "wiki", "birds", "--api", wiki.api, "--seed", "category:birdsong").stderr
    begins = "Category:Birdsong is a category, and no article. Give it as a category, and its articles are taken.\n"
    assert told.startswith(begins)


def test_a_file_that_is_no_list_of_titles_is_told_in_a_few_lines(
    said: Callable[..., Result], wiki: WikiServer, plain: Path
) -> None:
    (plain / "seeds").write_text("".join(f"<page {number}>{'x' * number * 10}\n" for number in range(1_030)))
    told = said("add", "wiki", "birds", "--api", wiki.api, "--seeds-file", "seeds").stderr.splitlines()
    assert len([line for line in told if line.startswith("<page")]) == 20
    assert told[20:] == ["And 1,010 more.", "Nothing was added."]


@pytest.mark.parametrize("written", ["", "\n \n", "# Owl\n"])
def test_a_file_without_titles_is_told(
    said: Callable[..., Result], wiki: WikiServer, plain: Path, written: str
) -> None:
    (plain / "seeds").write_text(written)
    told = said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl", "--seeds-file", "seeds")
    assert told.returncode == 2
    assert told.stderr == "seeds names no seeds: it has no lines but empty ones and comments.\n"


@pytest.mark.parametrize("code", ["de_DE", "https://de.wikipedia.org", "de.", ""])
def test_what_is_no_code_of_a_language_is_refused_without_asking_anyone(
    said: Callable[..., Result], plain: Path, code: str
) -> None:
    result = said("add", "wiki", "birds", "--lang", code, "--seed", "Owl", "--contact", "me@example.org")
    assert result.returncode == 2
    assert f"such as de or pt, and {code!r} is none." in result.stderr


def test_the_address_of_a_page_elsewhere_is_no_seed(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer
) -> None:
    page = "https://de.wikipedia.org/wiki/Gro%C3%9Fe_Eule"
    told = said("add", "wiki", "birds", "--api", wiki.api, "--seed", page).stderr
    assert told.startswith(
        f"{page} is no address of a page of owl.example. A seed is a title, such as 'Gro\u00dfe Eule'."
    )
    assert document("sources")["sources"] == []


def test_the_address_of_a_page_elsewhere_is_no_seed_of_a_dump(
    said: Callable[..., Result], plain: Path, tmp_path: Path
) -> None:
    dump = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in PAGES.items()])
    told = said("add", "wiki", "birds", "--dump", str(dump), "--seed", "https://wiki.example/wiki/Owl").stderr
    told_of = "https://wiki.example/wiki/Owl is no address of a page of owl.example."
    assert told.startswith(f"{told_of} A seed is a title, such as 'Owl'.")
    nowhere = dumps.write(tmp_path, [DumpedPage("Owl", "It hunts.")], wiki=dumps.Wiki(base="", name="nowhere"))
    told = said("add", "wiki", "birds", "--dump", str(nowhere), "--seed", "https://wiki.example/wiki/Owl").stderr
    assert told.startswith("https://wiki.example/wiki/Owl is an address. A seed is a title, such as 'Owl'.")


def test_an_address_with_https_where_http_is_spoken_is_told(said: Callable[..., Result], wiki: WikiServer) -> None:
    told = said("add", "wiki", "birds", "--api", wiki.api.replace("http:", "https:"), "--seed", "Owl").stderr
    assert told.splitlines() == [
        f"The wiki https://{wiki.host}/w/api.php does not speak https there; try http://{wiki.host}/w/api.php."
    ]


@pytest.mark.parametrize(
    ("category", "near"),
    [("Bird", "'Birds' or 'Birds of Europe'"), ("Category:bird", "'Birds' or 'Birds of Europe'"), ("Brids", None)],
)
def test_categories_that_have_articles_are_suggested_for_one_that_has_none(
    said: Callable[..., Result], wiki: WikiServer, category: str, near: str | None
) -> None:
    told = said("add", "wiki", "birds", "--api", wiki.api, "--category", category).stderr
    hint = f" Did you mean {near}?" if near else ""
    assert told == f"The category {category!r} has no articles.{hint}\nNothing was added.\n"


def test_a_category_with_a_slip_behind_its_beginning_is_found(said: Callable[..., Result], wiki: WikiServer) -> None:
    told = said("add", "wiki", "birds", "--api", wiki.api, "--category", "Birds of Europ").stderr
    assert "Did you mean 'Birds of Europe'?" in told
    told = said("add", "wiki", "birds", "--api", wiki.api, "--category", "Birsd of Europe").stderr
    assert "Did you mean" not in told


@pytest.mark.parametrize("seed", ["Machnie learning", "Mcahine learning", "Amchine learning", "machine Learning"])
def test_a_slip_in_the_first_letters_is_found(
    said: Callable[..., Result], wiki: WikiServer, tmp_path: Path, seed: str
) -> None:
    dump = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in PAGES.items()])
    for where in (("--api", wiki.api), ("--dump", str(dump))):
        told = said("add", "wiki", "birds", *where, "--seed", seed).stderr
        assert "Did you mean 'Machine learning'" in told


@pytest.mark.parametrize("seed", ["Maxhine learning", "Achine learning", "Machine lerning"])
def test_a_letter_that_is_wrong_or_missing_in_the_title_of_a_dump_is_found(
    said: Callable[..., Result], plain: Path, tmp_path: Path, seed: str
) -> None:
    dump = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in PAGES.items()])
    told = said("add", "wiki", "birds", "--dump", str(dump), "--seed", seed).stderr
    assert "Did you mean 'Machine learning'?" in told


def test_no_title_is_suggested_that_does_not_exist(
    said: Callable[..., Result], wiki: WikiServer, tmp_path: Path
) -> None:
    dump = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in PAGES.items()])
    for where in (("--api", wiki.api), ("--dump", str(dump))):
        told = said("add", "wiki", "birds", *where, "--seed", "Mercury").stderr
        assert told.startswith("Mercury is a disambiguation page. Did you mean 'Machine learning'?\n")


def test_a_title_that_is_gone_and_that_the_search_still_knows_is_not_suggested(
    said: Callable[..., Result], wiki: WikiServer
) -> None:
    gone = json.dumps({"query": {"prefixsearch": [{"ns": 0, "title": "Owlet"}], "search": [{"ns": 0, "title": "Owl"}]}})
    wiki.fail_next(Failing(), Failing(), Failing(body=gone.encode()))
    told = said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owle").stderr
    assert "Did you mean 'Owl'?" in told
