"""`detent search`, `similar` and `suggest`: what is shown, what a program reads, and what is said where nothing is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.cli import search as command
from detent.configuration import EmbeddingSettings
from detent.lifecycle import ARTICLE, PASSAGE
from detent.search import MODES
from detent.store import Stage
from detent.worker.embedder import Embedder

Result = subprocess.CompletedProcess[str]

ARTICLES = {
    "Cat": ["A cat is a small furry animal that catches mice and purrs.", "Kittens are young cats."],
    "Dog": ["A dog is a loyal animal that barks and guards the house.", "Puppies are young dogs."],
    "Steam engine": ["A steam engine turns the pressure of hot water vapour into motion."],
}
HIT = {
    *("item_id", "source", "label", "key", "title", "snippet", "score", "parts", "link", "passage", "passage_title"),
    *("properties", "stale", "place"),
}


def put(db: detent.Detent, key: str, sections: list[str], source: str = "wiki") -> None:
    """One article with its sections."""
    db.add(source, "Article", [key])
    [item] = db.claim(ARTICLE, "discovered", owner="somebody")
    children = [
        detent.Child("Section", f"{key}/{number}", detent.Node(f"{key}, part {number}", text), edge="HAS_SECTION")
        for number, text in enumerate(sections)
    ]
    properties = {"url": f"https://example.org/{key[0]}", "date": f"20{len(key):02}-05", "size": {"letters": len(key)}}
    links = [detent.Reference("LINKS_TO", "Article", "Cat")] if key == "Dog" else []
    links += [detent.Reference("IN", "Category", "animals")] if "animal" in sections[0] else []
    done = detent.Done(detent.Node(f"The {key}", "", properties), links, children=children, aliases=[key.upper()])
    [receipt] = db.settle([(item, done)])
    assert receipt.state == "loaded", receipt


async def tend(db: detent.AsyncDetent) -> None:
    """Embeds and indexes all there is, as workers do."""
    embedder = Embedder(EmbeddingSettings())
    await embedder.model(db.store)
    while items := await db.store.claim(Stage(PASSAGE, "linked"), owner="somebody"):
        filled = await db.store.contents.with_passages(items)
        await db.store.settle(list(zip(filled, embedder(filled), strict=True)))
    while await db.store.texts.index():
        pass


@pytest.fixture
def wiki(opened: detent.Detent) -> detent.Detent:
    """Three articles that can be found."""
    opened.declare("wiki", "Article", ARTICLE)
    for label in ("Section", "Category"):
        opened.declare("wiki", label, PASSAGE)
    for key, sections in ARTICLES.items():
        put(opened, key, sections)
    opened.wait(tend(opened.asynchronous))
    return opened


@pytest.mark.usefixtures("wiki")
def test_results_are_shown_with_snippet_link_and_scores(said: Callable[..., Result]) -> None:
    result = said("search", "furry", "mice", "--scores", "--limit", "1")
    assert (result.returncode, result.stderr) == (0, "")
    heading, passage, snippet, link, score = result.stdout.splitlines()
    assert heading == " 1. The Cat  Cat  wiki/Article"
    assert passage == "    Cat, part 0"
    assert "small furry animal that catches mice" in snippet
    assert link == "    https://example.org/C"
    assert score.startswith("    score ") and "text " in score and "semantic " in score
    assert "score" not in said("search", "furry", "mice").stdout


@pytest.mark.usefixtures("wiki")
def test_the_match_is_highlighted_on_a_terminal_only(terminal: Callable[..., Any], said: Callable[..., Result]) -> None:
    shown = terminal("search", "furry", "--limit", "1")
    assert shown.end() == 0
    assert "\x1b[1;33mfurry\x1b[0m" in shown.shown
    plain = terminal("search", "furry", "--limit", "1", "--no-color")
    assert plain.end() == 0
    assert "\x1b[1mfurry\x1b[0m" in plain.shown
    piped = said("search", "furry").stdout
    assert "furry animal" in piped
    assert piped.isprintable() or not {"\x1b", "\ufdd0"} & set(piped)


@pytest.mark.usefixtures("wiki")
def test_a_document_has_all_of_a_hit(document: Callable[..., Any]) -> None:
    found = document("search", "furry mice")
    assert set(found) == {"hits", "notes"}
    hit = found["hits"][0]
    assert set(hit) == HIT
    assert (hit["key"], hit["passage"], hit["link"]) == ("Cat", "Cat/0", "https://example.org/C")
    assert set(hit["parts"]) == {"text", "semantic"}
    assert hit["properties"]["size"] == {"letters": 3}
    assert document("search", "young cats", "--passages")["hits"][0]["key"] == "Cat/1"


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (["--mode", "text"], {"Cat", "Dog"}),
        (["--mode", "text", "--source", "wiki", "--label", "Article"], {"Cat", "Dog"}),
        (["--mode", "text", "--category", "animals", "--path", "C"], {"Cat"}),
        (["--mode", "text", "--property", "size.letters=3", "--property", "date=2003-05"], {"Cat", "Dog"}),
        (["--mode", "text", "--property", "url=https://example.org/D"], {"Dog"}),
        (["--mode", "text", "--property", 'size={"letters": 12}'], set()),
        (["--mode", "text", "--since", "2003", "--until", "2003-05"], {"Cat", "Dog"}),
        (["--mode", "text", "--since", "2003-05", "--until", "2003"], {"Cat", "Dog"}),
        (["--since", "2003-05-17T14:30", "--label", "Article", "--path", "C"], set()),
        (["--until", "2002"], set()),
        (["--mode", "semantic", "--limit", "2"], {"Cat", "Dog"}),
        (["--around", "Dog"], {"Cat", "Dog"}),
        (["--around", "Dog", "--mode", "graph", "--weights", "1,0"], {"Cat", "Dog"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
@pytest.mark.usefixtures("wiki")
def test_modes_and_filters(document: Callable[..., Any], options: list[str], keys: set[str]) -> None:
    assert {hit["key"] for hit in document("search", *options, "furry", "animal")["hits"]} == keys


@pytest.mark.usefixtures("wiki")
def test_phrases_and_words_after_a_minus(document: Callable[..., Any], said: Callable[..., Result]) -> None:
    found = document("search", "--mode", "text", '"young cats" or "young dogs"')
    assert {hit["key"] for hit in found["hits"]} == {"Cat", "Dog"}
    arguments = ("search", "--mode", "text", "--json", "--", "animal", "-barks")
    assert [hit["key"] for hit in json.loads(said(*arguments).stdout)["hits"]] == ["Cat"]
    result = said("search", "animal", "-barks")
    assert result.returncode == 2
    assert "No such option" in result.stderr
    assert "detent search -- cat -dog" in result.stderr


@pytest.mark.usefixtures("wiki")
def test_where_nothing_is_found_it_is_said_why(said: Callable[..., Result]) -> None:
    for arguments, sentence in {
        ("--mode", "text", "feline"): "No text has these words. The mode hybrid finds what means the same as well.\n",
        ("--path", "X", "cat"): "Nothing is found: there is nothing at all that meets the filters.\n",
        ("--mode", "text", "--path", "Dog", "cat"): "Nothing is found among what meets the filters.\n",
    }.items():
        result = said("search", *arguments)
        assert (result.returncode, result.stdout) == (0, sentence)
    empty = said("search", "")
    assert (empty.returncode, empty.stdout) == (0, "Nothing is found.\n")
    assert empty.stderr == "Note: The query is empty.\n"
    category = said("search", "cat", "--category", "plants")
    assert category.stdout == "Nothing is found: there is nothing at all that meets the filters.\n"
    assert category.stderr == "Note: There is no category 'plants'.\n"


@pytest.mark.usefixtures("project")
def test_before_there_is_anything_nothing_is_a_mistake(
    said: Callable[..., Result], document: Callable[..., Any]
) -> None:
    result = said("search", "cat")
    assert (result.returncode, result.stdout) == (
        0,
        "Nothing is found: there are no texts yet. `detent run` brings them in.\n",
    )
    assert document("search", "cat")["hits"] == []
    assert said("suggest", "c").stdout == "No title begins with this.\n"


async def lose_provider(db: detent.AsyncDetent) -> None:
    async with db.store.database.connection() as connection:
        await connection.execute("UPDATE model SET provider = 'nobody'")


def test_a_part_that_failed_is_told(
    wiki: detent.Detent, said: Callable[..., Result], document: Callable[..., Any], project: Path
) -> None:
    wiki.wait(lose_provider(wiki.asynchronous))
    settings = project / "detent.toml"
    settings.write_text(settings.read_text() + '[embedding]\nprovider = "nobody"\n')
    result = said("search", "furry")
    assert "The Cat" in result.stdout
    assert "Note: Searching by meaning failed: There is no embedding provider 'nobody'." in result.stderr
    assert "Searching by meaning failed" in "".join(document("search", "furry")["notes"])
    assert said("search", "furry", "--mode", "text").stderr == ""


PROVIDER = """
import numpy

