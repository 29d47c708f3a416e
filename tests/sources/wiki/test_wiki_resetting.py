"""What is put back to the beginning by hand is asked for anew, whatever is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.sources.wiki.server import WikiServer

import detent
from detent.sources.wiki.settings import WikiSettings
from detent.sources.wiki.source import make

Query = Callable[..., list[Any]]

PAGES = {
    "Owl": "It hunts [[mouse|mice]] at [[night]] in a [[barn]].",
    "Mouse": "It eats grain.",
    "Night": "#REDIRECT [[Night time]]",
    "Night time": "It is late.",
}


@pytest.fixture
def wiki() -> Iterator[WikiServer]:
    with WikiServer(PAGES) as running:
        yield running


@pytest.fixture
def db(database: str, wiki: WikiServer) -> Iterator[detent.Detent]:
    """A wiki that was expanded."""
    source = make("wiki", WikiSettings(api=wiki.api, seeds=("Owl",), depth=1).as_data())
    with detent.open(database=database, sources=source) as opened:
        opened.run(wait=False)
        yield opened


@pytest.fixture
def again(db: detent.Detent, wiki: WikiServer, query: Query) -> Callable[[str], list[str]]:
    """Resets an article, and runs; returns the titles that the wiki was asked for."""

    def ask(key: str) -> list[str]:
        before = len(wiki.requests)
        [row] = query(
            "SELECT item.id FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article' AND key = %s", key
        )
        assert db.reset([row.id]).count == 1
        db.run(wait=False)
        return [each.parameters["titles"] for each in wiki.requests[before:] if "titles" in each.parameters]

    return ask


def test_an_article_that_is_reset_is_fetched_anew(
    db: detent.Detent, wiki: WikiServer, again: Callable[[str], list[str]]
) -> None:
    assert again("Mouse") == ["Mouse"]
    wiki.edit("Mouse", "It gnaws.")
    assert again("Mouse") == ["Mouse"]
    assert [hit.key for hit in db.search("gnaws", mode="text").hits] == ["Mouse"]


@pytest.mark.parametrize("name", ["Mouse", "Night"])
def test_what_is_gone_when_it_is_reset_leaves_the_graph(
    wiki: WikiServer, again: Callable[[str], list[str]], query: Query, name: str
) -> None:
    wiki.delete(name)
    assert again(name) == [name]
    rows = query("SELECT state FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article' AND key = %s", name)
    assert [row.state for row in rows] == ["failed"]
    assert query("SELECT item_id FROM node JOIN item ON item.id = item_id WHERE key = %s", name) == []
    assert query("SELECT to_key FROM alias WHERE key = %s", name) == []


def test_an_article_that_failed_is_fetched_when_it_is_tried_again(
    db: detent.Detent, wiki: WikiServer, query: Query
) -> None:
    [barn] = query("SELECT id FROM item WHERE key = 'Barn' AND state = 'failed'")
    wiki.edit("Barn", "It has a roof.")
    assert db.retry([barn.id]).count == 1
    db.run(wait=False)
    assert [hit.key for hit in db.search("roof", mode="text").hits] == ["Barn"]
