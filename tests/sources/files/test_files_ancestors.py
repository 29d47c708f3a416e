"""How the ancestors fail to move state (lines 17 to 21), on real folders: nothing that was edited is missed, nothing
that was good is lost, nothing waits for ever, and nothing is embedded that did not change."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import detent
from detent import Handler, Item, NewItem, Outcome, Source
from detent.configuration import EmbeddingSettings
from detent.documents import plain
from detent.documents.parsed import Parsed
from detent.embedding import Provider, register
from detent.embedding.provider import Vector, Vectors
from detent.lifecycle import NODE
from detent.sources.files import discovering
from detent.sources.files.linking import Linked, Roots
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import make

Query = Callable[..., list[Any]]
Parse = Callable[[Item], Outcome]

FLAGS: dict[str, object] = {"embedding.provider": "counting", "retry.base_seconds": 0.05}
APPENDING = """
import sys, time
with open(sys.argv[1], "a") as file:
    print("begun", flush=True)
    while True:
        file.write("one more line of the log\\n")
        file.flush()
        time.sleep(0.0001)
"""
PATIENCE_SECONDS = 60.0


class Counting(Provider):
    """Texts with the same words have near vectors. What it was asked to embed is kept in ASKED; queries are not."""

    name = "counting"
    model = "words"
    dimensions = 64
    batch_size = 64

    def __init__(self, settings: EmbeddingSettings) -> None:
        pass

    def embed(self, texts: Sequence[str]) -> Vectors:
        ASKED.extend(texts)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        counts = np.zeros(self.dimensions, np.float32)
        for word in text.lower().split():
            counts[zlib.crc32(word.encode()) % self.dimensions] += 1
        return counts / max(float(np.linalg.norm(counts)), 1e-9)


ASKED: list[str] = []


class Desk:
    """A folder and the database that follows it."""

    def __init__(self, root: Path, database: str, query: Query) -> None:
        self.root = root
        self.database = database
        self.query = query
        self.flags = FLAGS
        self._age = itertools.count(1_000_000, -10)

    def write(self, path: str, text: str | bytes) -> None:
        """Write a file as if it had been a while ago, but later than what was written before."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        then = file.stat().st_mtime - next(self._age)
        os.utime(file, (then, then))

    def source(self) -> Source:
        return make("docs", FolderSettings(self.root).as_data())

    def open(self, source: Source | None = None) -> detent.Detent:
        return detent.open(database=self.database, sources=source or self.source(), flags=self.flags)

    def run(self, source: Source | None = None) -> detent.Report:
        ASKED.clear()
        with self.open(source) as db:
            return db.run()

    def states(self) -> dict[str, str]:
        with self.open() as db:
            return {item.key: item.state for item in db.items(limit=10_000).items}

    def found(self, words: str, mode: str = "text") -> list[str]:
        """The passages that a search finds; of those that are near in meaning, the ones that are very near."""
        with self.open() as db:
            hits = db.search(words, mode=mode, limit=50, grouped=False).hits
        return [hit.key for hit in hits if mode == "text" or hit.parts["semantic"] > 0.8]

    def moves(self) -> int:
        return int(self.query("SELECT count(*) AS count FROM move")[0].count)


@pytest.fixture
def desk(tmp_path: Path, database: str, query: Query) -> Desk:
    register("counting", Counting)
    ASKED.clear()
    root = tmp_path / "folder"
    root.mkdir()
    return Desk(root, database, query)


def with_parsing(source: Source, parse: Callable[[Item, Parse], Outcome]) -> Source:
    """The source with something done around its own parsing."""
    [parsing, linking] = source.handlers
    own: Any = parsing.function
    handlers = [Handler("parsing", lambda item: parse(item, own), reads="node"), linking]
    return Source(source.name, source.lifecycles, handlers, source.discover, complete=source.complete)


# A node edited while it was being processed was not processed again.


def test_a_file_edited_between_reading_and_settling_is_parsed_again_by_the_next_run(desk: Desk) -> None:
    """ANCESTORS 17: what was read is written, and the edit is not taken for done."""
    desk.write("heron.md", "# Heron\n\nA grey bird that waits for fish.\n")

    def edited(item: Item, parse: Parse) -> Outcome:
        outcome = parse(item)
        if item.key == "heron.md":
            desk.write("heron.md", "# Heron\n\nA white bird that waits for frogs.\n")
        return outcome

    desk.run(with_parsing(desk.source(), edited))
    assert desk.found("fish") == ["heron.md#heron"]
    desk.run()
    assert (desk.found("fish"), desk.found("frogs")) == ([], ["heron.md#heron"])


