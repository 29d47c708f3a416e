"""The verbs of Python, where they are called with something that is not there."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.application import values
from detent.errors import Ambiguous, Closed, FolderMissing, InvalidLimit, UnknownName
from detent.lifecycle import TOPIC


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    typo = tmp_path / "typo-folder"
    with pytest.raises(FolderMissing, match=f"^There is no folder {re.escape(str(typo))}\\."):
        detent.open(typo)
    assert not typo.exists()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(FolderMissing, match=f"^{re.escape(str(file))} is not a folder\\."):
        detent.open(file)


def test_an_unknown_item_has_neither_a_story_nor_a_history(database: str) -> None:
    with detent.open(database=database) as db:
        for verb in (db.show, db.history):
            with pytest.raises(UnknownName, match=re.escape("There is no item number 99999.")):
                verb(99999)


def test_an_item_that_was_never_moved_has_an_empty_history(database: str) -> None:
    with detent.open(database=database) as db:
        db.declare("source", "Topic", TOPIC)
        db.add("source", "Topic", ["a"])
        assert db.history(db.find("a")[0]) == []


@pytest.mark.parametrize("limit", [0, -1])
def test_less_than_one_item_cannot_be_asked_for(database: str, limit: int) -> None:
    with detent.open(database=database) as db:
        db.declare("source", "Topic", TOPIC)
        db.add("source", "Topic", ["a"])
        with pytest.raises(InvalidLimit, match=f"at least 1, not {limit}"):
            db.items(limit=limit)
        with pytest.raises(InvalidLimit, match=f"at least 1, not {limit}"):
            db.claim(TOPIC, "pending", owner="me", limit=limit)


def test_verbs_of_a_closed_database_say_that_it_is_closed(database: str) -> None:
    with detent.open(database=database) as db:
        pass
    for verb in (db.count_by_state, db.run, lambda: db.find("a")):
        with pytest.raises(Closed, match=r"^This database is closed\."):
            verb()
    db.close()


def test_importing_everything_leaves_pythons_own_open_alone() -> None:
    names: dict[str, object] = {}
    exec("from detent import *", names)  # noqa: S102  that is what is tested
    assert names.get("open", builtins.open) is builtins.open
    assert names["Source"] is detent.Source
    assert callable(detent.open)


def test_all_that_is_offered_is_listed() -> None:
    listed = dir(detent)
    assert {"Source", "open", "open_async", "register_provider", "__version__"} <= set(listed)
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(listed)
    assert all(getattr(detent, name) for name in listed)


def test_the_folder_of_the_database_is_never_added_to_git(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    script = "import detent, sys; detent.open(sys.argv[1]).close()"
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    assert (tmp_path / ".detent" / ".gitignore").read_text() == "*\n"


@pytest.fixture
def shelf(database: str) -> Iterator[detent.Detent]:
    """Three books, two of them under the same key, that can be found by their words."""
    with detent.open(database=database) as db:
        for source, keys in (("shop", ["Emma"]), ("library", ["Emma", "Walden"])):
            db.declare(source, "Book", TOPIC)
            db.add(source, "Book", keys)
        for book in db.claim(TOPIC, "pending", owner="me"):
            links = [detent.Reference("BESIDE", "Book", "Emma")] if book.key == "Walden" else []
            node = detent.Node(book.key, f"A novel in the {book.source}", {"year": 1815})
            db.settle([(book, detent.Done(node, links, aliases=[book.key.upper()]))])
        yield db


def test_texts_are_searched_as_soon_as_they_are_written(shelf: detent.Detent) -> None:
    answer = shelf.search("library", marks=("<", ">"))
    assert isinstance(answer, detent.Answer)
    assert {hit.key for hit in answer.hits} == {"Emma", "Walden"}
    assert all(isinstance(hit, detent.Hit) and "<library>" in hit.snippet for hit in answer.hits)
    assert answer.notes == ("Nothing is embedded yet, so that nothing was found by meaning.",)
    filters = detent.Filters(sources=["library"], properties={"year": 1815}, prefix="W")
    assert [hit.key for hit in shelf.search("novel", mode="text", filters=filters).hits] == ["Walden"]
    assert [each.key for each in shelf.suggest("wal")] == ["Walden"]


def test_items_are_named_by_key_alias_or_number(shelf: detent.Detent) -> None:
    [walden] = shelf.find("Walden")
    for key in ("Walden", "WALDEN", walden):
        assert shelf.similar(key).notes == ("It has no vector, so that nothing can be compared with it.",)
        assert "Nothing is embedded yet" in shelf.search("novel", around=[key]).notes[0]
    with pytest.raises(Ambiguous, match="2 items have the key 'Emma': shop/Book/Emma, library/Book/Emma"):
        shelf.similar("Emma")
    assert shelf.similar("Emma", source="shop").hits == ()
    with pytest.raises(UnknownName, match="Did you mean 'Walden'"):
        shelf.similar("Waldn")
    with pytest.raises(UnknownName, match="There is no item number 99999"):
        shelf.search("novel", around=[99999])


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"sources": ["libary"]}, "Did you mean 'library'"),
        ({"labels": "Book"}, "labels of a filter is a list of names, such as"),
        ({"categories": ["\x00"]}, "NUL byte"),
        ({"prefix": "\ud800"}, "half a surrogate pair"),
        ({"since": 2020}, "'since' is int, not text"),
        ({"properties": {"a": object()}}, "cannot be written as JSON"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(shelf: detent.Detent, filters: dict[str, Any], words: str) -> None:
    for verb in (shelf.search, shelf.suggest):
        with pytest.raises(detent.DetentError, match=re.escape(words)):
            verb("a", filters=detent.Filters(**filters))
    with pytest.raises(InvalidLimit):
        shelf.search("a", limit=0)


def test_what_is_no_text_and_no_filter_is_told(shelf: detent.Detent) -> None:
    nothing: Any = None
    filters: Any = {"since": "2020"}
    for verb in (shelf.search, shelf.suggest):
        with pytest.raises(TypeError, match=r"^What is searched for is a text, such as 'steam engine', not None\.$"):
            verb(nothing)
        with pytest.raises(TypeError, match=r"^filters is detent\.Filters, such as Filters\(since='2020'\), not \{"):
            verb("novel", filters=filters)


def test_items_and_sources_are_removed(shelf: detent.Detent) -> None:
    told: list[int] = []
    assert shelf.remove("library", "Book", ["Emma", "unknown"]) == 1
    assert {hit.source for hit in shelf.search("novel", mode="text").hits} == {"library", "shop"}
    assert shelf.remove_source("library", tell=told.append) == 1
    assert told == [1]
    assert [hit.source for hit in shelf.search("novel", mode="text").hits] == ["shop"]
    with pytest.raises(UnknownName, match="There is no source 'library'"):
        shelf.remove_source("library")


def test_a_provider_is_registered_under_a_name() -> None:
    from detent.embedding import register

    assert detent.register_provider is register


def test_every_value_of_the_verbs_is_where_it_is_said_to_be() -> None:
    assert all(getattr(values, name) is not None for name in values.__all__)
