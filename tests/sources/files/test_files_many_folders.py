"""Several folders in one database, one folder under several names, and folders that are renamed, away, empty or
unreadable: nothing is mixed up, and nothing is lost that is still somewhere."""

from __future__ import annotations

import itertools
import os
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detent
from detent.cli import main
from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, register
from detent.embedding.provider import Vectors
from detent.errors import DiscoveryFailed
from detent.knowledge.filters import Filters

Query = Callable[..., list[Any]]

FLAGS: dict[str, object] = {"embedding.provider": "counting"}
FILES = {
    "heron.md": "# Heron\n\nA grey bird that waits for fish, see [the stork](birds/stork.md).\n",
    "birds/stork.md": "# Stork\n\nA white bird that lives on roofs, like <https://example.org/stork>.\n",
    "src/pond/__init__.py": "",
    "src/pond/fish.py": "def swim(water):\n    '''Swim through the water.'''\n    return water\n",
    "src/pond/bird.py": "from pond.fish import swim\n\n\ndef dive(water):\n    '''Dive after it.'''\n    swim(water)\n",
    "notes.txt": "Of birds and fish, and what they do all day long.\n",
}


class Counting(Provider):
    """Notes the texts that it was asked to embed."""

    name = "counting"
    model = "words"
    dimensions = 16
    batch_size = 8

    def __init__(self, settings: EmbeddingSettings) -> None:
        pass

    def embed(self, texts: Sequence[str]) -> Vectors:
        ASKED.update(texts)
        rows = [np.random.default_rng(zlib.crc32(text.encode())).random(self.dimensions) for text in texts]
        vectors: Vectors = np.array([row / np.linalg.norm(row) for row in rows], np.float32)
        return vectors


ASKED: Counter[str] = Counter()


