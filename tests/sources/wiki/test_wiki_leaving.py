"""What leaves the graph when a page is an article no longer, and which categories are kept apart from what is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage
from tests.sources.wiki.server import WikiServer

import detent
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
    ],
)
def test_an_article_that_becomes_none_leaves_the_graph(
    refreshed: Callable[..., None], query: Query, text: str, marks: bool
) -> None:
    with WikiServer(PAGES, marks_disambiguation=marks) as wiki:
        refreshed(wiki, lambda: wiki.edit("Bat", text))
    kept = {row.title for row in query("SELECT title FROM node")}
    assert kept == {"Owl", "Mouse", "Nightly"}


@pytest.mark.parametrize("gone", ["Night bird", "Mouse"])
def test_another_name_leaves_the_graph_with_its_page_and_with_its_article(
    refreshed: Callable[..., None], query: Query, gone: str
) -> None:
    with WikiServer(PAGES) as wiki:
        refreshed(wiki, lambda: wiki.delete(gone))
    assert query("SELECT key FROM alias_claim") == []


def test_a_category_is_hidden_by_its_page_or_by_a_template_on_it(database: str, tmp_path: Path) -> None:
    pages = [
        DumpedPage("Owl", "[[Category:A]][[Category:B]][[Category:C]][[Category:D]][[Category:E]]"),
        DumpedPage("Category:A", "__HIDDENCAT__", 14),
        DumpedPage("Category:B", "{{Tracking}}", 14),
        DumpedPage("Category:C", "<nowiki>__HIDDENCAT__</nowiki>", 14),
        DumpedPage("Category:D", "{{Old tracking|x}}", 14),
        DumpedPage("Template:Tracking", "<includeonly>__HIDDENCAT__</includeonly>", 10),
        DumpedPage("Template:Old tracking", redirect="Template:Tracking", namespace=10),
    ]
    path = dumps.write(tmp_path, pages)
    settings = WikiSettings(dump=path, cache=tmp_path / "cache", seeds=("Owl",), depth=0)
    with detent.open(database=database, sources=make("wiki", settings.as_data())) as db:
        db.run(wait=False)
        [found] = db.graph.find("Owl", label="Article")
        owl = db.graph.node(found.id)
    assert owl.properties["hidden_categories"] == ["A", "B", "D"]
    assert owl.properties["categories"] == ["C", "E"]
