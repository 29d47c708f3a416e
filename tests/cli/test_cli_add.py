"""`detent add` where an installed package cannot be imported: it says so, and all else goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from detent import plugins

Result = subprocess.CompletedProcess[str]

TOLD = "'moths', which broken registers under detent.sources, cannot be used: SystemError: boom."


@pytest.fixture(autouse=True)
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package whose module raises an error."""
    about = tmp_path / "site" / "broken-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[detent.sources]\nmoths = broken:MOTHS\n")
    (tmp_path / "site" / "broken.py").write_text("raise SystemError('boom')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    plugins.forget()
    yield
    plugins.forget()


@pytest.mark.parametrize("words", ["add moths night --bright 7", "add moths"])
def test_a_type_that_cannot_be_imported_is_told_in_one_sentence(said: Callable[..., Result], words: str) -> None:
    told = said(*words.split())
    assert (told.returncode, told.stderr) == (2, f"{TOLD} Upgrade or uninstall broken.\n")


def test_other_commands_go_on(said: Callable[..., Result], plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said("add", "files", "docs", str(plain)).returncode == 0
    assert said("sources").returncode == 0
    helped = said("add", "--help")
    assert helped.returncode == 0
    assert "files  Add a folder" in helped.stdout
    assert "boom" in helped.stdout
    for name, value in {"_DETENT_COMPLETE": "bash_complete", "COMP_WORDS": "detent add ", "COMP_CWORD": "2"}.items():
        monkeypatch.setenv(name, value)
    assert "moths" in said().stdout
