"""What leaves the graph when a page is an article no longer, and what comes to it when it is one at last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage
from tests.sources.wiki.server import Failing, WikiServer

import detent
from detent import Handler, Lifecycle, Source
from detent.errors import DiscoveryFailed
from detent.sources.wiki.settings import WikiSettings
from detent.sources.wiki.source import make

Query = Callable[..., list[Any]]

PAGES = {
    "Owl": "It hunts [[mouse|mice]] and is not a [[Bat]]. [[Night bird]]s are [[Nightly|nightly]].",
    "Mouse": "It eats grain.",
    "Bat": "It flies.",
    "Night bird": "#REDIRECT [[Mouse]]",
    "Nightly": "It is late.",
    "Help:Nightly": "How to be late.",
}


@pytest.fixture
def refreshed(database: str) -> Callable[..., None]:
    """Expands a wiki, lets it be changed, and takes that over."""

    def refresh(wiki: WikiServer, change: Callable[[], None]) -> None:
        source = make("wiki", WikiSettings(api=wiki.api, seeds=("Owl",), depth=1).as_data())
        with detent.open(database=database, sources=source) as db:
            db.run(wait=False)
            change()
            db.refresh()
            db.run(wait=False)
            assert db.refresh() == 0

    return refresh


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("{{Disambiguation}} An [[Owl]] or something else.", False),
        ("__DISAMBIG__ An [[Owl]] or something else.", True),
        ("#REDIRECT [[Help:Nightly]]", True),
        ("#REDIRECT [[Bat]]", True),
        ("#REDIRECT [[de:Eule]]", True),
    ],
)
def test_an_article_that_becomes_none_leaves_the_graph(
    refreshed: Callable[..., None], query: Query, text: str, marks: bool
) -> None:
    with WikiServer(PAGES, marks_disambiguation=marks) as wiki:
        refreshed(wiki, lambda: wiki.edit("Bat", text))
    kept = {row.title for row in query("SELECT title FROM node")}
    assert kept == {"Owl", "Mouse", "Nightly"}


def test_an_article_comes_back_that_led_in_a_circle_for_a_while(refreshed: Callable[..., None], query: Query) -> None:
    with WikiServer(PAGES) as wiki:
        refreshed(wiki, lambda: wiki.edit("Bat", "#REDIRECT [[Bat]]"))
        refreshed(wiki, lambda: wiki.edit("Bat", "It flies again."))
    [bat] = query("SELECT state FROM item WHERE key = 'Bat'")
    assert bat.state == "processed"


def test_an_article_stays_that_cannot_be_read_because_its_dump_is_damaged(
    database: str, query: Query, tmp_path: Path
) -> None:
    pages = [DumpedPage(f"Owl {number}", f"Text {number * 7919}. " * 30) for number in range(30)]
    path = dumps.write(tmp_path, pages, per=10)
    settings = WikiSettings(dump=path, cache=tmp_path / "cache").as_data()
    with detent.open(database=database, sources=make("wiki", settings)) as db:
        db.run(wait=False)
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[:middle] + bytes(30) + data[middle + 30 :])
    with detent.open(database=database, sources=make("wiki", settings)) as db:
        with pytest.raises(DiscoveryFailed, match=r"told of 20 items.*damaged"):
            db.refresh()
        db.run(wait=False)
    states = query("SELECT DISTINCT state FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article'")
    assert [row.state for row in states] == ["processed"]


@pytest.mark.parametrize("gone", ["Night bird", "Mouse"])
def test_another_name_leaves_the_graph_with_its_page_and_with_its_article(
    refreshed: Callable[..., None], query: Query, gone: str
) -> None:
    with WikiServer(PAGES) as wiki:
        refreshed(wiki, lambda: wiki.delete(gone))
    assert query("SELECT key FROM alias_claim") == []


def test_a_page_that_was_missing_comes_to_the_graph_when_it_is_written(
    refreshed: Callable[..., None], query: Query
) -> None:
    pages = {"Owl": "It hunts [[mouse|mice]], [[vole]]s and [[shrew]]s.", "Vole": "#REDIRECT [[Field vole]]"}
    with WikiServer(pages) as wiki:
        refreshed(wiki, lambda: [wiki.edit("Mouse", "It eats grain."), wiki.edit("Field vole", "It digs.")])
        asked = [each.parameters["titles"] for each in wiki.requests if "Shrew" in each.parameters.get("titles", "")]
    assert {row.title for row in query("SELECT title FROM node")} == {"Owl", "Mouse", "Field vole"}
    assert [row.key for row in query("SELECT key FROM item WHERE state = 'failed'")] == ["Shrew"]
    assert len(asked) == 3  # once for its text, and at each of two refreshes how it stands


def test_what_was_missing_stays_out_while_there_is_no_room_for_it(database: str, query: Query) -> None:
    pages = {"Owl": "It hunts [[mouse|mice]], [[vole]]s and [[shrew]]s.", "Vole": "It digs.", "Shrew": "It bites."}

    def states() -> dict[str, str]:
        rows = query("SELECT key, state FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article'")
        return {row.key: row.state for row in rows}

    with WikiServer(pages) as wiki:
        for target in (3, 4):
            settings = WikiSettings(api=wiki.api, seeds=("Owl",), depth=1, target=target)
            with detent.open(database=database, sources=make("wiki", settings.as_data())) as db:
                db.run(wait=False)
                if target == 3:
                    assert states() == {
                        "Owl": "processed",
                        "Vole": "processed",
                        "Shrew": "processed",
                        "Mouse": "failed",
                    }
                    wiki.edit("Mouse", "It eats grain.")
                    assert db.refresh() == 1
                    db.run(wait=False)
                    assert states()["Mouse"] == "discovered"
    assert set(states().values()) == {"processed"}


@pytest.mark.parametrize(
    "was", ["{{Disambiguation}} A bird, or [[Mouse]].", "#REDIRECT [[Bird]]", "#REDIRECT [[Help:A]]"]
)
def test_what_never_was_an_article_comes_to_the_graph_when_it_is_one(
    refreshed: Callable[..., None], query: Query, was: str
) -> None:
    pages = {"Owl": "It is a [[bird]].", "Bird": was, "Help:A": "How to fly."}
    with WikiServer(pages, marks_disambiguation=False) as wiki:
        refreshed(wiki, lambda: None)
        assert [row.key for row in query("SELECT key FROM item WHERE state = 'failed'")] == ["Bird"]
        refreshed(wiki, lambda: wiki.edit("Bird", "It flies."))
    assert {row.title for row in query("SELECT title FROM node")} == {"Bird", "Owl"}


def test_what_is_still_no_article_is_read_once_for_each_edit(refreshed: Callable[..., None], query: Query) -> None:
    pages = {"Owl": "It is no [[bat]].", "Bat": "{{Disambiguation}} An animal, or a stick."}
    with WikiServer(pages, marks_disambiguation=False) as wiki:
        for text in (None, "{{Disambiguation}} An animal, a stick, or a fish."):
            refreshed(wiki, lambda text=text: text and wiki.edit("Bat", text))
        read = [each for each in wiki.requests if "content" in each.parameters.get("rvprop", "")]
    assert [each.parameters["titles"] for each in read] == ["Owl", "Bat", "Bat"]
    [bat] = query("SELECT item.state, trouble FROM item JOIN failure ON failure.item_id = item.id WHERE key = 'Bat'")
    assert bat == ("failed", "rejected")


def test_a_deleted_article_fails_as_one_that_never_was(refreshed: Callable[..., None], query: Query) -> None:
    with WikiServer(PAGES) as wiki:
        refreshed(wiki, lambda: wiki.delete("Bat"))
    [bat] = query("SELECT item.state, trouble FROM item JOIN failure ON failure.item_id = item.id WHERE key = 'Bat'")
    assert bat == ("failed", "not_found")


def test_what_failed_for_a_passing_reason_is_tried_again_by_a_refresh_and_stays_searchable_until_then(
    database: str, query: Query
) -> None:
    with WikiServer(PAGES) as wiki:
        source = make("wiki", WikiSettings(api=wiki.api, seeds=("Mouse",), depth=0).as_data())
        with detent.open(database=database, sources=source, flags={"worker.max_attempts": 1}) as db:
            db.run(wait=False)
            wiki.edit("Mouse", "It eats corn.")
            assert db.refresh() == 1
            wiki.broken["Mouse"] = Failing(body=b"[]")
            db.run()
            assert [row.state for row in query("SELECT state FROM item WHERE key = 'Mouse'")] == ["failed"]
            assert [hit.key for hit in db.search("grain").hits] == ["Mouse"]
            wiki.broken.clear()
            assert db.refresh() == 1
            db.run(wait=False)
            assert [hit.key for hit in db.search("corn").hits] == ["Mouse"]
            assert db.refresh() == 0


def test_what_the_wiki_breaks_on_keeps_a_refresh_from_nothing_else(database: str, query: Query) -> None:
    with WikiServer(PAGES) as wiki:
        source = make("wiki", WikiSettings(api=wiki.api, seeds=("Bat", "Mouse"), depth=0).as_data())
        with detent.open(database=database, sources=source, flags={"worker.max_attempts": 1}) as db:
            wiki.broken["Bat"] = Failing(body=b"[]")
            db.run()
            assert {
                row.key: row.state for row in query("SELECT key, state FROM item WHERE key IN ('Bat', 'Mouse')")
            } == {
                "Bat": "failed",
                "Mouse": "processed",
            }
            wiki.edit("Mouse", "It eats corn.")
            assert db.refresh() == 1
            db.run(wait=False)
            assert [hit.key for hit in db.search("corn").hits] == ["Mouse"]


def test_what_failed_in_passing_stays_where_its_lifecycle_has_no_way_back(database: str, query: Query) -> None:
    moves = [("queued", "claim", "working"), ("working", "done", "kept"), ("working", "back", "queued")]
    life = Lifecycle("letter", "queued", [*moves, ("working", "fail", "dead")])

    def work(item: detent.Item) -> None:
        raise TimeoutError

    def standing(keys: Sequence[str]) -> dict[str, str]:
        return dict.fromkeys(keys, "another")

    source = Source("post", {"Letter": life}, [Handler("working", work)], refresh={"Letter": standing})
    with detent.open(database=database, sources=source, flags={"worker.max_attempts": 1}) as db:
        db.add("post", "Letter", ["a"])
        db.run()
        assert db.refresh() == 0
    assert [row.state for row in query("SELECT state FROM item")] == ["dead"]
