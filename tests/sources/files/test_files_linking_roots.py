"""Where projects begin, and when the links of a file may be other ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from detent.sources.files.folder import Folder
from detent.sources.files.linking import Roots, fingerprint
from detent.sources.files.linking.languages import go, javascript, python, ruby, rust
from detent.sources.files.settings import FolderSettings


def make(root: Path, *paths: str, text: str = "") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def roots(root: Path) -> Roots:
    return Roots(Folder(FolderSettings(root)))


def test_the_nearest_folder_with_a_marker_is_the_root(tmp_path: Path) -> None:
    make(tmp_path, "setup.py", "a/pyproject.toml", "a/b/c/m.py")
    found = roots(tmp_path)
    assert python.root(found, "a/b/c/m.py").folder == "a"
    assert python.root(found, "x/m.py").folder == ""
    assert javascript.root(found, "a/b/c/m.js").folder == ""


def test_modules_at_the_top_are_files_and_folders_of_python(tmp_path: Path) -> None:
    make(
        tmp_path, "pyproject.toml", "one.py", "two/__init__.py", "src/three/x/m.py", "docs/a.md", ".git/x.py", "no.txt"
    )
    places = python.root(roots(tmp_path), "deep/er/m.py").places
    assert dict(places) == {"one": ("",), "two": ("",), "three": ("src",)}


def test_constants_of_ruby_are_in_lib_and_in_the_folders_of_app(tmp_path: Path) -> None:
    make(
        tmp_path, "Gemfile", "lib/shop.rb", "app/models/user.rb", "app/jobs/user/clean.rb", "app/readme.md", "bin/x.rb"
    )
    places = ruby.root(roots(tmp_path), "bin/x.rb").places
    assert dict(places) == {"shop": ("lib",), "user": ("app/jobs", "app/models")}


def test_what_is_ignored_is_no_module(tmp_path: Path) -> None:
    make(tmp_path, "build/m.py", "kept.py")
    make(tmp_path, ".gitignore", text="build/\n")
    assert list(python.root(roots(tmp_path), "a/m.py").places) == ["kept"]


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "outside/pkg/m.py", "outside/go.mod", text="module secret\n")
    (tmp_path / "root/a").mkdir(parents=True)
    (tmp_path / "root/src").symlink_to(tmp_path / "outside")
    (tmp_path / "root/go.mod").symlink_to(tmp_path / "outside/go.mod")
    found = roots(tmp_path / "root")
    assert not python.root(found, "a/m.py").places
    assert go.root(found, "a/m.go").name == ""


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ('[package]\nname = "my-crate"\n', "my_crate"),
        ('[package]\nname = "my-crate"\n[lib]\nname = "other"\n', "other"),
        ("[workspace]\n", ""),
        ("package = 1\n", ""),
        ("[[[", ""),
        ("a = " + "[" * 50_000, ""),
    ],
)
def test_a_crate_is_called_as_its_manifest_says(tmp_path: Path, written: str, name: str) -> None:
    make(tmp_path, "Cargo.toml", text=written)
    assert rust.root(roots(tmp_path), "src/lib.rs").name == name


def test_the_fingerprint_is_another_one_when_modules_come_to_the_top_and_only_then(tmp_path: Path) -> None:
    make(tmp_path, "pyproject.toml", "src/pkg/__init__.py", "src/pkg/m.py")
    before = fingerprint("src/pkg/m.py", roots(tmp_path))
    make(tmp_path, "src/pkg/other.py", "src/pkg/deep/x.py", "docs/a.md")
    assert fingerprint("src/pkg/m.py", roots(tmp_path)) == before
    make(tmp_path, "src/new/m.py")
    assert fingerprint("src/pkg/m.py", roots(tmp_path)) != before


@pytest.mark.parametrize(
    ("path", "marker", "text"),
    [
        ("a/m.py", "a/setup.cfg", ""),
        ("a/m.ts", "a/package.json", "{}"),
        ("a/m.go", "go.mod", "module x.org/y\n"),
        ("a/m.rs", "Cargo.toml", '[package]\nname = "x"\n'),
        ("a/m.rb", "lib/x.rb", ""),
        ("a/m.rb", "app/models/x.rb", ""),
        ("docs/a.md", "src/shop.py", ""),
    ],
)
def test_the_fingerprint_is_another_one_when_the_root_is(tmp_path: Path, path: str, marker: str, text: str) -> None:
    make(tmp_path, path)
    before = fingerprint(path, roots(tmp_path))
    assert before == fingerprint(path, roots(tmp_path))
    make(tmp_path, marker, text=text)
    assert fingerprint(path, roots(tmp_path)) != before


@pytest.mark.parametrize("path", ["a.txt", "a.c", "A.java", "py", "Makefile", ""])
def test_what_depends_on_no_root_has_no_fingerprint(tmp_path: Path, path: str) -> None:
    assert fingerprint(path, roots(tmp_path)) == ""


def test_a_root_is_looked_up_once_for_thousands_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "pyproject.toml", "src/pkg/__init__.py", "scripts/x.py")
    found = roots(tmp_path)
    fingerprint("src/pkg/m.py", found)
    fingerprint("scripts/x.py", found)
    monkeypatch.setattr(Path, "lstat", None)
    monkeypatch.setattr(os, "scandir", None)
    assert len({fingerprint(f"src/pkg/m{number}.py", found) for number in range(1000)}) == 1
    assert fingerprint("scripts/y.py", found)


def test_paths_that_cannot_be_have_the_outermost_root(tmp_path: Path) -> None:
    assert python.root(roots(tmp_path), "a\0b/" + "x" * 5000 + "/m.py").folder == ""
