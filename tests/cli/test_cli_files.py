"""`detent add files` and `detent watch`: a folder becomes searchable, and stays true while files are edited."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import detent
from detent.lifecycle import ARTICLE

Result = subprocess.CompletedProcess[str]

PATIENCE_SECONDS = 60.0


@pytest.fixture
def notes(project: Path) -> Path:
    """A folder of notes, and a project without modules."""
    settings = (project / "detent.toml").read_text()
    (project / "detent.toml").write_text(settings.replace('modules = ["handlers"]', ""))
    folder = project / "notes"
    folder.mkdir()
    (folder / "heron.md").write_text("# Heron\n\nA grey bird that stands in the water and waits for fish.\n")
    return folder


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.usefixtures("notes")
def test_a_folder_is_added_read_and_searched(ran: Callable[..., Result]) -> None:
    added = ran("add", "files", "birds", "notes")
    assert (added.returncode, "`detent run` reads it" in added.stderr + added.stdout) == (0, True)
    result = ran("run", "--processes", "2")
    assert result.returncode == 0, result.stderr
    found = ran("search", "a bird that waits for fish").stdout
    assert "heron.md" in found
    assert "heron.md:1-3" in found


@pytest.mark.usefixtures("notes")
def test_a_name_that_is_taken_and_a_folder_that_is_not_there_are_sentences(
    said: Callable[..., Result], opened: detent.Detent
) -> None:
    opened.declare("wiki", "Article", ARTICLE)
    assert "its type is not 'files'" in said("add", "files", "wiki", "notes").stderr
    assert "There is no folder" in said("add", "files", "docs", "nowhere").stderr


@pytest.mark.usefixtures("notes")
def test_added_again_it_is_changed(said: Callable[..., Result], opened: detent.Detent) -> None:
    for patterns in ([], ["--include", "*.txt"]):
        assert said("add", "files", "birds", "notes", *patterns).returncode == 0
        opened.run()
    assert {item.key for item in opened.items(label="File").items} == set()


def test_a_folder_is_kept_up_with_while_files_are_edited(
    notes: Path, said: Callable[..., Result], start: Callable[..., subprocess.Popen[str]], opened: detent.Detent
) -> None:
    assert said("add", "files", "birds", "notes").returncode == 0
    watching = start("watch")

    def ready() -> set[str]:
        return {item.key for item in opened.items(limit=100).items if item.state == "ready"}

    until(lambda: ready() == {"heron.md#heron"})
    (notes / "stork.md").write_text("# Stork\n\nA white bird that brings the spring and lives on roofs.\n")
    until(lambda: ready() == {"heron.md#heron", "stork.md#stork"})
    (notes / "heron.md").unlink()
    until(lambda: ready() == {"stork.md#stork"})
    watching.send_signal(signal.SIGINT)
    assert watching.wait(PATIENCE_SECONDS) == 0
