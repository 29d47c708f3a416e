"""The wiki source: from seeds along links to a graph of articles, over the API and out of a dump."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage
from tests.sources.wiki.server import AWAY, LAGGED, WikiServer, limited

import detent
from detent.errors import DiscoveryFailed
from detent.sources.wiki import nodes
from detent.sources.wiki.dump import catalogue
from detent.sources.wiki.settings import WikiSettings, is_wikimedia
from detent.sources.wiki.source import make

Query = Callable[..., list[Any]]

OWLS = {
    "Owl": (
        "An '''owl''' is a [[bird]] of the [[night]].{{Infobox bird|name=Owl|food=[[mouse|mice]]}}\n"
        "== Habitat ==\nIn the [[Forest]], and in [[forest|woods]].\n=== Nest ===\nIn a hollow [[tree]].\n"
        "== See also ==\n* [[Bat]]\n* [[List of owls]]\n* [[Owl (disambiguation)]]\n* [[File:Owl.jpg]]\n"
        "[[Category:Birds]]\n[[Category:Stubs]]"
    ),
    "Bird": "A '''bird''' has feathers. See [[Feather]] and [[Owl]].\n[[Category:Animals]]",
    "Night": "#REDIRECT [[Night time]]",
    "Night time": "The time without the [[Sun]].",
    "Forest": "Many a [[tree]].",
    "Tree": "#REDIRECT [[Trees]]",
    "Trees": "#REDIRECT [[Tree]]",
    "Bat": "__DISAMBIG__ A [[Club]] or a [[mammal]].",
    "Feather": "It is light.",
    "Sun": "A star.",
    "Category:Stubs": "__HIDDENCAT__",
}
"""`Mouse` is missing, `Tree` and `Trees` lead to each other."""


@pytest.fixture
def expand(database: str) -> Callable[..., detent.Report]:
    def run(name: str = "wiki", /, **settings: Any) -> detent.Report:
        source = make(name, WikiSettings(**settings).as_data())
        with detent.open(database=database, sources=source) as db:
            return db.run(wait=False)

    return run


@pytest.fixture
def states(query: Query) -> Callable[[], dict[str, str]]:
    def read() -> dict[str, str]:
        rows = query("SELECT key, state, priority FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article'")
        return {row.key: f"{row.state} {row.priority}" for row in rows}

    return read


EXPECTED = {
    "Owl": "processed 0",
    "Bird": "processed 1",
    "Night": "loaded 1",
    "Night time": "processed 1",
    "Mouse": "failed 1",
    "Forest": "processed 1",
    "Tree": "failed 1",
    "Bat": "failed 1",
    "Feather": "processed 2",
    "Sun": "processed 2",
}


def test_a_graph_grows_from_its_seeds_to_the_depth_that_is_asked_for(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]]
) -> None:
    with WikiServer(OWLS) as wiki:
        expand(api=wiki.api, seeds=("Owl",), depth=2)
    assert states() == EXPECTED


@pytest.mark.parametrize("form", ["multistream", "xml", "gz"])
def test_a_dump_gives_the_same_graph(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]], tmp_path: Path, form: str
) -> None:
    path = dumps.write(tmp_path, _dumped(OWLS), form=form)
    expand(dump=path, cache=tmp_path / "cache", seeds=("Owl",), depth=2)
    assert states() == EXPECTED


def _dumped(pages: Mapping[str, str]) -> list[DumpedPage]:
    found = []
    for title, text in pages.items():
        redirect = text.partition("[[")[2].partition("]]")[0] if text.startswith("#REDIRECT") else None
        namespace = 14 if title.startswith("Category:") else 0
        found.append(DumpedPage(title, text, namespace=namespace, redirect=redirect))
    return found


def test_a_redirect_with_words_before_its_link_is_an_article_by_both_ways(
    expand: Callable[..., detent.Report], query: Query, tmp_path: Path
) -> None:
    pages = {"Owl": "#REDIRECT that which hunts the [[mouse]].", "Mouse": "Small."}
    found = []
    path = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in pages.items()])
    with WikiServer(pages) as wiki:
        for name, way in (("api", {"api": wiki.api}), ("dump", {"dump": path, "cache": tmp_path / "cache"})):
            expand(name, seeds=("Owl",), depth=1, **way)
            rows = query(
                "SELECT key, state FROM item JOIN kind ON kind.id = kind_id JOIN source ON source_id = source.id "
                "WHERE name = %s AND label = 'Article'",
                name,
            )
            found.append({row.key: row.state for row in rows})
    assert found == [{"Owl": "processed", "Mouse": "processed"}] * 2


def test_all_of_a_dump_is_taken_where_no_seeds_are_given(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    path = dumps.write(tmp_path, _dumped(OWLS))
    expand(dump=path, cache=tmp_path / "cache")
    taken = {key: f"{state.split()[0]} 0" for key, state in EXPECTED.items() if key != "Mouse"} | {"Trees": "failed 0"}
    assert {key: state for key, state in states().items() if key != "Mouse"} == taken


def test_a_dump_that_is_cut_off_is_read_once_and_not_for_each_of_its_articles(
    expand: Callable[..., detent.Report], query: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [DumpedPage(f"Owl {number}", f"Owl {number}.") for number in range(120)]
    path = dumps.write(tmp_path, pages, "multistream-bare", per=10)
    path.write_bytes(path.read_bytes()[:-40])
    made: list[Path] = []
    truly = catalogue.make

    def counted(place: Path, source: Path, pages: Iterable[catalogue.Pages]) -> catalogue.Catalogue:
        made.append(place)
        return truly(place, source, pages)

    monkeypatch.setattr(catalogue, "make", counted)
    with pytest.raises(DiscoveryFailed, match="it ends before its end"):
        expand(dump=path, cache=tmp_path / "cache")
    rows = query("SELECT state FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article'")
    assert len(rows) >= 110
    assert {row.state for row in rows} == {"failed"}
    assert len(made) == 1


def test_an_article_is_its_sections_links_and_categories(expand: Callable[..., detent.Report], database: str) -> None:
    with WikiServer(OWLS) as wiki:
        expand(api=wiki.api, seeds=("Owl",), depth=1)
    with detent.open(database=database) as db:
        [found] = db.graph.find("Owl", label="Article")
        owl = db.graph.node(found.id)
        hit = db.search('"hollow tree"').hits[0]
    assert owl.properties["infobox"] == {"name": "Owl", "food": "mice"}
    assert owl.properties["categories"] == ["Birds"]
    assert owl.properties["hidden_categories"] == ["Stubs"]
    assert (hit.key, hit.passage) == ("Owl", "Owl#Nest")


def test_links_keep_their_order_their_section_and_their_kind(
    expand: Callable[..., detent.Report], query: Query
) -> None:
    with WikiServer(OWLS) as wiki:
        expand(api=wiki.api, seeds=("Owl",), depth=0)
    rows = query(
        "SELECT reference.key, type, properties FROM reference JOIN item ON item.id = item_id "
        "WHERE item.key = 'Owl' ORDER BY position"
    )
    assert [(row.key, row.type, row.properties) for row in rows] == [
        ("Bird", "LINKS_TO", {"link_type": "internal"}),
        ("Night", "LINKS_TO", {"link_type": "internal"}),
        ("Mouse", "LINKS_TO", {"link_type": "internal"}),
        ("Forest", "LINKS_TO", {"link_type": "internal", "section": "Habitat"}),
        ("Tree", "LINKS_TO", {"link_type": "internal", "section": "Nest"}),
        ("Bat", "LINKS_TO", {"link_type": "see_also", "section": "See also"}),
        ("Birds", "IN_CATEGORY", {"link_type": "category"}),
    ]


def test_a_link_to_another_name_leads_to_the_article(expand: Callable[..., detent.Report], query: Query) -> None:
    with WikiServer(OWLS) as wiki:
        expand(api=wiki.api, seeds=("Owl",), depth=1)
    rows = query(
        "SELECT target.key FROM edge JOIN item origin ON origin.id = edge.from_id JOIN item target "
        "ON target.id = edge.to_id WHERE edge.type = 'LINKS_TO' AND origin.key = 'Owl'"
    )
    assert {row.key for row in rows} == {"Bird", "Night time", "Forest"}


def test_a_greater_depth_goes_on_without_asking_again(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]]
) -> None:
    with WikiServer(OWLS) as wiki:
        expand(api=wiki.api, seeds=("Owl",), depth=1)
        before = len(wiki.requests)
        expand(api=wiki.api, seeds=("Owl",), depth=2)
        asked = [each.parameters.get("titles", "") for each in wiki.requests[before:]]
    assert states() == EXPECTED
    assert not any("Owl" in titles or "Bird" in titles for titles in asked)


def test_a_greater_depth_sends_articles_at_the_frontier_round_and_no_others(
    expand: Callable[..., detent.Report], query: Query
) -> None:
    with WikiServer(OWLS) as wiki:
        expand(api=wiki.api, seeds=("Owl",), depth=1)
        before = len(wiki.requests)
        expand(api=wiki.api, seeds=("Owl",), depth=2)
        fetched = {title for each in wiki.requests[before:] for title in each.parameters.get("titles", "").split("|")}
    assert fetched - {""} == {"Feather", "Sun"}
    rows = query("SELECT DISTINCT key FROM journal JOIN item ON item.id = item_id WHERE reason = 'changed'")
    assert {row.key for row in rows} == {"Bird", "Night time", "Forest"}


def test_more_links_are_followed_without_asking_again(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]]
) -> None:
    with WikiServer(OWLS) as wiki:
        expand(api=wiki.api, seeds=("Owl",), depth=1, max_links=1)
        assert set(states()) == {"Owl", "Bird"}
        before = len(wiki.requests)
        expand(api=wiki.api, seeds=("Owl",), depth=1, max_links=4)
        asked = [each.parameters.get("titles", "") for each in wiki.requests[before:]]
    assert set(states()) == {"Owl", "Bird", "Night", "Night time", "Mouse", "Forest"}
    assert not any("Owl" in titles or "Bird" in titles for titles in asked)


def test_another_size_of_passages_makes_articles_anew_and_the_same_one_does_not(
    expand: Callable[..., detent.Report], query: Query
) -> None:
    pages = {"Owl": " ".join(f"Owl number {number} hoots at the [[moon]]." for number in range(40)), "Moon": "Pale."}
    with WikiServer(pages) as wiki:
        settings: dict[str, Any] = {"api": wiki.api, "seeds": ("Owl",), "depth": 1}
        asked = []
        for size in (2000, 2000, 300):
            before = len(wiki.requests)
            expand(**settings, passage_size=size)
            told = [each.parameters.get("titles", "").split("|") for each in wiki.requests[before:]]
            asked.append(sorted(title for titles in told for title in titles if title))
    assert asked[1:] == [[], ["Moon", "Owl"]]
    assert len(query("SELECT id FROM item WHERE key LIKE 'Owl#~%'")) > 3


def test_another_version_of_the_parser_makes_articles_anew(
    expand: Callable[..., detent.Report], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, query: Query
) -> None:
    path = dumps.write(tmp_path, _dumped(OWLS))
    settings: dict[str, Any] = {"dump": path, "cache": tmp_path / "cache", "seeds": ("Owl",), "depth": 1}
    expand(**settings)
    monkeypatch.setattr(nodes, "VERSION", nodes.VERSION + 1)
    monkeypatch.setattr(nodes, "IN_CATEGORY", "FILED_UNDER")
    expand(**settings)
    types = {
        row.type for row in query("SELECT type FROM reference JOIN item ON id = item_id WHERE state = 'processed'")
    }
    assert types == {"LINKS_TO", "FILED_UNDER"}


def test_the_target_counts_articles_and_the_others_wait(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]]
) -> None:
    with WikiServer(OWLS) as wiki:
        expand(api=wiki.api, seeds=("Owl",), depth=2, target=3)
        assert sorted(state.split()[0] for state in states().values()).count("processed") == 3
        expand(api=wiki.api, seeds=("Owl",), depth=2, target=100)
    assert states() == EXPECTED


@pytest.mark.parametrize("way", ["api", "dump"])
def test_links_are_followed_in_their_order_up_to_the_target(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]], tmp_path: Path, way: str
) -> None:
    named = ["Wing", "Beak", "Egg", "Talon", "Air", "Nest"]
    pages = {"Owl": " ".join(f"[[{name}]]" for name in named), **dict.fromkeys(named, "Of an [[owl]].")}
    path = dumps.write(tmp_path, _dumped(pages))
    with WikiServer(pages) as wiki:
        place: dict[str, dict[str, Any]] = {
            "api": {"api": wiki.api},
            "dump": {"dump": path, "cache": tmp_path / "cache"},
        }
        expand(**place[way], seeds=("Owl",), depth=1, target=4)
    loaded = {title for title, state in states().items() if state.startswith("processed")}
    assert loaded == {"Owl", "Wing", "Beak", "Egg"}


def test_what_fails_for_a_while_is_tried_again(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]], database: str
) -> None:
    with WikiServer(OWLS) as wiki:
        wiki.fail_next(AWAY, limited("0"))
        source = make("wiki", WikiSettings(api=wiki.api, seeds=("Owl",), depth=2).as_data())
        with detent.open(database=database, sources=source) as db:
            db.run()
    assert states() == EXPECTED


def test_a_thousand_articles_take_a_few_dozen_requests(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]]
) -> None:
    pages = {f"Page {number}": f"See [[page {number + 1}]]." for number in range(1000)}
    pages["Start"] = " ".join(f"[[page {number}]]" for number in range(1000))
    with WikiServer(pages) as wiki:
        expand(api=wiki.api, seeds=("Start",), depth=1, max_links=2000)
        assert len(wiki.requests) <= 36
    assert len(states()) == 1001


@pytest.mark.parametrize(
    ("host", "expected"), [("de.wikipedia.org", True), ("wikipedia.org.evil.example", False), ("localhost", False)]
)
def test_the_wikis_that_want_to_know_who_asks_are_known(host: str, expected: bool) -> None:
    assert is_wikimedia(host) is expected


def test_refreshing_takes_what_was_edited_moved_and_deleted_and_nothing_else(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]], database: str
) -> None:
    with WikiServer(OWLS) as wiki:
        settings = {"api": wiki.api, "seeds": ("Owl",), "depth": 1}
        expand(**settings)
        wiki.edit("Bird", "A bird sings at dawn.")
        wiki.move("Forest", "Wood")
        wiki.delete("Night time")
        before = len(wiki.requests)
        source = make("wiki", WikiSettings(**settings).as_data())  # type: ignore[arg-type]
        with detent.open(database=database, sources=source) as db:
            assert db.refresh() == 4
            db.run(wait=False)
            assert db.refresh() == 0
            assert [hit.key for hit in db.search("sings at dawn", mode="text").hits] == ["Bird"]
            assert not db.search('"without the sun"', mode="text").hits
            assert db.graph.find("Forest")[0].key == "Wood"
        fetched = [each.parameters for each in wiki.requests[before:] if "revisions" in each.parameters.get("prop", "")]
    asked = {title for each in fetched for title in each["titles"].split("|")}
    assert asked == {"Bird", "Forest", "Night", "Night time"}  # what Forest is now came along with it


def test_an_article_that_is_moved_stays_where_the_target_is_reached(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]], database: str
) -> None:
    pages = {"Owl": "".join(f"[[Page {number}]]" for number in range(9)), **{f"Page {n}": "Text." for n in range(9)}}
    with WikiServer(pages) as wiki:
        settings = {"api": wiki.api, "seeds": ("Owl",), "depth": 1, "target": 4}
        expand(**settings)
        wiki.move("Page 1", "Zebra")
        source = make("wiki", WikiSettings(**settings).as_data())  # type: ignore[arg-type]
        with detent.open(database=database, sources=source) as db:
            db.refresh()
            db.run(wait=False)
    loaded = {title for title, state in states().items() if state.startswith("processed")}
    assert loaded == {"Owl", "Page 0", "Zebra", "Page 2"}


def test_a_dump_of_wikipedia_knows_the_other_wikis(
    expand: Callable[..., detent.Report], states: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    wiki = dumps.Wiki(base="https://en.wikipedia.org/wiki/Main_Page")
    page = DumpedPage("Owl", "A [[bird]]. [[de:Eule]] [[:fr:Hibou]] [[wikt:owl]] [[commons:Owls]] [[Batman: Year One]]")
    path = dumps.write(tmp_path, [page], wiki=wiki)
    expand(dump=path, cache=tmp_path / "cache", seeds=("Owl",), depth=1)
    assert set(states()) == {"Owl", "Bird", "Batman: Year One"}


def test_a_wiki_that_is_away_for_long_costs_no_article_an_attempt(
    states: Callable[[], dict[str, str]], database: str, query: Query
) -> None:
    with WikiServer(OWLS) as wiki:
        wiki.fail_next(*[limited("0")] * 3, AWAY, LAGGED)
        source = make("wiki", WikiSettings(api=wiki.api, seeds=("Owl",), depth=1).as_data())
        with detent.open(database=database, sources=source) as db:
            db.run()
    assert states()["Owl"] == "processed 0"
    told = query("SELECT attempt, reason FROM journal WHERE to_state = 'discovered' AND reason <> 'changed'")
    assert len(told) >= 5
    assert {row.attempt for row in told} == {1}


def test_a_dump_that_is_away_costs_no_article_an_attempt(database: str, query: Query, tmp_path: Path) -> None:
    path = dumps.write(tmp_path, [DumpedPage("Owl", "It hunts.")])
    source = make("wiki", WikiSettings(dump=path, seeds=("Owl",)).as_data())
    with detent.open(database=database, sources=source) as db:
        db.discover()
    path.rename(tmp_path / "away")
    again = make("wiki", WikiSettings(dump=path, seeds=("Owl",)).as_data())
    with detent.open(database=database, sources=again) as db, pytest.raises(DiscoveryFailed, match="There is no dump"):
        db.run(wait=False)
    [owl] = query("SELECT item.state, attempt, message FROM item JOIN failure ON failure.item_id = item.id")
    assert (owl.state, owl.attempt) == ("discovered", 0)
    assert "There is no dump" in owl.message
