"""Another version of a parser, of linking, of the settings or another model: what depends on it is done again, and
nothing else. And what is told of a file: all the properties that the document "Machine à états universelle" (002)
lists."""

from __future__ import annotations

import itertools
import json
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detent
from detent.cli import main
from detent.configuration import EmbeddingSettings
from detent.documents import formats
from detent.documents.parsed import Parsed
from detent.embedding import Provider, register
from detent.embedding.provider import Vectors
from detent.interfaces import NodeStateMachine
from detent.sources.files import discovering, handling, linking
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import make

Query = Callable[..., list[Any]]

LONG = "\n".join(f"Sentence number {number} of a text that is long enough to be split.\n" for number in range(60))
FILES: dict[str, str | bytes] = {
    "heron.md": "# Heron\n\nA grey bird that waits for fish.\n\n## Nest\n\nIt stands in high trees.\n",
    "stork.md": "# Stork\n\nA white bird, see [the heron](heron.md#nest).\n",
    "pond.py": "import water\n\n\ndef swim():\n    '''Swim in the pond.'''\n    water.flow()\n",
    "water.py": "def flow():\n    '''Flow down to the sea.'''\n",
    "notes.txt": "Of birds and fish, and what they do all day long.\n",
    "long.txt": LONG,
    "blob": bytes(range(256)),
    "sound.mp3": b"ID3" + bytes(100),
}


class Counting(Provider):
    """Notes the texts that it was asked to embed. Each model makes other vectors."""

    name = "counting"
    dimensions = 16
    batch_size = 64

    def __init__(self, settings: EmbeddingSettings) -> None:
        self.model = settings.model or "first"

    def embed(self, texts: Sequence[str]) -> Vectors:
        ASKED.extend(texts)
        seeds = [zlib.crc32(f"{self.model} {text}".encode()) for text in texts]
        rows = [np.random.default_rng(seed).random(self.dimensions) for seed in seeds]
        vectors: Vectors = np.array([row / np.linalg.norm(row) for row in rows], np.float32)
        return vectors


ASKED: list[str] = []
PARSED: list[str] = []


class Desk:
    """A folder and the database that follows it."""

    def __init__(self, root: Path, database: str, query: Query) -> None:
        self.root = root
        self.database = database
        self.query = query
        self.settings: dict[str, Any] = {}
        self.model = "first"
        self._age = itertools.count(1_000_000, -10)

    def write(self, path: str, text: str | bytes) -> None:
        """Write a file as if it had been a while ago, but later than what was written before."""
        file = self.root / path
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        then = file.stat().st_mtime - next(self._age)
        os.utime(file, (then, then))

    def open(self) -> detent.Detent:
        flags: dict[str, object] = {"embedding.provider": "counting", "embedding.model": self.model}
        source = make("docs", FolderSettings(self.root, **self.settings).as_data())
        return detent.open(database=self.database, sources=source, flags=flags)

    def run(self) -> detent.Report:
        ASKED.clear()
        PARSED.clear()
        with self.open() as db:
            return db.run()

    def digest(self) -> str:
        with self.open() as db:
            return db.graph.digest().digest

    def found(self, words: str) -> set[str]:
        with self.open() as db:
            return {hit.key for hit in db.search(words, mode="text", limit=50).hits}

    def nodes(self) -> list[Any]:
        """What all nodes say, without the versions of those that read it."""
        columns = "item.key, item.state, node.title, node.text, node.properties"
        return self.query(f"SELECT {columns} FROM node JOIN item ON item.id = node.item_id ORDER BY 1")  # noqa: S608

    def edges(self) -> int:
        return int(self.query("SELECT count(*) AS count FROM edge")[0].count)

    def passages(self, key: str) -> list[str]:
        rows = self.query("SELECT text FROM node JOIN item ON item.id = node.item_id WHERE key LIKE %s", f"{key}%")
        return [row.text for row in rows]

    def story(self, key: str) -> dict[str, Any]:
        with self.open() as db:
            machine = NodeStateMachine(db)
            found = machine.get_node(key)
        assert found is not None
        return vars(found)