def test_a_file_edited_in_the_same_instant_with_the_same_size_is_parsed_again(desk: Desk) -> None:
    """ANCESTORS 17: no clock is fine enough to tell the two versions from each other."""
    file = desk.root / "heron.md"
    file.write_text("# Heron\n\nA grey bird that waits for fish.\n")
    instant = file.stat().st_mtime_ns

    def edited(item: Item, parse: Parse) -> Outcome:
        outcome = parse(item)
        if item.key == "heron.md":
            file.write_text("# Heron\n\nA grey bird that waits for frog.\n")
            os.utime(file, ns=(instant, instant))
        return outcome

    desk.run(with_parsing(desk.source(), edited))
    desk.run()
    assert (desk.found("fish"), desk.found("frog")) == ([], ["heron.md#heron"])


def test_a_file_edited_twice_in_an_instant_of_a_long_discovery_is_parsed_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ANCESTORS 17: what was written while the folder is gone through was written a moment ago, too."""
    now = 2_000_000_000.0
    desk.write("a/stork.md", "# Stork\n\nA white bird that lives on roofs.\n")
    file = desk.root / "b/heron.md"
    desk.write("b/heron.md", "# Heron\n\nA grey bird that waits for eels.\n")
    monkeypatch.setattr(discovering, "time", SimpleNamespace(time=lambda: now))
    source = desk.source()
    assert source.discover is not None
    discover = source.discover

    def slow() -> Iterator[NewItem]:
        nonlocal now
        for item in cast(Iterable[NewItem], discover()):
            if item.key == "a/stork.md":  # what is in the folder after it has not been looked at
                now += 60
                file.write_text("# Heron\n\nA grey bird that waits for fish.\n")
                os.utime(file, (now, now))
            yield item

    desk.run(Source("docs", source.lifecycles, source.handlers, slow, complete=source.complete))
    file.write_text("# Heron\n\nA grey bird that waits for frog.\n")
    os.utime(file, (now, now))
    now += 60
    desk.run()
    assert (desk.found("fish"), desk.found("frog")) == ([], ["b/heron.md#heron"])


def test_a_file_whose_edit_is_seen_while_it_is_parsed_goes_round_again_in_the_same_run(desk: Desk) -> None:
    """ANCESTORS 17: as it is with a folder that is watched."""
    desk.write("heron.md", "# Heron\n\nA grey bird that waits for fish.\n")
    parsed: list[str] = []

    def edited(item: Item, parse: Parse) -> Outcome:
        outcome = parse(item)
        parsed.append(item.key)
        if parsed.count("heron.md") == 1 and item.key == "heron.md":
            desk.write("heron.md", "# Heron\n\nA white bird that waits for frogs.\n")
            with desk.open() as watching:
                watching.discover()
        return outcome

    desk.run(with_parsing(desk.source(), edited))
    assert parsed.count("heron.md") == 2
    assert (desk.found("fish"), desk.found("frogs")) == ([], ["heron.md#heron"])


def test_a_file_edited_while_it_is_linked_is_parsed_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """ANCESTORS 17: in the stage after parsing too, to which a file comes whose links could not be found."""
    desk.write("heron.md", "# Heron\n\nA grey bird that waits for fish.\n")
    source = desk.source()
    [parsing, linking] = source.handlers
    link: Any = linking.function

    def broken(path: str, parsed: Parsed, roots: Roots) -> Linked:
        raise ValueError("no links")

    def edited(item: Item) -> Outcome:
        monkeypatch.undo()
        if "frogs" not in (desk.root / "heron.md").read_text():
            desk.write("heron.md", "# Heron\n\nA white bird that waits for frogs.\n")
            with desk.open() as watching:
                watching.discover()
        outcome: Outcome = link(item)
        return outcome

    monkeypatch.setattr("detent.sources.files.linking.links", broken)
    handlers = [parsing, Handler("linking", edited, reads="node")]
    desk.run(Source("docs", source.lifecycles, handlers, source.discover, complete=source.complete))
    assert (desk.found("fish"), desk.found("frogs")) == ([], ["heron.md#heron"])


def test_a_file_that_another_program_appends_to_all_the_time_is_complete_in_the_end(desk: Desk) -> None:
    """ANCESTORS 17: the run ends while the file grows, and what was read is what the file was at one moment."""
    desk.write("heron.md", "# Heron\n\nA grey bird that waits for fish.\n")
    desk.write("growing.log", "the first line of the log\n" * 100_000)
    program = [sys.executable, "-c", APPENDING, str(desk.root / "growing.log")]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as appending:
        try:
            assert appending.stdout is not None and appending.stdout.readline() == b"begun\n"
            desk.run()
            assert desk.states()["heron.md#heron"] == "ready"
            with desk.open() as db:
                growing = db.show(db.find("growing.log")[0]).item
            assert growing.state == "ready" or "written to while it was read" in str(growing.error)
        finally:
            appending.kill()
    with (desk.root / "growing.log").open("r+") as log:
        log.seek(0, os.SEEK_END)
        log.write("\nand here the kingfisher ended it\n")
    desk.run()
    assert desk.states()["growing.log"] == "ready"
    assert [key.partition("~")[0] for key in desk.found("kingfisher")] == ["growing.log"]
    assert set(desk.states().values()) <= {"ready", "skip"}


# Nodes were deleted before their file was parsed again.


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "markdown", "source": cell} for cell in cells], "nbformat": 4})


CELLS = [f"# Bird {number}\n\nIt waits for fish number {number} in the water." for number in range(5)]


def test_a_file_that_no_longer_parses_loses_nothing_and_nothing_is_paid_twice(desk: Desk) -> None:
    """ANCESTORS 18: its nodes, texts and vectors stay, and are found as stale; after the repair, one text is new."""
    desk.write("birds.ipynb", notebook(*CELLS))
    desk.run()
    before = {key: state for key, state in desk.states().items() if "#" in key}
    embeddings = desk.query("SELECT item_id, hash FROM embedding ORDER BY item_id")
    assert len(before) == 5 and set(before.values()) == {"ready"}

    desk.write("birds.ipynb", notebook(*CELLS)[:-20])
    report = desk.run()

    assert (report.failed, desk.states()["birds.ipynb"], ASKED) == (1, "error", [])
    assert {key: state for key, state in desk.states().items() if "#" in key} == before
    assert desk.query("SELECT item_id, hash FROM embedding ORDER BY item_id") == embeddings
    with desk.open() as db:
        for mode in ("text", "semantic", "hybrid"):
            hit = db.search("fish number 3 in the water", mode=mode).hits[0]
            assert (hit.key, hit.stale) == ("birds.ipynb", True), mode
        failed = db.show(db.find("birds.ipynb")[0])
    assert (failed.item.error_kind, failed.item.trouble) == ("parse", "malformed")
    assert failed.item.error and failed.error_at

    desk.write("birds.ipynb", notebook(*CELLS[:3], CELLS[3].replace("fish", "frog"), CELLS[4]))
    desk.run()
    assert desk.states()["birds.ipynb"] == "ready"
    assert len(ASKED) == 1 and "frog number 3" in ASKED[0]
    with desk.open() as db:
        hit = db.search("frog number 3", mode="text").hits[0]
        repaired = db.show(db.find("birds.ipynb")[0]).item
    assert (hit.key, hit.stale, repaired.error_kind, repaired.error) == ("birds.ipynb", False, None, None)


def test_a_file_that_is_repaired_to_what_it_was_embeds_nothing(desk: Desk) -> None:
    """ANCESTORS 18: the last good version is still there to compare with."""
    desk.write("birds.ipynb", notebook(*CELLS))
    desk.run()
    desk.write("birds.ipynb", "{")
    desk.run()
    desk.write("birds.ipynb", notebook(*CELLS))
    desk.run()
    assert ASKED == []
    assert set(desk.states().values()) <= {"ready", "skip"}
    with desk.open() as db:
        assert not db.search("fish number 3 in the water").hits[0].stale


def test_a_parser_that_raises_loses_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """ANCESTORS 18: a fault of Detent's own is the file's error like any other."""
    desk.write("notes.txt", "A grey bird that waits for fish.\n")
    desk.run()
    desk.write("notes.txt", "A white bird that waits for frogs.\n")
    with monkeypatch.context() as patched:

        def fail(data: bytes) -> tuple[str, list[str]]:
            raise ZeroDivisionError("division by zero")

        patched.setattr(plain, "read", fail)
        assert desk.run().failed == 1
    assert desk.found("fish") == ["notes.txt"]
    assert desk.found("A grey bird that waits for fish.", "semantic") == ["notes.txt"]
    with desk.open() as db:
        assert db.search("fish", mode="text").hits[0].stale
        assert "division by zero" in str(db.show(db.find("notes.txt")[0]).item.error)
        db.retry(db.find("notes.txt"))
    desk.run()
    assert (desk.found("fish"), desk.found("frogs")) == ([], ["notes.txt"])


def test_a_file_that_may_not_be_read_any_more_loses_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """ANCESTORS 18: it is the same for one that cannot even be opened."""
    desk.write("notes.txt", "A grey bird that waits for fish.\n")
    desk.run()
    desk.write("notes.txt", "A white bird that waits for frogs.\n")
    opening = os.open

    def refuse(path: Any, *arguments: Any, **details: Any) -> int:
        if str(path).endswith("notes.txt"):  # whoever runs the tests may read everything
            raise PermissionError(13, "Permission denied")
        return opening(path, *arguments, **details)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        assert desk.run().failed == 1
    with desk.open() as db:
        assert [(hit.key, hit.stale) for hit in db.search("fish", mode="text").hits] == [("notes.txt", True)]


# Nodes that no stage wanted stayed in `linked`, and the loop spun on them.

UNWANTED: dict[str, str | bytes] = {
    "empty.md": "",
    "blank.txt": " \n\t\n",
    "short.txt": "no",
    "heading.md": "# A\n",
    "headings.md": "# A\n\n## B\n\n### C\n",
    "empty.py": "",
    "constant.py": "A = 1\n",
    "method.py": "def f(): ...\n",
    "empty.json": "{}",
    "list.yaml": "[]",
    "empty.ipynb": '{"cells": []}',
    "blob": bytes(range(256)),
    "archive.zip": b"PK\x05\x06" + bytes(18),
    "dot.png": b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + b"\0\0\0\1\0\0\0\1\x08\0\0\0\0",
    "page.html": "<html></html>",
    "strange.q7z": "The ending says nothing, the text does.",
}


def test_what_no_stage_wants_comes_to_rest_and_the_run_ends(desk: Desk) -> None:
    """ANCESTORS 19: too short, empty, of an unknown ending, binary."""
    for name, data in UNWANTED.items():
        desk.write(f"inside/{name}", data)
    (desk.root / "nothing").mkdir()
    report = desk.run()
    assert (report.waiting, report.later, report.failed) == (0, 0, 0)
    states = desk.states()
    assert {f"inside/{name}" for name in UNWANTED} < set(states)
    assert not {key: state for key, state in states.items() if state not in {"ready", "skip"}}
    assert states["inside/strange.q7z"] == "ready"
    assert {states[f"inside/{name}"] for name in ("empty.md", "short.txt", "blob", "dot.png")} == {"skip"}


def test_what_came_to_rest_is_not_worked_on_by_the_next_run(desk: Desk) -> None:
    """ANCESTORS 19: the loop does not find it again and again."""
    for name, data in UNWANTED.items():
        desk.write(name, data)
    desk.run()
    before = desk.moves()
    assert desk.run().done == 0
    assert (desk.moves(), ASKED) == (before, [])


def test_labels_that_get_no_vector_come_to_rest(desk: Desk) -> None:
    """ANCESTORS 19: those that the configuration names, and the reason is told."""
    desk.flags = {**FLAGS, "embedding.skip_labels": ["Scope", "File", "Nobody"]}
    desk.write("heron.md", "# Heron\n\nA grey bird that waits for fish.\n")
    desk.write("heron.py", "def wait():\n    '''Wait for the fish to come.'''\n")
    report = desk.run()
    assert report.waiting == 0
    states = desk.states()
    assert (states["heron.py#wait"], states["heron.py"], states["heron.md#heron"]) == ("skip", "skip", "ready")
    with desk.open() as db:
        reasons = [entry.reason for entry in db.history(db.find("heron.py#wait")[0])]
    assert "label Scope" in str(reasons[-1])
    assert "heron.py#wait" in desk.found("wait for the fish")


def test_no_state_of_a_file_is_one_that_nobody_works_on(desk: Desk) -> None:
    """ANCESTORS 19: for every label and every state in which items wait there is somebody."""
    source = desk.source()
    served = {label for label, lifecycle in source.lifecycles.items() if "linked" in lifecycle.waiting}
    assert served == set(source.lifecycles)
    for state in NODE.waiting - {"linked"}:
        handlers = [
            each for each in source.handlers if any(m.state == state and m.to == each.state for m in NODE.moves)
        ]
        labels = {label for each in handlers for label in source.stage_labels(each)}
        assert labels == {label for label, lifecycle in source.lifecycles.items() if state in lifecycle.waiting}


# Whole files were embedded again for one changed function.


def code(changed: int | None = None) -> str:
    functions = [
        f"def catch_{number}(water):\n    '''Catch fish number {number}.'''\n    return water + {number}\n"
        for number in range(50)
    ]
    if changed is not None:
        functions[changed] = functions[changed].replace("return water +", "return water -")
    return "'''Fishing.'''\n\n\n" + "\n\n".join(functions)


def sections(changed: int | None = None) -> str:
    texts = [f"## Fish {number}\n\nHow the heron catches fish number {number}.\n" for number in range(50)]
    if changed is not None:
        texts[changed] = texts[changed].replace("heron", "stork")
    return "# Fishing\n\nOf birds and fish.\n\n" + "\n".join(texts)


def lines(changed: int | None = None) -> str:
    return "A grey bird that waits for fish.\n" * 200


VERSIONS: dict[str, Callable[[int | None], str]] = {"fishing.py": code, "fishing.md": sections}


@pytest.mark.parametrize("name", VERSIONS)
def test_one_changed_part_of_fifty_embeds_one(desk: Desk, name: str) -> None:
    """ANCESTORS 20: a function, and a section."""
    desk.write(name, VERSIONS[name](None))
    desk.run()
    assert len(ASKED) >= 50
    desk.write(name, VERSIONS[name](17))
    desk.run()
    assert len(ASKED) == 1 and "17" in ASKED[0]


@pytest.mark.parametrize("name", VERSIONS)
def test_one_changed_part_of_fifty_embeds_one_when_the_file_is_moved_as_well(desk: Desk, name: str) -> None:
    """ANCESTORS 20: to another folder."""
    desk.write(name, VERSIONS[name](None))
    desk.run()
    (desk.root / name).unlink()
    desk.write(f"birds/of/water/{name}", VERSIONS[name](17))
    desk.run()
    assert len(ASKED) == 1 and "17" in ASKED[0]
    assert all(key.startswith("birds") or key == "." for key in desk.states())


@pytest.mark.parametrize("name", ["notes.txt", *VERSIONS])
def test_a_file_that_is_renamed_embeds_nothing(desk: Desk, name: str) -> None:
    """ANCESTORS 20: its words are what they were."""
    desk.write(name, VERSIONS.get(name, lines)(None))
    desk.run()
    assert ASKED
    (desk.root / name).rename(desk.root / f"renamed_{name}")
    desk.run()
    assert ASKED == []


def test_parts_that_change_places_embed_nothing(desk: Desk) -> None:
    """ANCESTORS 20: an order is no text."""
    first, *others = code().split("\n\n\n")
    desk.write("fishing.py", "\n\n\n".join([first, *others]) + "\n")
    desk.run()
    desk.write("fishing.py", "\n\n\n".join([first, *reversed(others)]) + "\n")
    desk.run()
    assert len(ASKED) <= 1, ASKED


# Edited documents with the same title were never indexed again, and deletions were not used.


def test_documents_of_the_same_title_are_each_indexed_again_when_edited(desk: Desk) -> None:
    """ANCESTORS 21: by words and by meaning, the new text is found and the old one is not."""
    for number, food in enumerate(("fish", "frogs", "mice")):
        desk.write(f"{number}/guide.md", f"# Guide\n\nThe heron of this place eats {food} only.\n")
    desk.run()
    assert desk.found("frogs") == ["1/guide.md#guide"]
    desk.write("1/guide.md", "# Guide\n\nThe heron of this place eats snails only.\n")
    desk.run()
    assert (desk.found("frogs"), desk.found("snails")) == ([], ["1/guide.md#guide"])
    assert (desk.found("fish"), desk.found("mice")) == (["0/guide.md#guide"], ["2/guide.md#guide"])
    assert desk.found("Guide The heron of this place eats snails only.", "semantic")[0] == "1/guide.md#guide"
    assert len(ASKED) == 1


def test_sections_of_the_same_title_in_one_file_are_indexed_again_when_edited(desk: Desk) -> None:
    """ANCESTORS 21: the title is not what a section is known by."""
    text = (
        "# Notes\n\n## Day\n\nThe heron eats fish.\n\n## Day\n\nThe heron eats frogs.\n\n## Day\n\nThe heron sleeps.\n"
    )
    desk.write("diary.md", text)
    desk.run()
    desk.write("diary.md", text.replace("frogs", "snails"))
    desk.run()
    assert (desk.found("frogs"), len(desk.found("snails")), len(ASKED)) == ([], 1, 1)
    assert len(desk.found("heron")) == 3


def test_deleted_files_leave_the_graph_the_search_and_the_vectors(desk: Desk) -> None:
    """ANCESTORS 21: with everything that they brought, and folders likewise."""
    desk.write("birds/heron.md", "# Heron\n\nA grey bird, see [the stork](stork.md) and <https://example.org/heron>.\n")
    desk.write("birds/stork.md", "# Stork\n\nA white bird that lives on roofs.\n")
    desk.write("birds/old/crane.md", "# Crane\n\nA dancing bird of the marshes.\n")
    desk.write("fishing.py", code())
    desk.run()
    (desk.root / "birds/heron.md").unlink()
    (desk.root / "birds/old/crane.md").unlink()
    (desk.root / "birds/old").rmdir()
    (desk.root / "fishing.py").unlink()
    desk.run()
    assert set(desk.states()) == {".", "birds", "birds/stork.md", "birds/stork.md#stork"}
    for words in ("Heron grey", "Crane dancing marshes", "catch fish number 17"):
        assert desk.found(words) == []
        assert desk.found(words, "semantic") == []
    counts = "SELECT (SELECT count(*) FROM node) AS nodes, (SELECT count(*) FROM embedding) AS embeddings"
    [left] = desk.query(counts)
    assert (left.nodes, left.embeddings) == (4, 1)


@pytest.mark.parametrize("became", ["link", "pipe", "large"])
def test_a_file_of_which_nothing_is_taken_any_more_leaves_the_search_and_the_vectors(desk: Desk, became: str) -> None:
    """ANCESTORS 21: what was read of it before is no longer in the folder."""
    file = desk.root / "heron.md"
    desk.write("heron.md", "# Heron\n\nA grey bird that waits for fish.\n")
    desk.run()
    file.unlink()
    if became == "link":
        (desk.root.parent / "elsewhere.md").write_text("# Elsewhere\n")
        file.symlink_to(desk.root.parent / "elsewhere.md")
    elif became == "pipe":
        os.mkfifo(file)
    else:
        with file.open("wb") as large:
            large.truncate(20_000_000)
    desk.run()
    assert desk.states() == {".": "skip", "heron.md": "skip"}
    assert (desk.found("fish"), desk.found("A grey bird that waits for fish.", "semantic")) == ([], [])
    assert desk.query("SELECT item_id FROM embedding") == []


class Racing(threading.Thread):
    """Edits a file again and again while runs go on, until it is told to stop; the last version is the one that says
    so."""

    def __init__(self, desk: Desk, path: str) -> None:
        super().__init__()
        self._desk, self._path = desk, path
        self.stop = threading.Event()

    def run(self) -> None:
        file = self._desk.root / self._path
        for number in itertools.count():
            file.write_text(f"# Race\n\nThe heron is at number {number:08} of its race.\n")
            if self.stop.wait(0.001):
                break
        file.write_text("# Race\n\nThe heron is at the finish of its race!\n")


def test_whenever_a_file_is_edited_the_last_version_is_what_is_found_in_the_end(desk: Desk) -> None:
    """ANCESTORS 17 and 21: edits fall before, into and after every stage."""
    racing = Racing(desk, "race.md")
    racing.start()
    for _ in range(4):
        desk.run()
    racing.stop.set()
    racing.join()
    desk.run()
    assert (desk.found("finish"), desk.found("number")) == (["race.md#race"], [])
