"""Expansions beside the test, each in processes of its own, and what is made of dumps."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki.expanding import Expansion

from detent.sources.wiki.dump import Dumped, recent
from detent.sources.wiki.dump.forms import Multistream
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


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder for what is made of dumps."""
    return tmp_path / "cache"


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often each stream was unpacked by its place, while no more than one of them is kept."""
    read, places = Multistream.read, Counter[int]()

    def counted(form: Multistream, place: int) -> Iterator[Dumped]:
        places[place] += 1
        return read(form, place)

    monkeypatch.setattr(Multistream, "read", counted)
    monkeypatch.setattr(recent, "MOST_BYTES", 150_000)
    return places