@pytest.fixture
def desk(tmp_path: Path, database: str, query: Query, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A folder that was read, and of which it is counted what is parsed from now on."""
    register("counting", Counting)
    parse = formats.parse

    def counted(data: bytes, path: str) -> Parsed:
        PARSED.append(path)
        return parse(data, path)

    monkeypatch.setattr(handling, "parse", counted)
    root = tmp_path / "folder"
    root.mkdir()
    made = Desk(root, database, query)
    for path, text in FILES.items():
        made.write(path, text)
    made.run()
    assert sorted(PARSED) == sorted(FILES)
    return made


@pytest.fixture
def renew(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Gives the parser of a kind of files another version."""

    def give(name: str) -> None:
        def newer(kind: formats.Format) -> formats.Format:
            return replace(kind, version=kind.version + 1) if kind.name == name else kind

        known = {
            kind: newer(kind) for kind in {*formats._BY_ENDING.values(), formats.PLAIN, formats.MEDIA, formats.CODE}
        }
        monkeypatch.setattr(formats, "_BY_ENDING", {ending: known[kind] for ending, kind in formats._BY_ENDING.items()})
        for constant in ("PLAIN", "MEDIA", "CODE"):
            monkeypatch.setattr(formats, constant, known[getattr(formats, constant)])

    return give


# Another version of a parser.

OF_KIND = {
    "markdown": ["heron.md", "stork.md"],
    "code": ["pond.py", "water.py"],
    "text": ["blob", "long.txt", "notes.txt"],
    "media": ["blob", "sound.mp3"],
    "pdf": [],
}
"""What has to be parsed with another version of each parser. What is in `blob` is known when it is read."""


@pytest.mark.parametrize("kind", OF_KIND)
def test_another_version_of_a_parser_parses_the_files_of_its_kind_and_embeds_nothing(
    desk: Desk, renew: Callable[[str], None], kind: str
) -> None:
    nodes = desk.nodes()
    renew(kind)
    desk.run()
    assert sorted(PARSED) == OF_KIND[kind]
    assert (ASKED, desk.nodes()) == ([], nodes)
    desk.run()
    assert (PARSED, ASKED) == ([], [])


def test_another_version_that_finds_other_texts_embeds_only_these(
    desk: Desk, renew: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = formats._parser

    def better(place: str) -> formats.Parse:
        def parse(data: bytes, name: str) -> Parsed:
            parsed = parser(place)(data, name)
            return replace(parsed, parts=[replace(p, text=p.text.replace("fish", "eels")) for p in parsed.parts])

        return parse

    monkeypatch.setattr(formats, "_parser", better)
    desk.run()
    assert (PARSED, ASKED) == ([], [])
    renew("markdown")
    desk.run()
    assert (sorted(PARSED), len(ASKED)) == (["heron.md", "stork.md"], 1)
    assert (desk.found("eels"), "heron.md" in desk.found("fish")) == ({"heron.md"}, False)


def test_a_file_that_failed_is_tried_again_with_another_version_of_its_parser(
    desk: Desk, renew: Callable[[str], None]
) -> None:
    desk.write("broken.ipynb", "{")
    assert (desk.run().failed, desk.run().failed) == (1, 1)
    assert PARSED == []
    renew("notebook")
    desk.run()
    assert PARSED == ["broken.ipynb"]


# Another version of linking.


def test_another_version_of_linking_links_again_and_embeds_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    links, digest, edges = linking.links, desk.digest(), desk.edges()
    version = linking.VERSION

    def none(path: str, parsed: Parsed, roots: linking.Roots) -> linking.Linked:
        return linking.Linked({}, ())

    with monkeypatch.context() as patched:
        patched.setattr(linking, "links", none)
        desk.run()
        assert desk.edges() == edges
        for module in (linking, discovering):
            patched.setattr(module, "VERSION", version + 1)
        desk.run()
    assert (ASKED, desk.digest() == digest, desk.edges() < edges) == ([], False, True)
    assert linking.links is links
    desk.run()
    assert (ASKED, desk.digest(), desk.edges()) == ([], digest, edges)


# Another model.


def test_another_model_embeds_everything_again_and_parses_nothing(desk: Desk, query: Query) -> None:
    embedded = query("SELECT DISTINCT hash FROM embedding")
    digest = desk.digest()
    desk.model = "second"
    desk.run()
    assert (PARSED, len(ASKED), len(set(ASKED))) == ([], len(embedded), len(embedded))
    assert desk.digest() == digest
    assert {row.model for row in query("SELECT model FROM embedding")} == {"second"}
    assert {row.state for row in query("SELECT state FROM item")} == {"ready", "skip"}
    with desk.open() as db:
        hit = db.search(LONG.splitlines()[0], mode="semantic").hits[0]
        assert db.wait(db.asynchronous.store.vectors.current()).name == "second"  # type: ignore[union-attr]
    assert hit.parts
    desk.run()
    assert (PARSED, ASKED) == ([], [])


def test_a_file_that_changes_with_the_model_is_parsed_alone(desk: Desk) -> None:
    desk.model = "second"
    desk.write("heron.md", "# Heron\n\nA grey bird that waits for frogs.\n")
    desk.run()
    assert PARSED == ["heron.md"]
    assert desk.found("frogs") == {"heron.md"}


def test_another_version_and_another_model_at_once_lose_nothing(desk: Desk, renew: Callable[[str], None]) -> None:
    nodes = desk.nodes()
    renew("markdown")
    desk.model = "second"
    desk.run()
    assert (sorted(PARSED), desk.nodes()) == (["heron.md", "stork.md"], nodes)
    assert len(ASKED) == len(set(ASKED)) > 4


# Other settings of the folder.


def test_another_size_of_passages_splits_again(desk: Desk) -> None:
    before = desk.passages("long.txt")
    desk.settings = {"passage_size": 500}
    desk.run()
    after = desk.passages("long.txt")
    assert len(after) > len(before)
    assert max(map(len, after)) <= 500 < max(map(len, before))
    assert ASKED and all(any(text.endswith(passage) for passage in after) for text in ASKED)
    desk.settings = {}
    desk.run()
    assert (sorted(desk.passages("long.txt")), ASKED) == (sorted(before), [])


def test_a_higher_limit_reads_what_was_too_large_and_a_lower_one_leaves_it_out(desk: Desk) -> None:
    desk.settings = {"most_bytes": 500}
    desk.run()
    assert desk.found("sentence") == set()
    desk.settings = {"most_bytes": 1_000_000}
    desk.run()
    assert (desk.found("sentence"), PARSED) == ({"long.txt"}, ["long.txt"])


def test_what_is_no_longer_wanted_because_it_is_hidden_is_no_longer_found(desk: Desk) -> None:
    desk.settings = {"hidden": True}
    desk.write(".diary.md", "# Diary\n\nWhat nobody is to read, of the kingfisher.\n")
    desk.run()
    assert desk.found("kingfisher") == {".diary.md"}
    desk.settings = {}
    desk.run()
    assert desk.found("kingfisher") == set()
    with desk.open() as db:
        reasons = [entry.reason for entry in db.history(db.find(".diary.md")[0])]
    assert "It is hidden." in reasons


# What is told of a file.


def test_python_tells_all_properties_of_a_file_that_is_ready(desk: Desk) -> None:
    told = desk.story("notes.txt")
    assert (told["label"], told["project_id"], told["state"]) == ("File", "docs", "ready")
    times = [told[name] for name in ("detected_at", "parsed_at", "linked_at", "embedded_at")]
    assert times == sorted(times) and told["state_changed_at"] == told["embedded_at"]
    assert (told["embedding_provider"], told["embedding_model"]) == ("counting", "first")
    assert told["content_hash"] and told["embedding_hash"]
    assert (told["retry_count"], told["error_type"], told["error_message"]) == (0, None, None)


def test_the_hashes_and_times_of_a_file_are_others_when_its_content_is(desk: Desk) -> None:
    before = desk.story("notes.txt")
    desk.write("notes.txt", "Of frogs and snails, and what they do all day long.\n")
    desk.run()
    after = desk.story("notes.txt")
    for name in ("state_changed_at", "parsed_at", "linked_at", "embedded_at"):
        assert after[name] > before[name]
    assert after["detected_at"] == before["detected_at"]
    for name in ("content_hash", "embedding_hash"):
        assert after[name] != before[name]


def test_python_tells_why_a_file_failed_and_how_often(desk: Desk) -> None:
    desk.write("broken.ipynb", "{")
    desk.run()
    told = desk.story("broken.ipynb")
    assert (told["state"], told["error_type"], told["retry_count"]) == ("error", "parse", 1)
    assert told["error_message"]
    assert (told["parsed_at"], told["linked_at"], told["embedded_at"]) == (None, None, None)
    with desk.open() as db:
        assert NodeStateMachine(db).retry_errors(error_type="parse") == 1
    desk.run()
    assert desk.story("broken.ipynb")["retry_count"] == 2


def test_parts_of_a_file_tell_theirs(desk: Desk) -> None:
    with desk.open() as db:
        story = db.show(db.find("heron.md#nest")[0])
    assert story.embedding is not None
    assert (story.embedding.provider, story.embedding.model) == ("counting", "first")
    assert story.embedding.hash is not None and story.reached["ready"] == story.item.since


@pytest.fixture
def said(desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Calls the command, and returns what it printed."""
    monkeypatch.chdir(desk.root.parent)

    def call(*arguments: str) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(["--database", desk.database, *arguments])
        assert left.value.code == 0
        return capsys.readouterr().out

    return call


def test_show_tells_all_properties_of_a_file_that_is_ready(desk: Desk, said: Callable[..., str]) -> None:
    told = desk.story("notes.txt")
    shown = json.loads(said("show", "notes.txt", "--json"))
    item, reached = shown["item"], shown["reached"]
    assert datetime.fromisoformat(item["since"]) == told["state_changed_at"]
    assert datetime.fromisoformat(item["added_at"]) == told["detected_at"]
    moments = {"parsed": "parsed_at", "linked": "linked_at", "ready": "embedded_at"}
    assert {datetime.fromisoformat(reached[state]) for state in moments} == {told[name] for name in moments.values()}
    assert (item["state"], item["content_hash"]) == ("ready", told["content_hash"])
    assert (shown["embedding"]["provider"], shown["embedding"]["model"]) == ("counting", "first")
    assert shown["embedding"]["hash"]
    assert (item["attempt"], item["error_kind"], item["error"]) == (0, None, None)
    page = said("show", "notes.txt")
    assert {"ready, since", "Added", "Content hash", "by counting first; hash of the text"} <= _known(page)
    for move in ("parsing → parsed", "linking → linked", "embedding → ready"):
        assert move in page


def test_show_tells_why_a_file_failed(desk: Desk, said: Callable[..., str]) -> None:
    desk.write("broken.ipynb", "{")
    desk.run()
    told = desk.story("broken.ipynb")
    shown = json.loads(said("show", "broken.ipynb", "--json"))["item"]
    assert (shown["error_kind"], shown["error"]) == (told["error_type"], told["error_message"]) != (None, None)
    assert shown["attempt"] == told["retry_count"] == 1
    page = said("show", "broken.ipynb")
    assert "parse at 20" in page and str(told["error_message"]) in page and "Attempt" in page


def _known(page: str) -> set[str]:
    """Which of the words that a page should have it has."""
    words = ("ready, since", "Added", "Content hash", "by counting first; hash of the text")
    return {word for word in words if word in page}
