"""The files source at work: a folder becomes a graph, and stays true as the folder changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.errors import DiscoveryFailed
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import make

Query = Callable[..., list[Any]]

GUIDE = """# Guide

How it is used.

## Install

Take the package from the shelf and put it into the machine.

## Run

Turn the key until the engine starts, and wait for a moment.
"""
CODE = '''"""Engines."""


class Engine:
    """Drives the machine."""

    def start(self):
        """Start it, and say that it runs."""
        return "running"

    def stop(self):
        """Stop it, whatever it does at the moment."""
        return "stopped"
'''


class Desk:
    """A folder and the database that follows it."""

    def __init__(self, root: Path, database: str, query: Query) -> None:
        self.root = root
        self.database = database
        self.query = query
        self.settings: dict[str, Any] = {}

    def write(self, path: str, text: str | bytes, *, age: float = 100) -> None:
        """Write a file as if some time had passed since then."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        changed = file.stat().st_mtime - age
        os.utime(file, (changed, changed))

    def run(self) -> detent.Report:
        source = make("docs", FolderSettings(self.root, **self.settings).as_data())
        with detent.open(database=self.database, sources=source) as db:
            return db.run(wait=False)

    def digest(self) -> str:
        with detent.open(database=self.database) as db:
            return db.graph.digest().digest

    def states(self, label: str = "File") -> dict[str, str]:
        rows = self.query(
            "SELECT item.key, item.state FROM item JOIN kind ON kind.id = item.kind_id WHERE label = %s", label
        )
        return {row.key: row.state for row in rows}

    def vectors(self) -> int:
        """How many vectors were ever made."""
        parts = [row.name for row in self.query("SELECT name FROM vector_part")]
        return sum(self.query(f"SELECT count(*) AS count FROM {part}")[0].count for part in parts)  # noqa: S608

    def moved(self) -> set[str]:
        """What moved since this was asked the last time."""
        rows = self.query("SELECT item.key FROM move JOIN item ON item.id = move.item_id")
        keys = [row.key for row in rows]
        before, self._seen = getattr(self, "_seen", []), keys
        for key in before:
            keys = keys.copy()
            keys.remove(key)
        return set(keys)


@pytest.fixture
def desk(tmp_path: Path, database: str, query: Query) -> Iterator[Desk]:
    root = tmp_path / "folder"
    root.mkdir()
    made = Desk(root, database, query)
    made.write("guide.md", GUIDE)
    made.write("src/engine.py", CODE)
    yield made


def test_a_folder_becomes_a_graph_of_files_and_their_parts(desk: Desk) -> None:
    desk.run()
    assert desk.states() == {"guide.md": "ready", "src/engine.py": "ready"}
    assert set(desk.states("MarkdownSection")) == {"guide.md#guide", "guide.md#install", "guide.md#run"}
    assert set(desk.states("Scope")) == {
        "src/engine.py#Engine",
        "src/engine.py#Engine.start",
        "src/engine.py#Engine.stop",
    }
    edges = desk.query(
        "SELECT origin.key AS a, target.key AS b FROM edge JOIN item origin ON origin.id = edge.from_id "
        "JOIN item target ON target.id = edge.to_id WHERE edge.type = 'CONTAINS'"
    )
    assert {(edge.a, edge.b) for edge in edges} >= {
        (".", "guide.md"),
        (".", "src"),
        ("src", "src/engine.py"),
        ("src/engine.py", "src/engine.py#Engine"),
        ("src/engine.py#Engine", "src/engine.py#Engine.stop"),
        ("guide.md#guide", "guide.md#run"),
    }


def test_a_result_says_where_in_the_file_it_is(desk: Desk) -> None:
    desk.run()
    with detent.open(database=desk.database) as db:
        hit = db.search("turn the key until the engine starts", limit=1).hits[0]
        node = db.graph.find("guide.md#run")[0]
        found = db.graph.node(node.id)
    assert (hit.key, hit.passage, hit.place) == ("guide.md", "guide.md#run", "guide.md:9-11")
    assert (found.properties["first"], found.properties["last"]) == (9, 11)


def test_a_result_that_is_the_file_itself_says_which_one(desk: Desk) -> None:
    desk.write("notes.txt", "The weasel sleeps under the old boiler.\n")
    desk.run()
    with detent.open(database=desk.database) as db:
        hit = db.search("where does the weasel sleep", limit=1).hits[0]
    assert hit.place == "notes.txt"


