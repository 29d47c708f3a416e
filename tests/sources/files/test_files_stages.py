"""The stages of a file: all states of the document in one commit, and linking for what parsing could not link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import detent
from detent import Detent
from detent.sources.files import linking
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import make

LINKS = linking.links


EDGES = """
    SELECT one.key AS start, edge.type, two.key AS to
    FROM edge JOIN item AS one ON one.id = from_id JOIN item AS two ON two.id = to_id
    WHERE edge.type IN ('IMPORTS', 'CONSUMES')
"""
LINKED = {("a.py", "IMPORTS", "b.py"), ("a.py#heron", "CONSUMES", "b.py#wings")}


@pytest.fixture
def db(tmp_path: Path, database: str) -> Iterator[Detent]:
    (tmp_path / "a.py").write_text("import b\n\n\ndef heron():\n    return b.wings()\n")
    (tmp_path / "b.py").write_text("def wings():\n    return 2\n")
    source = make("docs", FolderSettings(tmp_path).as_data())
    with detent.open(database=database, sources=source, flags={"retry.base_seconds": 0.05}) as opened:
        yield opened


@pytest.fixture
def edges(query: Callable[..., list[Any]]) -> Callable[[], set[tuple[str, str, str]]]:
    return lambda: {(row.start, row.type, row.to) for row in query(EDGES)}


def test_a_file_goes_through_all_states_of_the_document_with_one_claim_and_one_commit(
    db: Detent, edges: Callable[[], set[tuple[str, str, str]]]
) -> None:
    db.run()
    [item] = db.find("a.py", label="File")
    told = db.history(item)
    assert [(move.from_state, move.to_state) for move in told[:4]] == [
        ("pending", "parsing"),
        ("parsing", "parsed"),
        ("parsed", "linking"),
        ("linking", "linked"),
    ]
    assert len({move.at for move in told[1:4]}) == 1
    assert edges() == LINKED


def test_a_file_whose_links_cannot_be_found_is_written_and_fails_in_linking(
    db: Detent, edges: Callable[[], set[tuple[str, str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str, *about: Any) -> linking.Linked:
        if path == "a.py":
            raise ValueError("the links are too tangled")
        return LINKS(path, *about)

    monkeypatch.setattr(linking, "links", broken)
    db.run()
    [item] = db.find("a.py", label="File")
    story = db.show(item)
    assert (story.item.state, story.item.error_kind) == ("error", "link")
    assert "the links are too tangled" in str(story.item.error)
    assert [node.title for node in db.graph.find("a.py#heron")] == ["heron"]
    monkeypatch.undo()
    db.retry([item])
    db.run()
    assert edges() == LINKED