class Constant(detent.embedding.Provider):
    name, model, dimensions, batch_size = "constant", "one", 4, 10

    def embed(self, texts):
        return numpy.full((len(texts), 4), 0.5, numpy.float32)

detent.register_provider("constant", lambda settings: Constant())
SOURCES = []
"""


@pytest.mark.usefixtures("wiki")
def test_a_provider_of_the_projects_own_is_made_known_by_its_modules(
    handlers: Callable[[str], None], ran: Callable[..., Result], project: Path
) -> None:
    handlers("import detent.embedding" + PROVIDER)
    settings = project / "detent.toml"
    settings.write_text(settings.read_text() + '[embedding]\nprovider = "constant"\n')
    result = ran("search", "furry")
    assert (result.returncode, result.stderr) == (0, "")
    handlers("raise ValueError('not today')")
    failed = ran("search", "furry")
    assert "The Cat" in failed.stdout
    assert "not today" in failed.stderr


@pytest.mark.usefixtures("wiki")
def test_similar_nodes_are_found(said: Callable[..., Result], document: Callable[..., Any]) -> None:
    assert said("similar", "Cat", "--limit", "1").stdout.startswith(" 1. The Dog  Dog  wiki/Article")
    assert document("similar", "Cat/0", "--passages", "--only-label", "Section")["hits"][0]["label"] == "Section"
    result = said("similar", "Cat", "--only-label", "Category")
    assert result.stdout == "Nothing similar to 'Cat' was found.\n"


@pytest.mark.usefixtures("wiki")
def test_titles_are_suggested(said: Callable[..., Result], document: Callable[..., Any]) -> None:
    lines = said("suggest", "the", "c").stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["Title", "Source", "Label", "Key"],
        ["The", "Cat", "wiki", "Article", "Cat"],
    ]
    found = document("suggest", "STEAM", "--label", "Section")["suggestions"]
    assert found == [{"title": "Steam engine, part 0", "key": "Steam engine/0", "source": "wiki", "label": "Section"}]


@pytest.mark.usefixtures("wiki")
def test_mistakes_are_told_in_a_sentence(said: Callable[..., Result]) -> None:
    for arguments, words in {
        ("search",): "Missing argument 'TEXT...'",
        ("search", "cat", "--source", "wikki"): "There is no source 'wikki'. Did you mean 'wiki'?",
        ("search", "cat", "--label", "Artikel"): "Did you mean 'Article'?",
        ("search", "cat", "--around", "Catt"): "There is no item with the key 'Catt'. Did you mean 'Cat",
        ("search", "cat", "--mode", "graph"): "add --around KEY",
        ("search", "cat", "--mode", "text", "--around", "Dog"): "Remove one of them",
        ("search", "cat", "--weights", "1"): "not two numbers",
        ("search", "cat", "--weights", "nan,1"): "not two numbers",
        ("search", "cat", "--weights", "1,1"): "add --around KEY",
        ("search", "cat", "--since", "yesterday"): "'yesterday' is no date. Write a year, a month or a day, such as",
        ("search", "cat", "--until", "nonsense"): "'nonsense' is no date.",
        ("search", "cat", "--since", "2020-13"): "'2020-13' is no date.",
        ("search", "cat", "--since", "2015", "--until", "2012"): "--since 2015 is later than --until 2012",
        ("search", "cat", "--property", "size"): "'size' is not NAME=VALUE",
        ("search", "cat", "--property", "a..b=1"): "'a..b=1' is not NAME=VALUE",
        ("search", "cat", "--property", "a=1", "--property", "a.b=1"): "is inside a property",
        ("search", "cat", "--property", "a=1", "--property", "a=2"): "given twice",
        ("search", "cat", "--property", "a=1e999"): "cannot be written as JSON",
        ("search", "cat", "--path", "\udcff"): "half a surrogate pair",
        ("search", "cat", "--limit", "0"): "Invalid value for '--limit'",
        ("similar", "Catt"): "Did you mean 'Cat",
        ("similar", "Cat", "--only-source", "wikki"): "Did you mean 'wiki'?",
        ("suggest", "c", "--source", "wikki"): "Did you mean 'wiki'?",
    }.items():
        result = said(*arguments)
        assert (result.returncode, result.stdout, words in result.stderr) == (2, "", True), result


def test_a_key_of_several_nodes_asks_which(wiki: detent.Detent, said: Callable[..., Result]) -> None:
    wiki.declare("other", "Article", ARTICLE)
    wiki.declare("other", "Section", PASSAGE)
    put(wiki, "Cat", ["A cat of another source."], "other")
    result = said("similar", "Cat")
    assert (result.returncode, "--source other --label Article" in result.stderr) == (2, True)
    assert said("similar", "Cat", "--source", "wiki").returncode == 0
    assert said("search", "cat", "--around", "Cat").returncode == 0
    also = said("similar", "CAT")
    assert (also.returncode, "--source other --label Article  (its own key is Cat)" in also.stderr) == (2, True)
    assert said("similar", "CAT", "--source", "wiki").returncode == 0


@pytest.mark.parametrize("name", ["search", "similar", "suggest"])
def test_help_imports_nothing_that_takes_long(name: str) -> None:
    program = f"""
import sys
from detent.cli.program import program
program.main([{name!r}, "--help"], standalone_mode=False)
print(sorted({{"numpy", "psycopg", "rich", "asyncio"}} & set(sys.modules)))
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.endswith("\n[]\n")


def test_the_modes_are_those_of_search() -> None:
    assert command.MODES == MODES


def test_commands_stand_in_sections(said: Callable[..., Result]) -> None:
    told = said("--help").stdout
    assert "\nFind:\n  search " in told
    assert "\nSteer:\n  retry " in told
