"""What is made of an exception: never another exception, and never a key to a service."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from detent.configuration import Project
from detent.errors import InvalidSource
from detent.worker.modules import load_sources
from detent.worker.outcomes import outcome_of


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it cannot even be shown")


def test_an_exception_that_cannot_be_shown_still_gives_an_outcome() -> None:
    assert outcome_of(Unspeakable()).reason == "Unspeakable"


def test_a_retry_after_that_is_no_text_is_ignored() -> None:
    error = RuntimeError("too many requests")
    error.response = type("Response", (), {"headers": {"Retry-After": 5}})()  # type: ignore[attr-defined]
    assert outcome_of(error).retry_after is None


def test_a_key_in_a_url_is_not_kept_with_the_reason() -> None:
    request = httpx.Request("GET", "https://api.example/bills?api_key=SECRET&page=2")
    error = httpx.HTTPStatusError(
        f"Client error '403 Forbidden' for url '{request.url}'", request=request, response=httpx.Response(403)
    )
    reason = outcome_of(error).reason
    assert "SECRET" not in reason
    assert "https://api.example/bills?api_key=…&page=…'" in reason


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_modules_of_a_project_that_belongs_to_somebody_else_are_not_imported(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text("raise SystemExit('planted code ran')")
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(InvalidSource, match="belongs to another user"):
        load_sources(["planted"], Project(tmp_path))


def raised(function: Callable[[], object]) -> BaseException:
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("it did not raise")


def module(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.delitem(sys.modules, name, raising=False)


def bake() -> None:
    raise ValueError("boom")


def test_the_reason_says_where_the_exception_was_raised() -> None:
    line = bake.__code__.co_firstlineno + 1
    assert outcome_of(raised(bake)).reason == f"ValueError: boom (test_worker_outcomes.py:{line}, in bake)"


def read() -> None:
    json.loads("[1,")


def test_an_error_from_a_library_shows_the_line_that_called_it() -> None:
    line = read.__code__.co_firstlineno + 1
    assert outcome_of(raised(read)).reason.endswith(f"(test_worker_outcomes.py:{line}, in read)")


def test_a_handler_that_is_installed_shows_its_own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detent.worker.outcomes._INSTALLED", (str(tmp_path),))
    installed = "import installed_library\ndef bake():\n    installed_library.fail()\n"
    module(tmp_path, "installed_handlers", installed, monkeypatch)
    module(tmp_path, "installed_library", "def fail():\n    raise ValueError('boom')\n", monkeypatch)
    import installed_handlers  # type: ignore[import-not-found]

    error = raised(installed_handlers.bake)
    error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # as a worker calls it, without this file
    assert outcome_of(error).reason == "ValueError: boom (installed_handlers.py:3, in bake)"


def test_an_error_without_a_place_is_told_without_one() -> None:
    assert outcome_of(ValueError("boom")).reason == "ValueError: boom"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\nraise ValueError('boom')\n", "cannot be imported: ValueError: boom (kitchen.py:2)."),
        ("def f():\n    1 / 0\nf()\n", "ZeroDivisionError: division by zero (kitchen.py:2, in f)."),
        ("x = (\n", "cannot be imported: SyntaxError: '(' was never closed (kitchen.py, line 1)."),
        ("import nosuchthing\n", "ModuleNotFoundError: No module named 'nosuchthing' (kitchen.py:1)."),
        (
            "import detent\ndetent.Handler('b', print, batch_size=0)\n",
            "batch_size is 0. It must be a whole number of items from 1 to 10000 (kitchen.py:2).",
        ),
    ],
)
def test_a_module_that_cannot_be_imported_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    module(tmp_path, "kitchen", text, monkeypatch)
    with pytest.raises(InvalidSource) as told:
        load_sources(["kitchen"], Project(tmp_path))
    assert words in str(told.value)


def test_a_module_that_is_not_there_is_told_without_a_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidSource, match=r"No module named 'nowhere'\.$"):
        load_sources(["nowhere"], Project(tmp_path))


def test_a_module_may_declare_a_single_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, "kitchen", "import detent\nSOURCES = detent.Source('a', {'T': 'topic'})\n", monkeypatch)
    assert [source.name for source in load_sources(["kitchen"], Project(tmp_path))] == ["a"]
