"""A graph grows from the pages of a real MediaWiki: over its API, out of the dumps that it writes, undisturbed and
killed over and over. It is the same graph every time."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.mediawiki.expanding import Expansion, Project
from tests.mediawiki.mediawiki import MediaWiki
from tests.mediawiki.packing import FORMS, pack
from tests.mediawiki.pages import ODD_TITLES, SEEDS

FEWEST_KILLS = 4

OTHER_NAMES = {
    **dict.fromkeys(("Owls", "Night birds", "Third hand", "Said otherwise", "Spelled"), "Owl"),
    **{f"Too long a way {number}": "Owl" for number in (1, 2, 3, 4)},
    "Late": "Night",
    "Late again": "Night",
    "To many meanings": "Mercury",
    "To a list": "List of owls",
    "To an odd title": "AT&T",
    "Ümlaut": "Öl",
}
"""What each other name stands for."""

NO_ARTICLES = {
    *("Loop 1", "Loop 2", "Turn 1", "Turn 2", "Turn 3", "Itself"),
    *("To nowhere", "To help", "To a category", "To a special page", "To another wiki"),
    *("Mercury", "/Sky", "Cheese", "Unseen", "Book in a reference", "Link in a caption"),
    *("Link in a template", "Deeper link"),
}

FAULTS = {
    "Owl's nesst": 'Did you mean "Owl\'s nest"?',
    "Mercury": "Mercury is a disambiguation page. Did you mean 'Star' or 'Moon'?",
    "Loop 1": "loop",
    "Help:Owls": "Help:Owls is no article.",
    "To nowhere": "A page that is missing",
    "Owl[s": "",
}
"""Seeds that are none, and what is said of each."""


@pytest.fixture(scope="module")
def places(wiki: MediaWiki, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The ways to the same wiki, as the command line is told of them."""
    folder = tmp_path_factory.mktemp("dumps")
    return {"api": ["--api", wiki.api]} | {form: ["--dump", str(pack(wiki.dump(), folder, form))] for form in FORMS}


@pytest.fixture(scope="module")
def known() -> dict[str, Expansion]:
    """What came of the ways that were gone before."""
    return {}


@pytest.fixture
def expanded(
    make_project: Callable[[], Project], places: dict[str, list[str]], known: dict[str, Expansion]
) -> Callable[[str], Expansion]:
    """Expands the seeds in one of the ways, undisturbed, once."""

    def expand(way: str) -> Expansion:
        if way not in known:
            project = make_project()
            project.add(SEEDS, *places[way])
            project.run()
            known[way] = project.result()
        return known[way]

    return expand


@pytest.mark.parametrize("form", FORMS)
def test_a_dump_gives_the_same_graph_as_the_api(expanded: Callable[[str], Expansion], form: str) -> None:
    expanded(form).require(expanded("api"))


def test_every_title_becomes_what_it_is(expanded: Callable[[str], Expansion]) -> None:
    result = expanded("api")
    ends = dict(result.ends)
    assert {title: ends.get(title) for title in ODD_TITLES} == dict.fromkeys(ODD_TITLES, "processed")
    assert {row[0]: row[3] for row in result.content if row[2] == "another name"} == OTHER_NAMES
    failed = {title for title, state in ends.items() if state == "failed" and not title.startswith("Article ")}
    assert failed == NO_ARTICLES
    reached = sum(title.startswith("Article ") and state == "processed" for title, state in ends.items())
    assert 100 < reached < 300  # some are further away


@pytest.mark.parametrize("way", ["api", "multistream"])
def test_killed_over_and_over_it_comes_to_the_same_graph(
    make_project: Callable[[], Project], expanded: Callable[[str], Expansion], places: dict[str, list[str]], way: str
) -> None:
    chance = random.Random(f"kills {way}")
    project = make_project()
    project.add(SEEDS, *places[way])
    kills = 0
    while project.run_and_kill(project.progress() + chance.randrange(20, 100), chance.uniform(0, 0.1)):
        kills += 1
    assert kills >= FEWEST_KILLS
    project.result().require(expanded(way))


def test_only_the_wiki_itself_tells_what_all_prefixes_mean(
    make_project: Callable[[], Project], places: dict[str, list[str]]
) -> None:
    """This is what is left out of the comparison: no dump tells of other wikis, nor what namespaces are called besides.
    A link with such a prefix is there one to an article, which there is not."""
    linked = {}
    for way in ("api", "xml"):
        project = make_project()
        project.add(["Prefixes"], *places[way], depth=0)
        project.run()
        linked[way] = {key for (key,) in project.ask("SELECT key FROM reference WHERE type = 'LINKS_TO'")}
        assert ("Prefixes", "processed") in project.result().ends
    assert linked["api"] == {"Owl", "Night: A Life"}
    unknown = {"Wikipedia:Owl", "Commons:Owls", "Mw:Help", "Doi:10.1000/1", "Alm:About", "Picture book:Night.jpg"}
    assert linked["xml"] == linked["api"] | unknown


@pytest.mark.parametrize("way", ["api", *FORMS])
def test_seeds_that_are_no_articles_are_refused_with_what_may_have_been_meant(
    make_project: Callable[[], Project], places: dict[str, list[str]], way: str
) -> None:
    project = make_project()
    seeds = [word for seed in ("Owl", *FAULTS) for word in ("--seed", seed)]
    result = project.command("add", "wiki", "owls", *places[way], *seeds)
    assert result.returncode != 0
    *faults, last = result.stderr.strip().splitlines()
    assert last == "Nothing was added."
    assert len(faults) == len(FAULTS)
    assert [told for told, fault in zip(FAULTS.values(), faults, strict=True) if told not in fault] == []
    assert project.ask("SELECT name FROM source") == []


@pytest.mark.parametrize("way", ["api", *FORMS])
def test_a_seed_by_another_name_is_taken_for_its_article(
    make_project: Callable[[], Project], places: dict[str, list[str]], way: str
) -> None:
    project = make_project()
    result = project.command("add", "wiki", "owls", *places[way], "--seed", "third hand", "--seed", "_owl's_nest_")
    assert result.returncode == 0, result.stderr
    assert "third hand is Owl in this wiki." in result.stdout
    [(settings,)] = project.ask("SELECT settings FROM source")
    assert settings["seeds"] == ["Owl", "Owl's nest"]
