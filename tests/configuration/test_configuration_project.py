"""How a project is found."""

from pathlib import Path

import pytest

from detent.configuration import (
    Project,
    find_project,
)


def test_the_nearest_folder_upward_is_the_project(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    below = inner / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "outer" / ".detent").mkdir()
    assert find_project(below) == Project(tmp_path / "outer")
    (inner / "detent.toml").touch()
    found = find_project(below)
    assert found == Project(inner)
    assert found.folder == inner / ".detent"
    assert found.file == inner / "detent.toml"
    assert find_project(inner) == found


def test_the_search_begins_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Project
) -> None:
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert find_project() == project
    assert find_project(Path("..") / "below") == project


def test_a_file_named_like_the_folder_makes_no_project(tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "detent.toml").mkdir(parents=True)
    (here / ".detent").touch()
    assert find_project(here) is None


def test_no_project_is_found_where_there_is_none(tmp_path: Path) -> None:
    assert find_project(tmp_path) is None
    assert find_project(tmp_path / "not" / "there") is None


def test_the_search_ends_quietly_at_a_folder_that_may_not_be_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = project.root / "closed"
    (closed / "below").mkdir(parents=True)
    is_dir = Path.is_dir

    def refuse(path: Path) -> bool:  # root, who runs some of our tests, may read everything
        if path.parent == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", refuse)
    assert find_project(closed / "below") is None


def test_a_working_directory_that_is_gone_has_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_project() is None


def test_a_loop_of_links_has_no_project(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert find_project(tmp_path / "loop") is None
