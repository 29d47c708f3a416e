"""`detent add wiki`: seeds are checked, and the graph grows from them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage
from tests.sources.wiki.server import CUT, STALLED, Failing, WikiServer, limited

from detent.services.secrets import basic
from detent.sources.wiki import seeding

Result = subprocess.CompletedProcess[str]

PAGES = {
    "Owl": "An owl hunts [[mouse|mice]] in the [[forest]] by night.\n[[Category:Birds]]",
    "Owls": "#REDIRECT [[Owl]]",
    "Mouse": "A mouse eats [[grain]].",
    "Forest": "Trees and more trees.",
    "Grain": "It grows in fields.",
    "Heron": "A grey bird.\n[[Category:Birds]]",
    "Mercury": "__DISAMBIG__ [[Owl]] or [[Mouse]].",
}


@pytest.fixture
def wiki(plain: Path) -> Iterator[WikiServer]:
    with WikiServer(PAGES) as running:
        yield running


def test_a_wiki_is_added_loaded_and_searched(ran: Callable[..., Result], wiki: WikiServer) -> None:
    added = ran("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owls", "--depth", "1")
    assert added.returncode == 0, added.stderr
    assert "Owls is Owl in this wiki." in added.stdout
    result = ran("run")
    assert result.returncode == 0, result.stderr
    assert "Mouse" in ran("search", "what eats grain").stdout
    counts = {" ".join(line.split()) for line in ran("status").stdout.splitlines()}
    assert any("processed 3" in line for line in counts)


def test_while_an_expansion_runs_its_state_and_what_it_has_found_can_be_looked_at(
    said: Callable[..., Result],
    document: Callable[..., Any],
    ran: Callable[..., Result],
    start: Callable[..., subprocess.Popen[str]],
    wiki: WikiServer,
) -> None:
    """ANCESTORS 13."""
    said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl", "--depth", "0")
    assert ran("run").returncode == 0
    said("add", "wiki", "birds", "--depth", "1")
    wiki.wait_for_requests(len(wiki.requests))
    wiki.fail_next(Failing(), STALLED)  # how titles are spelt, and the articles that Owl links to
    running = start("run")
    wiki.wait_for_requests(2)
    [expansion] = document("status")["expansions"]
    states = {each["state"]: each["count"] for each in expansion["distribution"]}
    assert (states["processed"], states["claimed"]) == (1, 2)
    assert "Owl" in said("search", "hunts by night").stdout
    assert "claimed" in said("show", "Mouse").stdout
    assert running.poll() is None
    wiki.release()
    assert running.wait(60) == 0


def test_it_goes_on_with_more_seeds_and_a_greater_depth(
    said: Callable[..., Result], document: Callable[..., Any], ran: Callable[..., Result], wiki: WikiServer
) -> None:
    said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl", "--depth", "0")
    assert ran("run").returncode == 0
    said("add", "wiki", "birds", "--add-seed", "Heron", "--depth", "2")
    [source] = document("sources")["sources"]
    assert (source["settings"]["seeds"], source["settings"]["depth"]) == (["Owl", "Heron"], 2)
    assert ran("run").returncode == 0
    listed = document("items", "--label", "Article", "--state", "processed")
    assert {item["key"] for item in listed["items"]} == {"Owl", "Heron", "Mouse", "Forest", "Grain"}
    assert "can only become greater" in said("add", "wiki", "birds", "--depth", "1").stderr


def test_it_goes_on_with_more_links_of_each_article(
    said: Callable[..., Result], document: Callable[..., Any], ran: Callable[..., Result], wiki: WikiServer
) -> None:
    said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl", "--depth", "1", "--max-links", "1")
    assert ran("run").returncode == 0
    said("add", "wiki", "birds", "--max-links", "5")
    assert ran("run").returncode == 0
    listed = document("items", "--label", "Article", "--state", "processed")
    assert {item["key"] for item in listed["items"]} == {"Owl", "Mouse", "Forest"}


def test_when_the_target_is_reached_all_is_done_and_the_others_are_told(
    said: Callable[..., Result], ran: Callable[..., Result], wiki: WikiServer
) -> None:
    said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl", "--target", "2")
    result = ran("run")
    assert result.returncode == 0
    assert "items are done; 2 more items are beyond the source's limit." in result.stdout


def test_sources_tell_settings_that_are_nothing_and_few_of_many_seeds(
    said: Callable[..., Result], wiki: WikiServer
) -> None:
    for number in range(12):
        wiki.edit(f"Page {number}", "It is short.")
    seeds = [word for number in range(12) for word in ("--seed", f"Page {number}")]
    said("add", "wiki", "birds", "--api", wiki.api, *seeds, "--depth", "0")
    told = said("sources").stdout
    assert "Page 8, Page 9 and 2 more;" in told
    assert " depth 0;" in told


@pytest.mark.parametrize(
    ("seed", "told"),
    [
        ("Owll", "Owll: "),
        ("Owll", "Did you mean 'Owl'"),
        ("Mercury", "Mercury is a disambiguation page. Did you mean 'Owl' or 'Mouse'?"),
        ("a[b", "Nothing was added."),
    ],
)
def test_a_seed_that_is_no_article_is_reported_and_nothing_is_added(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer, seed: str, told: str
) -> None:
    result = said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Heron", "--seed", seed)
    assert result.returncode != 0
    assert told in result.stderr
    assert document("sources")["sources"] == []


@pytest.mark.parametrize("seed", ["", "  ", "# birds"])
def test_a_seed_that_is_empty_but_for_a_section_is_told_as_such(
    said: Callable[..., Result], wiki: WikiServer, dump: Path, seed: str
) -> None:
    shown = seed if seed.strip() else repr(seed)
    asked = said("add", "wiki", "birds", "--api", wiki.api, "--seed", seed)
    assert asked.stderr == f"{shown}: The title is empty.\nNothing was added.\n"
    read = said("add", "wiki", "birds", "--dump", str(dump), "--seed", seed)
    assert read.stderr.startswith(f"{shown}: ")
    assert "Did you mean" not in read.stderr


def test_a_seed_that_tells_meanings_apart_is_answered_with_these_alone(
    said: Callable[..., Result], wiki: WikiServer, tmp_path: Path
) -> None:
    wiki.edit("Mercury (planet)", "It is small.")
    told = "Mercury is a disambiguation page. Did you mean 'Owl' or 'Mouse'?\nNothing was added.\n"
    assert said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Mercury").stderr == told
    dump = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in PAGES.items()])
    assert said("add", "wiki", "dumped", "--dump", str(dump), "--seed", "Mercury").stderr == told


def test_what_was_asked_for_is_not_said_to_have_been_meant(
    said: Callable[..., Result], plain: Path, tmp_path: Path
) -> None:
    dump = dumps.write(tmp_path, [DumpedPage("Round", redirect="Rounder"), DumpedPage("Rounder", redirect="Round")])
    told = said("add", "wiki", "birds", "--dump", str(dump), "--seed", "Round").stderr
    assert "Did you mean 'Rounder'?" in told


@pytest.mark.parametrize(("depth", "told"), [("0", "0 links"), ("1", "1 link"), ("2", "2 links")])
def test_how_far_it_goes_is_told(said: Callable[..., Result], wiki: WikiServer, depth: str, told: str) -> None:
    result = said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl", "--depth", depth)
    assert f"and goes {told} far." in result.stdout


def test_a_source_that_was_not_run_yet_has_no_empty_table(said: Callable[..., Result], wiki: WikiServer) -> None:
    said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl")
    told = "No items are known yet: the next `detent run` discovers them."
    assert said("status").stdout == f"{told}\n"
    assert said("sources").stdout.startswith(f"{told}\nbirds (wiki): ")


def test_seeds_come_from_a_file_a_category_and_a_search(
    said: Callable[..., Result], document: Callable[..., Any], plain: Path, wiki: WikiServer
) -> None:
    (plain / "seeds.txt").write_text("# food\nGrain\n\nForest\n")
    more = ("--category", "Birds", "--search", "grain")
    said("add", "wiki", "birds", "--api", wiki.api, "--seeds-file", str(plain / "seeds.txt"), *more)
    [source] = document("sources")["sources"]
    assert source["settings"]["seeds"][:4] == ["Grain", "Forest", "Heron", "Owl"]
    assert "Mouse" in source["settings"]["seeds"]


def test_seeds_are_fetched_once(said: Callable[..., Result], ran: Callable[..., Result], wiki: WikiServer) -> None:
    said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owls", "--seed", "Heron", "--depth", "1")
    said("add", "wiki", "birds", "--add-seed", "Grain")
    assert ran("run").returncode == 0
    asked = [each.parameters["titles"].split("|") for each in wiki.requests if "rvprop" in each.parameters]
    assert sorted(title for titles in asked for title in titles) == ["Forest", "Grain", "Heron", "Mouse", "Owls"]
    assert "night" in said("search", "--mode", "text", "night").stdout


def test_a_hiccup_of_the_wiki_does_not_keep_seeds_from_being_checked(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer
) -> None:
    wiki.fail_next(limited("0"), CUT, limited("0"))
    result = said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl", "--category", "Birds")
    assert result.returncode == 0, result.stderr
    [source] = document("sources")["sources"]
    assert source["settings"]["seeds"] == ["Owl", "Heron"]


def test_who_adds_a_wiki_is_told_how_long_it_wants_to_be_left_alone(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer
) -> None:
    wiki.fail_next(limited("3600"))
    for _ in range(2):
        result = said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl")
        assert "is left alone for another 60 minutes: it refused with 429 Too Many Requests" in result.stderr
        assert "It is asked again." not in result.stderr
    assert len(wiki.requests) == 1
    assert document("sources")["sources"] == []


def test_a_wiki_that_stays_away_is_given_up(said: Callable[..., Result], wiki: WikiServer) -> None:
    wiki.fail_next(*[limited("0")] * 10)
    result = said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl")
    assert "429 Too Many Requests" in result.stderr
    assert len(wiki.requests) == 4
    assert result.stderr.count("It is asked again.") == 3


def test_no_more_members_of_a_category_are_fetched_than_are_taken(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeding, "MOST_MEMBERS", 4)
    wiki.rows_per_answer = 2
    for number in range(20):
        wiki.edit(f"Bird {number:02}", "It sings. [[Category:Singers]]")
    result = said("add", "wiki", "birds", "--api", wiki.api, "--category", "Singers", "--category", "Birds")
    assert "The category 'Singers' has more than 4 articles. The first 4 are taken." in result.stdout
    assert "'Birds'" not in result.stdout
    [source] = document("sources")["sources"]
    assert source["settings"]["seeds"] == [*(f"Bird {number:02}" for number in range(4)), "Heron", "Owl"]
    listed = [each.parameters["cmtitle"] for each in wiki.requests if "cmtitle" in each.parameters]
    assert listed.count("Category:Singers") == 3


def test_a_dump_is_read_without_asking_anybody(ran: Callable[..., Result], plain: Path, tmp_path: Path) -> None:
    path = dumps.write(tmp_path, [DumpedPage("Owl", "It hunts [[mouse|mice]]."), DumpedPage("Mouse", "It eats grain.")])
    added = ran("add", "wiki", "birds", "--dump", str(path), "--seed", "owl")
    assert added.returncode == 0, added.stderr
    assert ran("run").returncode == 0
    assert "Mouse" in ran("search", "eats grain").stdout


@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_terminal_nothing_of_the_progress_is_cut_off(
    terminal: Callable[..., Any], said: Callable[..., Result], dump: Path, columns: int
) -> None:
    said("add", "wiki", "birds", "--dump", str(dump), "--seed", "Owl")
    screen = terminal("run", COLUMNS=str(columns))
    assert screen.end() == 0
    assert "embedding" in screen.shown
    assert "2 of 2" in screen.shown
    assert "…" not in screen.shown
    assert ("━" in screen.shown) is (columns == 120)


@pytest.mark.parametrize("before", [(), ("Owl",)])
def test_seeds_that_two_add_at_the_same_time_are_all_kept(
    start: Callable[..., subprocess.Popen[str]],
    ran: Callable[..., Result],
    document: Callable[..., Any],
    wiki: WikiServer,
    before: tuple[str, ...],
) -> None:
    """One is still asking the wiki for its seed when the other has come and gone."""
    add = ("add", "wiki", "birds", "--api", wiki.api, "--seed")
    for seed in before:
        assert ran(*add, seed).returncode == 0
    wiki.wait_for_requests(len(wiki.requests))
    wiki.fail_next(STALLED)
    slow = start(*add, "Heron", "--depth", "3")
    wiki.wait_for_requests(1)
    assert ran(*add, "Mouse", "--target", "9").returncode == 0
    wiki.release()
    assert slow.wait() == 0
    [source] = document("sources")["sources"]
    kept = source["settings"]
    assert (set(kept["seeds"]), kept["depth"], kept["target"]) == ({*before, "Heron", "Mouse"}, 3, 9)


@pytest.fixture
def dump(plain: Path, tmp_path: Path) -> Path:
    return dumps.write(tmp_path, [DumpedPage("Owl", "It hunts [[mouse|mice]]."), DumpedPage("Mouse", "It eats grain.")])


@pytest.mark.parametrize(
    "more",
    [
        ("--api", "http://127.0.0.1:9/api.php"),
        ("--lang", "de"),
        ("--category", "Birds"),
        ("--search", "owls"),
        ("--contact", "ann@example.org"),
        ("--per-minute", "9"),
    ],
)
def test_what_is_only_for_wikis_that_are_asked_is_refused_of_a_dump(
    said: Callable[..., Result], document: Callable[..., Any], dump: Path, more: tuple[str, str]
) -> None:
    refused = said("add", "wiki", "birds", "--dump", str(dump), "--seed", "Owl", *more)
    assert refused.returncode != 0
    assert f"{more[0]} is for a wiki that is asked over its API. birds is read from a dump." in refused.stderr
    assert document("sources")["sources"] == []
    assert said("add", "wiki", "birds", "--dump", str(dump), "--seed", "Owl").returncode == 0
    later = said("add", "wiki", "birds", "--depth", "5", *more)
    assert more[0] in later.stderr
    assert document("sources")["sources"][0]["settings"]["depth"] == 2


def test_a_wiki_that_is_asked_does_not_become_a_dump(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer, dump: Path
) -> None:
    said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Owl")
    told = said("add", "wiki", "birds", "--dump", str(dump))
    assert f"The source is the wiki {wiki.api}, and cannot be the dump {dump} too. Choose another name." in told.stderr
    assert "--index is for a dump" in said("add", "wiki", "birds", "--index", str(dump)).stderr
    [source] = document("sources")["sources"]
    assert (source["settings"]["api"], source["settings"]["dump"]) == (wiki.api, None)


def test_another_dump_takes_the_place_of_the_one_before_with_its_own_index(
    said: Callable[..., Result], document: Callable[..., Any], dump: Path, tmp_path: Path
) -> None:
    index = dump.with_name("owlwiki-20240301-pages-articles-multistream-index.txt.bz2")
    said("add", "wiki", "birds", "--dump", str(dump), "--index", str(index))
    (tmp_path / "newer").mkdir()
    newer = dumps.write(tmp_path / "newer", [DumpedPage("Owl", "It sleeps.")])
    said("add", "wiki", "birds", "--dump", str(newer))
    [source] = document("sources")["sources"]
    assert (source["settings"]["dump"], source["settings"]["index"]) == (str(newer), None)


def test_a_dump_that_is_away_keeps_other_sources_from_nothing_and_costs_no_article_an_attempt(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer, dump: Path
) -> None:
    said("add", "wiki", "birds", "--api", wiki.api, "--seed", "Heron")
    said("add", "wiki", "old", "--dump", str(dump), "--seed", "Owl")
    away = dump.rename(dump.with_name("away"))
    told = said("run", "--no-wait")
    assert "The source 'old' failed before it named an item" in told.stderr
    assert f"There is no dump {dump}." in told.stderr
    assert [each["key"] for each in document("items", "--state", "processed")["items"]] == ["Heron"]
    away.rename(dump)
    said("run")
    assert "eats grain" in said("search", "grain").stdout


@pytest.mark.usefixtures("plain")
def test_what_is_no_dump_is_not_added(
    said: Callable[..., Result], document: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "nothing").mkdir()
    told = said("add", "wiki", "birds", "--dump", str(tmp_path / "nothing"))
    assert "There is no dump in the folder" in told.stderr
    assert document("sources")["sources"] == []


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    "content", [b"", b"# Settings", b"BZh9 and so on", b"<rss></rss>", b"<!DOCTYPE html><html></html>"]
)
def test_what_is_no_dump_is_not_added_even_where_all_of_it_is_to_be_taken(
    said: Callable[..., Result], document: Callable[..., Any], plain: Path, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "owls.xml"
    path.write_bytes(content)
    result = said("add", "wiki", "birds", "--dump", str(path))
    assert result.returncode != 0
    assert str(path) in result.stderr
    assert document("sources")["sources"] == []


def test_an_index_of_another_dump_is_not_added(
    said: Callable[..., Result], document: Callable[..., Any], dump: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = dumps.write(tmp_path / "other", [DumpedPage("Zebra")], "multistream-text")
    index = other.with_name("owlwiki-20240301-pages-articles-multistream-index.txt")
    result = said("add", "wiki", "birds", "--dump", str(dump), "--index", str(index))
    assert f"The index {index} does not belong to the dump {dump}" in result.stderr
    assert document("sources")["sources"] == []


def test_what_is_wrong_with_a_dump_is_told_in_its_own_words(
    said: Callable[..., Result], ran: Callable[..., Result], dump: Path
) -> None:
    said("add", "wiki", "birds", "--dump", str(dump))
    dump.write_bytes(b"owl")
    told = ran("run").stderr
    assert f"The source 'birds' failed before it named an item: The file {dump} is no dump of a wiki" in told
    assert ".py" not in told


def test_wikimedias_wikis_want_a_contact(said: Callable[..., Result]) -> None:
    assert "--contact you@example.org" in said("add", "wiki", "ml", "--seed", "Machine learning").stderr


def test_who_asks_is_taken_from_the_source_from_others_and_last_from_the_settings(
    said: Callable[..., Result], document: Callable[..., Any], wiki: WikiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def contact_of(name: str, *more: str) -> str:
        said("add", "wiki", name, "--api", wiki.api, "--seed", "Owl", *more)
        [found] = [each for each in document("sources")["sources"] if each["name"] == name]
        assert f"({found['settings']['contact']})" in wiki.requests[-1].headers["User-Agent"]
        return str(found["settings"]["contact"])

    monkeypatch.setenv("DETENT_WIKI_CONTACT", "set@example.org")
    assert contact_of("a") == "set@example.org"
    assert contact_of("b", "--contact", "said@example.org") == "said@example.org"
    assert contact_of("b") == "said@example.org"
    monkeypatch.setenv("DETENT_WIKI_CONTACT", "another@example.org")
    assert contact_of("c") == "set@example.org"


def test_a_password_in_the_address_is_sent_and_never_shown(
    said: Callable[..., Result],
    ran: Callable[..., Result],
    wiki: WikiServer,
    query: Callable[..., list[Any]],
    tmp_path: Path,
) -> None:
    api = wiki.api.replace("//", "//me:hunter2@")
    commands = [
        ("add", "wiki", "birds", "--api", api, "--seed", "Owl", "--depth", "0"),
        ("add", "wiki", "birds", "--api", api.replace("api.php", "other.php")),
        ("add", "wiki", "other", "--api", api.replace("api.php", "other.php"), "--seed", "Owl"),
        ("sources",),
        ("sources", "--json"),
        ("run",),
        ("status", "--json"),
        ("show", "Owl"),
        ("graph", "export", str(tmp_path / "graph.jsonl")),
    ]
    told = [ran(*command) for command in commands]
    wiki.fail_next(Failing(401, {}, b"Not you."))
    told.append(said("add", "wiki", "birds", "--add-seed", "Heron"))
    assert [result.returncode != 0 for result in told] == [False, True, True, *[False] * 6, True]
    assert "The source is the wiki" in told[1].stderr
    assert "password ***" in told[3].stdout
    shown = "".join(result.stdout + result.stderr for result in told) + (tmp_path / "graph.jsonl").read_text()
    kept = query("SELECT reason FROM journal") + query("SELECT message FROM failure")
    assert "hunter2" not in shown + str(kept)
    assert {each.headers.get("Authorization") for each in wiki.requests} == {"Basic bWU6aHVudGVyMg=="}


def test_a_new_password_takes_the_place_of_the_old_one(
    said: Callable[..., Result], wiki: WikiServer, query: Callable[..., list[Any]]
) -> None:
    for password in ("old", "new"):
        api = wiki.api.replace("//", f"//me:{password}@")
        assert said("add", "wiki", "birds", "--api", api, "--seed", "Owl").returncode == 0
        assert said("add", "wiki", "birds", "--add-seed", "Heron").returncode == 0
        assert wiki.requests[-1].headers["Authorization"] == basic("me", password)
    [kept] = query("SELECT settings FROM source")
    assert kept.settings["api"] == wiki.api.replace("//", "//me@")


@pytest.mark.usefixtures("plain")
def test_a_wiki_needs_something_to_begin_with(said: Callable[..., Result]) -> None:
    assert "--seed" in said("add", "wiki", "ml", "--api", "http://127.0.0.1:9/api.php").stderr
    assert "--seed" in said("add", "wiki", "misspelt", "--target", "9").stderr