class Shelf:
    """A database, the folders that were added to it, and the command that adds them."""

    def __init__(self, home: Path, database: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.database = database
        self._capsys = capsys
        self._age = itertools.count(1_000_000, -10)

    def fill(self, folder: str, files: dict[str, str] | None = None) -> Path:
        for path, text in (FILES if files is None else files).items():
            self.write(f"{folder}/{path}", text)
        return self.home / folder

    def write(self, path: str, text: str) -> None:
        """Write a file as if it had been a while ago, but later than what was written before."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        then = file.stat().st_mtime - next(self._age)
        os.utime(file, (then, then))

    def call(self, *arguments: str) -> str:
        """Call the command; returns all that it said."""
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(["--database", self.database, *arguments])
        said = "".join(self._capsys.readouterr())
        assert left.value.code == 0, said
        return said

    def add(self, name: str, folder: str, *options: str) -> None:
        self.call("add", "files", name, str(self.home / folder), *options)

    def open(self, database: str | None = None) -> detent.Detent:
        return detent.open(database=database or self.database, flags=FLAGS)

    def run(self) -> detent.Report:
        ASKED.clear()
        with self.open() as db:
            return db.run()

    def keys(self, source: str) -> dict[str, str]:
        """What a source has, with the state of each."""
        with self.open() as db:
            return {f"{item.label} {item.key}": item.state for item in db.items(source=source, limit=10_000).items}

    def digest(self, source: str) -> str:
        with self.open() as db:
            return db.graph.digest(source).digest

    def found(self, words: str, *sources: str) -> list[tuple[str, str]]:
        with self.open() as db:
            answer = db.search(words, mode="text", limit=50, filters=Filters(sources=sources))
        return sorted((hit.source, hit.key) for hit in answer.hits)


@pytest.fixture
def shelf(tmp_path: Path, database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shelf:
    register("counting", Counting)
    monkeypatch.chdir(tmp_path)
    return Shelf(tmp_path, database, capsys)


# The same folder under two names.


def test_the_same_folder_under_two_names_is_complete_under_both_and_embedded_once(shelf: Shelf, query: Query) -> None:
    shelf.fill("pond")
    shelf.add("one", "pond")
    shelf.add("two", "pond")
    shelf.run()
    assert shelf.keys("one") == shelf.keys("two")
    assert shelf.digest("one") == shelf.digest("two")
    assert set(ASKED.values()) == {1}
    assert shelf.found("swim") == [
        (name, f"src/pond/{file}.py") for name in ("one", "two") for file in ("bird", "fish")
    ]
    crossing = """
        SELECT origin.key FROM edge
        JOIN item origin ON origin.id = edge.from_id JOIN item target ON target.id = edge.to_id
        JOIN kind one ON one.id = origin.kind_id JOIN kind other ON other.id = target.kind_id
        WHERE one.source_id <> other.source_id"""
    assert query(crossing) == []
    assert query("SELECT count(*) AS count FROM edge")[0].count > 20


def test_a_second_name_for_a_folder_that_was_read_embeds_nothing(shelf: Shelf) -> None:
    shelf.fill("pond")
    shelf.add("one", "pond")
    shelf.run()
    shelf.add("two", "pond")
    shelf.run()
    assert not ASKED
    assert shelf.digest("one") == shelf.digest("two")


def test_of_a_folder_with_two_names_the_removal_of_one_leaves_the_other(shelf: Shelf) -> None:
    shelf.fill("pond")
    shelf.add("one", "pond")
    shelf.add("two", "pond")
    shelf.run()
    digest, keys = shelf.digest("two"), shelf.keys("two")
    shelf.call("remove", "one", "--yes")
    assert (shelf.digest("two"), shelf.keys("two")) == (digest, keys)
    assert {source for source, _ in shelf.found("bird")} == {"two"}
    with shelf.open() as db:
        assert {hit.source for hit in db.search("Swim through the water.", mode="semantic").hits} == {"two"}
        assert {tally.source for tally in db.count_by_state() if tally.count} == {"two"}
    shelf.run()
    assert (ASKED, shelf.digest("two")) == (Counter(), digest)


def test_each_name_of_a_folder_takes_what_it_was_told_to(shelf: Shelf) -> None:
    shelf.fill("pond")
    shelf.add("texts", "pond", "--include", "*.md", "--exclude", "birds/")
    shelf.add("code", "pond", "--include", "*.py")
    shelf.run()
    files = {name: {key for key in shelf.keys(name) if key.startswith("File ")} for name in ("texts", "code")}
    assert files["texts"] == {"File heron.md"}
    assert files["code"] == {f"File src/pond/{name}.py" for name in ("__init__", "fish", "bird")}
    shelf.write("pond/heron.md", "# Heron\n\nA grey bird that waits for frogs.\n")
    shelf.run()
    assert (shelf.found("frogs"), sum(ASKED.values())) == ([("texts", "heron.md")], 1)


# Two folders in one database.


def test_files_of_the_same_names_in_two_folders_are_not_mixed_up(shelf: Shelf) -> None:
    shelf.fill("a", {"heron.md": "# Heron\n\nIt eats fish all day.\n", "pond.py": "def swim():\n    '''In lakes.'''\n"})
    shelf.fill(
        "b", {"heron.md": "# Heron\n\nIt eats mice all day.\n", "pond.py": "def swim():\n    '''In rivers.'''\n"}
    )
    shelf.add("one", "a")
    shelf.add("two", "b")
    shelf.run()
    assert (shelf.found("fish"), shelf.found("mice")) == ([("one", "heron.md")], [("two", "heron.md")])
    assert (shelf.found("lakes"), shelf.found("rivers")) == ([("one", "pond.py")], [("two", "pond.py")])
    assert shelf.found("heron", "two") == [("two", "heron.md")]
    with shelf.open() as db:
        assert len(db.find("heron.md")) == 2
        [number] = db.find("heron.md#heron", source="two")
        assert "mice" in db.graph.node(number).text


def test_a_change_in_one_folder_moves_nothing_in_the_other(shelf: Shelf) -> None:
    shelf.fill("a")
    shelf.fill("b")
    shelf.add("one", "a")
    shelf.add("two", "b")
    shelf.run()
    digest = shelf.digest("two")
    shelf.write("a/heron.md", "# Heron\n\nA grey bird that waits for frogs.\n")
    (shelf.home / "a/notes.txt").unlink()
    shelf.run()
    assert shelf.digest("two") == digest != shelf.digest("one")
    assert (shelf.found("frogs"), shelf.found("day long")) == ([("one", "heron.md")], [("two", "notes.txt")])
    assert sum(ASKED.values()) == 1


def test_a_file_that_moves_from_one_folder_to_the_other_keeps_its_vectors(shelf: Shelf) -> None:
    shelf.fill("a")
    (shelf.home / "b").mkdir()
    shelf.add("one", "a")
    shelf.add("two", "b")
    shelf.run()
    (shelf.home / "a/heron.md").rename(shelf.home / "b/heron.md")
    shelf.run()
    assert (ASKED, shelf.found("waits")) == (Counter(), [("two", "heron.md")])


def test_a_folder_that_cannot_be_read_does_not_keep_the_others_from_being_read(shelf: Shelf) -> None:
    shelf.fill("a")
    shelf.fill("b")
    shelf.add("one", "a")
    shelf.add("two", "b")
    shelf.run()
    (shelf.home / "a").rename(shelf.home / "away")
    shelf.write("b/heron.md", "# Heron\n\nA grey bird that waits for frogs.\n")
    with pytest.raises(DiscoveryFailed, match="one"):
        shelf.run()
    assert shelf.found("frogs") == [("two", "heron.md")]
    assert ("one", "heron.md") in shelf.found("fish")


# A folder that is renamed.


def test_a_folder_that_was_renamed_loses_nothing_and_is_named(shelf: Shelf) -> None:
    folder = shelf.fill("pond")
    shelf.add("docs", "pond")
    shelf.run()
    keys = shelf.keys("docs")
    folder.rename(shelf.home / "lake")
    with pytest.raises(DiscoveryFailed, match=f"docs.*{folder} is not there"):
        shelf.run()
    assert (shelf.keys("docs"), ASKED) == (keys, Counter())
    assert shelf.found("waits") == [("docs", "heron.md")]


def test_a_folder_that_is_added_again_at_its_new_place_is_not_embedded_anew(shelf: Shelf) -> None:
    folder = shelf.fill("pond")
    shelf.add("docs", "pond")
    shelf.run()
    states = shelf.keys("docs")
    folder.rename(shelf.home / "lake")
    shelf.add("docs", "lake")
    shelf.run()
    assert (ASKED, shelf.keys("docs")) == (Counter(), states)
    shelf.write("lake/heron.md", "# Heron\n\nA grey bird that waits for frogs.\n")
    shelf.run()
    assert (shelf.found("frogs"), sum(ASKED.values())) == ([("docs", "heron.md")], 1)


def test_a_folder_that_is_added_again_at_its_new_place_is_as_one_that_was_never_elsewhere(
    shelf: Shelf, make_database: Callable[[], str]
) -> None:
    folder = shelf.fill("pond")
    shelf.add("docs", "pond")
    shelf.run()
    folder.rename(shelf.home / "lake")
    shelf.add("docs", "lake")
    shelf.run()
    digest = shelf.digest("docs")
    with shelf.open() as db:
        assert db.show(db.find(".", source="docs")[0]).title == "lake"
    shelf.database = make_database()
    shelf.add("docs", "lake")
    shelf.run()
    assert shelf.digest("docs") == digest


def test_a_copy_of_the_folder_at_its_new_place_is_not_embedded_anew(shelf: Shelf) -> None:
    """It has other inodes and times: everything is read, and nothing of it is new."""
    shelf.fill("pond")
    shelf.add("docs", "pond")
    shelf.run()
    states = shelf.keys("docs")
    shelf.fill("copy")
    shelf.add("docs", "copy")
    shelf.run()
    assert (ASKED, shelf.keys("docs")) == (Counter(), states)


def test_another_folder_in_the_place_of_the_renamed_one_takes_its_name(shelf: Shelf) -> None:
    shelf.fill("pond").rename(shelf.home / "lake")
    shelf.fill("pond", {"heron.md": "# Heron\n\nA grey bird that waits for frogs.\n"})
    shelf.add("docs", "lake")
    shelf.run()
    (shelf.home / "lake").rename(shelf.home / "sea")
    (shelf.home / "pond").rename(shelf.home / "lake")
    shelf.run()
    assert {key for key in shelf.keys("docs") if key.startswith("File ")} == {"File heron.md"}
    assert (shelf.found("frogs"), shelf.found("fish")) == ([("docs", "heron.md")], [])


def test_a_file_in_the_place_of_the_folder_loses_nothing(shelf: Shelf) -> None:
    folder = shelf.fill("pond")
    shelf.add("docs", "pond")
    shelf.run()
    keys = shelf.keys("docs")
    folder.rename(shelf.home / "lake")
    folder.write_text("no folder")
    with pytest.raises(DiscoveryFailed):
        shelf.run()
    assert shelf.keys("docs") == keys


# A source within another's folder.


def test_a_source_within_the_folder_of_another_has_what_is_in_it_too(shelf: Shelf) -> None:
    shelf.fill("pond")
    shelf.add("all", "pond")
    shelf.add("code", "pond/src")
    shelf.run()
    assert {key.replace(" ", " src/") for key in shelf.keys("code") if key.startswith("File ")} < set(shelf.keys("all"))
    assert shelf.found("swim", "code") == [("code", "pond/bird.py"), ("code", "pond/fish.py")]
    assert set(ASKED.values()) == {1}
    digest = shelf.digest("all")
    shelf.call("remove", "code", "--yes")
    assert shelf.digest("all") == digest
    shelf.add("code", "pond/src")
    shelf.run()
    assert (ASKED, shelf.digest("all")) == (Counter(), digest)


def test_a_change_in_the_inner_folder_reaches_both_and_is_embedded_once(shelf: Shelf) -> None:
    shelf.fill("pond")
    shelf.add("all", "pond")
    shelf.add("birds", "pond/birds")
    shelf.run()
    shelf.write("pond/birds/stork.md", "# Stork\n\nA white bird that came from the south.\n")
    shelf.run()
    assert shelf.found("south") == [("all", "birds/stork.md"), ("birds", "stork.md")]
    assert list(ASKED.values()) == [1]


def test_what_the_outer_folder_ignores_the_inner_source_has(shelf: Shelf) -> None:
    shelf.fill("pond")
    shelf.write("pond/.gitignore", "birds/\n")
    shelf.add("all", "pond")
    shelf.add("birds", "pond/birds")
    shelf.run()
    assert shelf.found("roofs") == [("birds", "stork.md")]


# A folder that is empty or unreadable.


def refuse(monkeypatch: pytest.MonkeyPatch, folder: Path, error: OSError) -> None:
    """Let a folder not be read: whoever runs the tests may read everything."""
    scan = os.scandir

    def scandir(path: Any = ".") -> Any:
        if Path(path) == folder:
            raise error
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)


FAULTS = [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")]


@pytest.mark.parametrize("fault", FAULTS, ids=["permission", "input"])
def test_a_root_that_cannot_be_read_loses_nothing_and_is_named(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, fault: OSError
) -> None:
    folder = shelf.fill("pond")
    shelf.add("docs", "pond")
    shelf.run()
    keys = shelf.keys("docs")
    refuse(monkeypatch, folder, fault)
    with pytest.raises(DiscoveryFailed, match="docs"):
        shelf.run()
    assert shelf.keys("docs") == keys


def test_a_folder_within_that_fails_to_be_read_loses_nothing(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk or the network failed: nobody knows what is in it."""
    folder = shelf.fill("pond")
    shelf.add("docs", "pond")
    shelf.run()
    with monkeypatch.context() as patched:
        refuse(patched, folder / "birds", OSError(5, "Input/output error"))
        try:
            shelf.run()
        except DiscoveryFailed as failure:
            assert "birds" in str(failure)
    assert shelf.found("roofs") == [("docs", "birds/stork.md")]


def test_a_folder_within_that_may_not_be_read_says_so(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shelf.fill("pond")
    shelf.add("docs", "pond")
    refuse(monkeypatch, folder / "birds", PermissionError(13, "Permission denied"))
    try:
        shelf.run()
    except DiscoveryFailed as failure:
        assert "birds" in str(failure)
        return
    with shelf.open() as db:
        story = db.show(db.find("birds", source="docs")[0])
        told = [story.item.error, *[entry.reason for entry in story.history]]
        told += db.graph.node(story.item.id).properties.get("problems", [])
    assert "read" in " ".join(filter(None, told))


def test_a_folder_that_is_empty_is_empty_and_what_comes_back_is_not_embedded_anew(shelf: Shelf) -> None:
    """An empty folder may be meant: nobody can tell it from one whose disk is not mounted."""
    folder = shelf.fill("pond")
    shelf.add("docs", "pond")
    shelf.run()
    digest = shelf.digest("docs")
    folder.rename(shelf.home / "mounted")
    folder.mkdir()
    shelf.run()
    assert set(shelf.keys("docs")) == {"Directory ."}
    assert shelf.found("fish") == []
    folder.rmdir()
    (shelf.home / "mounted").rename(folder)
    shelf.run()
    assert (ASKED, shelf.digest("docs")) == (Counter(), digest)