def test_sections_have_the_date_of_their_front_matter(desk: Desk) -> None:
    for year in (2019, 2024):
        desk.write(f"{year}.md", f"---\ndate: {year}-03-01\n---\n# Heron\n\n## Sightings\n\nThe heron of {year}.\n")
    desk.run()
    with detent.open(database=desk.database) as db:
        found = db.search('"heron of"', filters=detent.Filters(since="2020"))
    assert [hit.passage for hit in found.hits] == ["2024.md#sightings"]


def test_nothing_is_done_where_nothing_has_changed(desk: Desk) -> None:
    desk.run()
    desk.moved()
    desk.run()
    assert desk.moved() == set()


def test_a_file_that_was_only_touched_is_read_and_nothing_of_it_embedded(desk: Desk) -> None:
    desk.run()
    digest = desk.digest()
    desk.moved()
    desk.write("guide.md", GUIDE, age=50)
    desk.run()
    assert desk.moved() == {"guide.md"}
    assert desk.digest() == digest


def test_a_changed_function_changes_one_function(desk: Desk) -> None:
    desk.run()
    desk.moved()
    desk.write("src/engine.py", CODE.replace("stopped", "halted"), age=50)
    desk.run()
    assert desk.moved() == {"src/engine.py", "src/engine.py#Engine.stop"}


def test_what_only_stands_elsewhere_is_written_and_not_worked_on_again(desk: Desk) -> None:
    desk.run()
    desk.moved()
    desk.write("src/engine.py", "# Engines of all kinds\n\n" + CODE, age=50)
    desk.run()
    assert desk.moved() == {"src/engine.py"}
    scopes = "SELECT properties FROM node JOIN item ON item.id = node.item_id WHERE key LIKE '%#Engine.stop'"
    assert desk.query(scopes)[0].properties["first"] == CODE.split("\n").index("    def stop(self):") + 3


def test_a_file_that_is_gone_leaves_the_graph_and_comes_back_as_it_was(desk: Desk) -> None:
    desk.run()
    digest = desk.digest()
    (desk.root / "guide.md").unlink()
    desk.run()
    assert desk.states() == {"src/engine.py": "ready"}
    assert desk.states("MarkdownSection") == {}
    desk.write("guide.md", GUIDE)
    desk.run()
    assert desk.digest() == digest


def test_a_file_that_was_moved_is_not_embedded_again(desk: Desk) -> None:
    desk.run()
    before = desk.vectors()
    (desk.root / "guide.md").rename(desk.root / "manual.md")
    desk.run()
    assert set(desk.states("MarkdownSection")) == {"manual.md#guide", "manual.md#install", "manual.md#run"}
    assert desk.vectors() == before


def test_a_folder_that_is_away_loses_nothing(desk: Desk) -> None:
    desk.run()
    desk.root.rename(desk.root.with_name("elsewhere"))
    with pytest.raises(DiscoveryFailed, match="is not there"):
        desk.run()
    assert set(desk.states()) == {"guide.md", "src/engine.py"}


def test_a_file_that_no_longer_parses_keeps_its_last_good_version(desk: Desk) -> None:
    desk.write("data.ipynb", '{"cells": [{"cell_type": "markdown", "source": "# Heron\\nA grey bird."}]}')
    desk.run()
    desk.write("data.ipynb", "{ no notebook", age=50)
    desk.run()
    assert desk.states()["data.ipynb"] == "error"
    with detent.open(database=desk.database) as db:
        hit = db.search("a grey bird").hits[0]
    assert (hit.key, hit.stale, hit.place) == ("data.ipynb", True, "data.ipynb, cell 1")


def test_of_a_large_file_only_metadata_is_kept(desk: Desk) -> None:
    desk.settings["most_bytes"] = 1000
    desk.write("large.log", "line\n" * 1000)
    desk.run()
    assert desk.states()["large.log"] == "skip"
    node = desk.query("SELECT node.* FROM node JOIN item ON item.id = node.item_id WHERE key = 'large.log'")[0]
    assert (node.text, node.properties["size_bytes"]) == ("", 5000)


def test_hidden_and_special_entries_end_in_skip_with_their_reason(desk: Desk) -> None:
    desk.write(".secret", "hidden")
    desk.write(".cache/file", "hidden too")
    os.mkfifo(desk.root / "pipe")
    desk.run()
    assert (desk.states()[".secret"], desk.states()["pipe"]) == ("skip", "skip")
    assert desk.states("Directory")[".cache"] == "skip"
    reasons = {
        row.key: row.reason
        for row in desk.query(
            "SELECT item.key, move.reason FROM move JOIN item ON item.id = move.item_id WHERE to_state = 'skip'"
        )
    }
    assert (reasons[".secret"], reasons["pipe"]) == ("It is hidden.", "It is a named pipe.")
