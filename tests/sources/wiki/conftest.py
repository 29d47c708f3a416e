"""Expansions beside the test, each in processes of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki.expanding import Expansion

from detent.sources.wiki.settings import WikiSettings


@pytest.fixture
def start(database: str, tmp_path: Path) -> Iterator[Callable[..., Expansion]]:
    """Starts expansions of the test's database. What is left running is killed."""
    started: list[Expansion] = []
    number = itertools.count(1)

    def begin(wiki: WikiSettings, **options: Any) -> Expansion:
        started.append(Expansion(database, wiki, tmp_path / f"said {next(number)}", **options))
        return started[-1]

    yield begin
    for each in started:
        each.vanish()
