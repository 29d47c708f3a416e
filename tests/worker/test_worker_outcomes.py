"""What is made of an exception: never another exception, and never a key to a service."""

from __future__ import annotations

import os
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
