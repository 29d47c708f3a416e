"""Versions: what was made by handlers that would make something else of it now is made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import detent
from detent import Done, Failed, Handler, Item, NewItem, Node, Outcome, Source
from detent.errors import InvalidSource
from detent.lifecycle import ARTICLE

Query = Callable[..., list[Any]]


class Maker:
    """Makes pages, and counts how often it made each. `b` always fails."""

    def __init__(self, database: str) -> None:
        self.made: Counter[str] = Counter()
        self.declares: str | None = None
        """A version that somebody else declares while `a` is being made."""
        self._database = database

    def make(self, item: Item) -> Outcome:
        self.made[item.key] += 1
        if self.declares is not None and item.key == "a":
            other, self.declares = self.declares, None
            with detent.open(database=self._database, sources=self._source(other)):
                pass
        return Failed("It cannot be made.") if item.key == "b" else Done(Node(item.key), to="processed")

    def run(self, version: str | None) -> None:
        with detent.open(database=self._database, sources=self._source(version)) as db:
            db.run(wait=False)

    def _source(self, version: str | None) -> Source:
        versions = None if version is None else {"Page": version}
        found = [NewItem(key, "Page") for key in ("a", "b")]
        return Source("web", {"Page": ARTICLE}, [Handler("claimed", self.make)], lambda: found, versions=versions)


@pytest.fixture
def maker(database: str) -> Maker:
    return Maker(database)


def test_another_version_makes_again_what_was_made_and_the_same_one_does_not(maker: Maker) -> None:
    maker.run("1")
    maker.run("1")
    assert maker.made == {"a": 1, "b": 1}
    maker.run("2")
    maker.run("2")
    assert maker.made == {"a": 2, "b": 1}


def test_who_says_nothing_of_a_version_leaves_what_was_said(maker: Maker) -> None:
    maker.run("1")
    maker.run(None)
    maker.run("1")
    assert maker.made["a"] == 1


def test_what_is_being_made_when_the_version_changes_is_made_again(maker: Maker, query: Query) -> None:
    maker.declares = "2"
    maker.run("1")
    assert maker.made["a"] == 2
    assert {row.state for row in query("SELECT state FROM item WHERE key = 'a'")} == {"processed"}


def test_a_version_is_that_of_a_label(database: str) -> None:
    with pytest.raises(InvalidSource, match="'Paeg', which is not declared"):
        Source("web", {"Page": ARTICLE}, versions={"Paeg": "1"})
