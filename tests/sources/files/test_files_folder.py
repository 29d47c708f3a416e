"""A folder as the files source sees it: what is named, what is left out, and why."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from detent.knowledge import Skipped
from detent.sources.files.content import Content, read
from detent.sources.files.folder import Folder, FolderAway, path_of
from detent.sources.files.settings import FolderSettings


def make(root: Path, *paths: str, text: str = "text") -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def folder(root: Path, **settings: Any) -> Folder:
    return Folder(FolderSettings(root, **settings))


def named(root: Path, **settings: Any) -> dict[str, str]:
    """The paths of a folder, with the reasons why only the names are taken."""
    return {entry.path: entry.reason for entry, _ in folder(root, **settings).walk()}


def test_all_files_and_folders_are_named_folders_first(tmp_path: Path) -> None:
    make(tmp_path, "b.md", "a/c.py", "a/d/e.txt")
    assert list(named(tmp_path)) == [".", "a", "a/c.py", "a/d", "a/d/e.txt", "b.md"]


def test_a_folder_that_is_not_there_is_an_error_and_not_empty(tmp_path: Path) -> None:
    with pytest.raises(FolderAway, match="is not there"):
        named(tmp_path / "away")


def test_what_ignore_files_say_is_heeded_in_every_folder(tmp_path: Path) -> None:
    make(tmp_path, "a.log", "keep.log", "build/x.o", "sub/a.log", "sub/b.tmp", "sub/deep/b.tmp", "src/build/y.o")
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\n/build/\n")
    (tmp_path / "sub" / ".detentignore").write_text("b.tmp\n!a.log\n")
    found = set(named(tmp_path)) - {".", ".gitignore", "sub/.detentignore"}
    assert found == {"keep.log", "sub", "sub/a.log", "sub/deep", "src", "src/build", "src/build/y.o"}


def test_own_patterns_choose_files_and_leave_out_folders(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.py", "docs/c.md", "docs/old/d.md", "node_modules/e.md")
    found = named(tmp_path, include=("*.md",), exclude=("node_modules/", "docs/old"))
    assert set(found) == {".", "a.md", "docs", "docs/c.md"}


def test_hidden_entries_are_named_with_that_reason_and_not_gone_into(tmp_path: Path) -> None:
    make(tmp_path, ".env", ".venv/lib/x.py", "a.md", ".git/config", ".detent/data")
    assert named(tmp_path) == {".": "", ".env": "It is hidden.", ".venv": "It is hidden.", "a.md": ""}
    assert set(named(tmp_path, hidden=True)) == {".", ".env", ".venv", ".venv/lib", ".venv/lib/x.py", "a.md"}


def test_symbolic_links_never_lead_out_and_circles_do_no_harm(tmp_path: Path) -> None:
    root = tmp_path / "root"
    make(root, "a.md", "sub/b.md")
    make(tmp_path, "secret.md")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "up").symlink_to(tmp_path)
    (root / "in.md").symlink_to("sub/b.md")
    (root / "sub" / "circle").symlink_to("..")
    (root / "self").symlink_to("self")
    (root / "gone").symlink_to("nothing")
    found = named(root)
    assert found["in.md"] == ""
    assert {path for path, reason in found.items() if "out of the folder" in reason} == {"out.md", "up"}
    assert {path for path, reason in found.items() if "leads nowhere" in reason} == {"self", "gone"}
    assert "taken where it is" in found["sub/circle"]
    assert not any(path.startswith(("up/", "sub/circle/")) for path in found)


def test_pipes_and_sockets_are_named_with_their_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # the path of a socket must be short
        server.bind("s")
        assert named(tmp_path) == {".": "", "pipe": "It is a named pipe.", "s": "It is a socket."}


def test_any_name_has_a_key_of_its_own(tmp_path: Path) -> None:
    for name in (
        b"line\nbreak.md",
        b"bad\xff.md",
        "ü.md".encode(),
        b"sp ace.md",
        b"back\\slash.md",
        "ö".encode() + b"\xfe",
    ):
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_text("x")
    keys = [entry.key for entry, _ in folder(tmp_path).walk()]
    assert set(keys) == {".", "line\nbreak.md", "bad\\xff.md", "ü.md", "sp ace.md", "back\\slash.md", "ö\\xfe"}
    for key in keys:
        key.encode()
    assert [path_of(entry.key) for entry, _ in folder(tmp_path).walk()] == [
        entry.path for entry, _ in folder(tmp_path).walk()
    ]


def test_a_folder_that_cannot_be_read_is_told_when_all_others_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "locked/a.md", "z/b.md")
    scan = os.scandir

    def refuse(path: Path) -> object:
        if path.name == "locked":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = []
    with pytest.raises(FolderAway, match="locked cannot be read: Permission denied") as away:
        for entry, _ in folder(tmp_path).walk():
            found.append(entry.key)
    assert found == [".", "locked", "z", "z/b.md"]
    assert away.value.unseen == ("locked",)


def test_names_that_look_like_escaped_bytes_are_no_others(tmp_path: Path) -> None:
    names = [b"z\xff", rb"z\xff", rb"z\x5cxff", rb"\x2e\x2e\x2fsecret", rb"a\b"]
    for name in names:
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_text("x")
    keys = [entry.key for entry, _ in folder(tmp_path).walk()]
    assert len(set(keys)) == 1 + len(names)
    assert {os.fsencode(path_of(key)) for key in keys} == {b".", *names}


def test_a_path_that_is_too_long_for_a_key_is_named_and_left_out(tmp_path: Path) -> None:
    deep = bytes(tmp_path)
    for _ in range(3):
        deep += b"/" + b"\xff" * 250
        Path(os.fsdecode(deep)).mkdir()
    found = {entry.key: entry.reason for entry, _ in folder(tmp_path).walk()}
    assert max(len(key.encode()) for key in found) <= 2000
    assert list(found.values()) == ["", "", "Its path is too long."]


def test_what_a_link_to_an_ignore_file_elsewhere_says_is_not_heeded(tmp_path: Path) -> None:
    make(tmp_path, "root/a.md")
    (tmp_path / "elsewhere").write_text("*.md\n")
    (tmp_path / "root/.gitignore").symlink_to(tmp_path / "elsewhere")
    assert "a.md" in {entry.key for entry, _ in folder(tmp_path / "root").walk()}


def test_a_file_is_not_read_over_a_folder_that_became_a_link_out_of_the_root(tmp_path: Path) -> None:
    make(tmp_path, "root/sub/x.md", "outside/x.md")
    given = folder(tmp_path / "root")
    shutil.rmtree(tmp_path / "root/sub")
    (tmp_path / "root/sub").symlink_to(tmp_path / "outside")
    assert read(given, "sub/x.md", 1000) == Skipped("It leads out of the folder.")


def test_ignore_files_above_the_root_are_heeded_as_far_as_its_repository_goes(tmp_path: Path) -> None:
    make(tmp_path, "repo/docs/a.md", "repo/docs/private/p.md", "repo/docs/b.tmp.md", "repo/docs/outside.md")
    (tmp_path / ".gitignore").write_text("outside.md\n")
    (tmp_path / "repo/.gitignore").write_text("docs/private/\n*.tmp.md\n")
    given = tmp_path / "repo/docs"
    everything = {".", "a.md", "b.tmp.md", "outside.md", "private", "private/p.md"}
    assert {entry.key for entry, _ in folder(given).walk()} == everything, "it is no repository"
    (tmp_path / "repo/.git").mkdir()
    assert {entry.key for entry, _ in folder(given).walk()} == {".", "a.md", "outside.md"}
    (tmp_path / "repo/docs/.gitignore").write_text("!b.tmp.md\n")
    assert "b.tmp.md" in {entry.key for entry, _ in folder(given).walk()}


def test_what_is_asked_for_by_name_is_taken_though_it_is_ignored_above(tmp_path: Path) -> None:
    make(tmp_path, "repo/build/a.md", "repo/.git/config")
    (tmp_path / "repo/.gitignore").write_text("build/\n")
    assert {entry.key for entry, _ in folder(tmp_path / "repo/build").walk()} == {".", "a.md"}


def test_a_root_that_is_a_link_may_lead_somewhere_else_later(tmp_path: Path) -> None:
    make(tmp_path, "first/x.md", "second/x.md")
    (tmp_path / "second/x.md").write_text("second")
    (tmp_path / "second/y.md").symlink_to("x.md")
    link = tmp_path / "root"
    link.symlink_to("first")
    given = folder(link)
    assert isinstance(read(given, "x.md", 1000), Content)
    link.unlink()
    link.symlink_to("second")
    assert read(given, "x.md", 1000) == read(given, "y.md", 1000) == Content(b"second", 6)
    (tmp_path / "second/sub").symlink_to(tmp_path / "first")
    assert read(given, "sub/x.md", 1000) == Skipped("It leads out of the folder.")


def test_settings_are_kept_and_read_again(tmp_path: Path) -> None:
    settings = FolderSettings(tmp_path, include=("*.md",), exclude=("old/",), hidden=True, most_bytes=5)
    assert FolderSettings.of(settings.as_data()) == settings
    assert FolderSettings.of({"root": str(tmp_path)}) == FolderSettings(tmp_path)
