"""Whatever is in a folder: each entry ends in a state with a reason, and none keeps the others from being read."""

from __future__ import annotations

import io
import os
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import make

Query = Callable[..., list[Any]]


def bomb() -> bytes:
    """A Word file of a few kilobytes that would unpack to a gigabyte."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w", force_zip64=True) as file:
            for _ in range(200):
                file.write(b"\0" * 1_000_000)
    return packed.getvalue()


FILES: dict[str, bytes] = {
    "good.md": b"# Good\n\nA text like any other, which is found.\n",
    "invalid.md": b"# Caf\xff\xfe\n\nText with bytes that are no UTF-8.\n",
    "latin.txt": "Viele Grüße, schöne Wörter und überall Umlaute äöü.".encode("latin-1"),
    "utf16.md": "# Überschrift\n\nText in sixteen bits.\n".encode("utf-16"),
    "nul.txt": b"text\0with\0zeros",
    "line.txt": b"word " * 200_000,
    "headings.md": b"".join(b"# Heading %d\n" % n for n in range(5_000)),
    "nested.md": b"> " * 5_000 + b"deep",
    "broken.py": b"def f(:\n    return (\n\nclass A:\n    def g(self):\n        pass\n",
    "broken.pdf": b"%PDF-1.7\nno objects here",
    "broken.docx": b"PK\x03\x04 no archive",
    "broken.ipynb": b"{",
    "broken.json": b'{"a": 1, "b": ',
    "broken.toml": b"[a\nb = ",
    "broken.yaml": b"a: [1, 2\nb: }",
    "broken.png": b"\x89PNG\r\n\x1a\n",
    "empty.md": b"",
    "deep.json": b"[" * 100_000,
    "line\nbreak.md": b"# Line break\n\nIn the name of this file.\n",
}
FAILING = {"broken.pdf", "broken.docx", "broken.ipynb", "bomb.docx"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "folder"
    root.mkdir()
    for name, data in FILES.items():
        (root / name).write_bytes(data)
    (root / "bomb.docx").write_bytes(bomb())
    Path(os.fsdecode(bytes(root) + b"/bad\xff.md")).write_text("# Bad name\n\nA name that is no UTF-8.\n")
    with (root / "huge.log").open("wb") as file:
        file.truncate(200_000_000)
    os.mkfifo(root / "pipe")
    (root / "circle").symlink_to("circle")
    (root / "out").symlink_to(tmp_path)
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    return root


def test_each_entry_ends_in_a_state_with_a_reason(folder: Path, database: str, query: Query) -> None:
    with detent.open(database=database, sources=make("docs", FolderSettings(folder).as_data())) as db:
        db.run(wait=False)
        assert db.search("a text like any other").hits[0].key == "good.md"
    rows = query(
        "SELECT item.key, item.state, failure.message FROM item JOIN kind ON kind.id = item.kind_id "
        "LEFT JOIN failure ON failure.item_id = item.id WHERE kind.label IN ('File', 'ImageFile')"
    )
    states = {row.key: row.state for row in rows}
    assert set(states) == {*FILES, "bomb.docx", "bad\\xff.md", "huge.log", "pipe", "circle", "out", "socket"}
    assert set(states.values()) == {"ready", "skip", "error"}
    assert {key for key, state in states.items() if state == "error"} == FAILING
    assert all(row.message for row in rows if row.state == "error")


def test_what_can_be_had_of_a_faulty_file_is_there_and_its_faults_are_told(
    folder: Path, database: str, query: Query
) -> None:
    with detent.open(database=database, sources=make("docs", FolderSettings(folder).as_data())) as db:
        db.run(wait=False)
    rows = query("SELECT item.key, node.properties, node.text FROM node JOIN item ON item.id = node.item_id")
    nodes = {row.key: row for row in rows}
    assert "broken.py#A.g" in nodes
    assert "broken.json#a" in nodes
    assert "utf16.md#überschrift" in nodes
    assert "bad\\xff.md#bad-name" in nodes
    assert "Umlaute äöü" in nodes["latin.txt"].text
    assert nodes["huge.log"].properties["size_bytes"] == 200_000_000
    for key in ("broken.py", "broken.json", "broken.png", "huge.log", "nested.md"):
        assert nodes[key].properties.get("problems"), key


def test_a_folder_whose_name_is_no_utf8_is_read_like_any_other(tmp_path: Path, database: str) -> None:
    odd = Path(os.fsdecode(bytes(tmp_path) + b"/odd\xff"))
    odd.mkdir()
    for path in (odd / "inside.md", tmp_path / "zzz.md"):
        path.write_text("# Title\n\nA text that is long enough.\n")
    with detent.open(database=database, sources=make("docs", FolderSettings(tmp_path).as_data())) as db:
        db.run(wait=False)
        states = {item.key: item.state for item in db.items().items}
    assert {"odd\\xff": "skip", "odd\\xff/inside.md#title": "ready", "zzz.md#title": "ready"}.items() <= states.items()


@pytest.mark.parametrize("instead", ["link", "pipe"])
def test_a_file_that_is_left_out_later_leaves_the_graph_of_a_fresh_reading(
    tmp_path: Path, make_database: Callable[[], str], instead: str
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.md").write_text("# One\n\nA text that is long enough.\n\n## Two\n\nAnother text of that kind.\n")
    (root / "b.md").write_text("# Other\n\nSee [one](a.md#two), which is a good text.\n")
    digests = []
    first = make_database()
    for database in (first, first, make_database()):
        with detent.open(database=database, sources=make("docs", FolderSettings(root).as_data())) as db:
            db.run(wait=False)
            digests.append(db.graph.digest())
        if len(digests) == 1:
            (root / "a.md").unlink()
            (root / "a.md").symlink_to(tmp_path) if instead == "link" else os.mkfifo(root / "a.md")
    assert digests[0] != digests[1] == digests[2]


def test_a_file_that_vanishes_and_one_that_may_not_be_read_end_in_error(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here.md").write_text("# Here\n\nA text that stays where it is.\n")
    (tmp_path / "locked.md").write_text("# Locked\n")
    opening = os.open

    def refuse(path: Any, *arguments: Any, **details: Any) -> int:
        if str(path).endswith("locked.md"):  # whoever runs the tests may read everything
            raise PermissionError(13, "Permission denied")
        return opening(path, *arguments, **details)

    monkeypatch.setattr(os, "open", refuse)
    with detent.open(database=database, sources=make("docs", FolderSettings(tmp_path).as_data())) as db:
        db.discover()
        (tmp_path / "here.md").rename(tmp_path.with_name("gone.md"))
        sources, db.asynchronous.sources[0] = db.asynchronous.sources[0], _without_discovery(db)
        db.run(wait=False)
        found = {item.key: item for item in db.items(state="error").items}
        db.asynchronous.sources[0] = sources
    assert (found["here.md"].error_kind, found["locked.md"].error_kind) == ("parse", "parse")
    assert "no longer there" in str(found["here.md"].error)
    assert "may not be read" in str(found["locked.md"].error)


def _without_discovery(db: detent.Detent) -> detent.Source:
    source = db.asynchronous.sources[0]
    return detent.Source(source.name, source.lifecycles, source.handlers)
