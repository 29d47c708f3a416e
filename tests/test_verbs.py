"""The verbs of Python, where they are called with something that is not there."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
from pathlib import Path

import pytest

import detent
from detent.errors import Closed, FolderMissing, InvalidLimit, UnknownName
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
        with pytest.raises(Closed, match=r"^This database was closed\."):
            verb()
    db.close()


def test_importing_everything_leaves_pythons_own_open_alone() -> None:
    names: dict[str, object] = {}
    exec("from detent import *", names)  # noqa: S102  that is what is tested
    assert names.get("open", builtins.open) is builtins.open
    assert names["Source"] is detent.Source
    assert callable(detent.open)


def test_the_folder_of_the_database_is_never_added_to_git(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    script = "import detent, sys; detent.open(sys.argv[1]).close()"
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    assert (tmp_path / ".detent" / ".gitignore").read_text() == "*\n"
