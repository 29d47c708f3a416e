"""How the ancestors failed at wikis, on real processes and a wiki on a socket."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.sources.wiki.expanding import Expansion, expanded, fetched, until, web
from tests.sources.wiki.server import WikiServer

import detent
from detent.sources.wiki.settings import WikiSettings

Query = Callable[..., list[Any]]
Start = Callable[..., Expansion]


def test_killed_again_and_again_it_ends_as_if_undisturbed(
    database: str, make_database: Callable[[], str], start: Start, query: Query
) -> None:
    """ANCESTORS 1, 2, 10 and 34: nothing is lost, nothing is half there, and no link to what comes later."""
    chance = random.Random(7)
    with WikiServer(web(150)) as wiki:
        settings = WikiSettings(api=wiki.api, seeds=("Page 0",), depth=9)
        for _ in range(5):
            asked, running = len(wiki.requests), start(settings, max_attempts=50)
            goal = asked + chance.randint(2, 8)
            until(lambda: len(wiki.requests) >= goal or running.ended)  # noqa: B023  called here
            running.kill()
        assert expanded(database, settings) == expanded(make_database(), settings)
    half = query(
        "SELECT item.key FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article' AND state = 'processed' "
        "AND NOT EXISTS (SELECT FROM node WHERE parent_id = item.id)"
    )
    assert half == []


def test_two_that_expand_one_graph_fetch_each_article_once(start: Start, query: Query) -> None:
    """ANCESTORS 1 and 2: what one has claimed, the other leaves alone."""
    with WikiServer(web(200)) as wiki:
        settings = WikiSettings(api=wiki.api, seeds=("Page 0",), depth=9)
        both = [start(settings) for _ in range(2)]
        assert [each.end() for each in both] == [0, 0]
        asked = fetched(wiki)
    loaded = query("SELECT count(*) AS count FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article'")
    assert len(asked) == loaded[0].count > 150
    # depths may be found out late, and an article is then asked what it links to, but not fetched again
    twice = [title for title, times in asked.items() if times > 1]
    moves = query(
        "SELECT key, move.* FROM move JOIN item ON item.id = item_id WHERE key = ANY (%s) ORDER BY key, at", twice
    )
    assert twice == [], "\n".join(str(tuple(move)) for move in moves)


def test_two_that_expand_one_graph_load_no_more_than_the_target(start: Start, query: Query) -> None:
    with WikiServer(web(300)) as wiki:
        settings = WikiSettings(api=wiki.api, seeds=("Page 0",), depth=9, target=120)
        both = [start(settings) for _ in range(2)]
        assert [each.end() for each in both] == [0, 0]
    articles = query("SELECT state FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article'")
    counts = Counter(row.state for row in articles)
    assert counts["processed"] == 120
    assert set(counts) == {"processed", "discovered"}


def test_the_lead_is_kept_and_deep_headings_are_read(database: str) -> None:
    """ANCESTORS 31."""
    with WikiServer({"Owl": "It is a bird.\n==== Deep ====\nIn the wood.\n====\nNo heading."}) as wiki:
        expanded(database, WikiSettings(api=wiki.api, seeds=("Owl",), depth=0))
    with detent.open(database=database) as db:
        found = {key: db.graph.node(db.graph.find(key)[0].id) for key in ("Owl#", "Owl#Deep")}
    assert found["Owl#"].properties["level"] == 0
    assert found["Owl#Deep"].properties["level"] == 4


def test_a_redirect_has_neither_content_nor_links_of_its_own(database: str, query: Query) -> None:
    """ANCESTORS 32."""
    with WikiServer({"Owl": "It hunts [[Mouse|mice]].", "Owls": "#REDIRECT [[Owl]]", "Mouse": "Small."}) as wiki:
        expanded(database, WikiSettings(api=wiki.api, seeds=("Owls",), depth=1))
    rows = query(
        "SELECT key FROM item JOIN node ON node.item_id = item.id JOIN kind ON kind.id = kind_id "
        "WHERE label = 'Article' ORDER BY key"
    )
    assert [row.key for row in rows] == ["Mouse", "Owl"]
    with detent.open(database=database) as db:
        assert db.graph.find("Owls")[0].key == "Owl"


def test_titles_with_signs_that_part_keys_elsewhere_are_whole(database: str, query: Query) -> None:
    """ANCESTORS 33: keys are never taken apart."""
    titles = ["C\uff03", "A/B", "AC/DC", "Who?", "R&D", "Don't", 'Say "yes"', "a:b", "100%", "1+1", "Ünder ~ x"]
    pages = {title[0].upper() + title[1:]: f"About it.\n== Use ==\nOf {number}." for number, title in enumerate(titles)}
    pages["Start"] = " ".join(f"[[{title}]]" for title in titles)
    with WikiServer(pages) as wiki:
        expanded(database, WikiSettings(api=wiki.api, seeds=("Start",), depth=1))
    rows = query("SELECT key FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article' AND state = 'processed'")
    assert {row.key for row in rows} == set(pages)
    sections = query("SELECT key FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Section'")
    assert {row.key for row in sections} >= {f"{title}#Use" for title in pages if title != "Start"}


def test_a_link_to_what_is_not_there_yet_becomes_an_edge_when_it_comes(database: str, query: Query) -> None:
    """ANCESTORS 34."""
    edges = "SELECT count(*) AS count FROM edge WHERE type = 'LINKS_TO'"
    with WikiServer({"Owl": "It hunts the [[Mouse]].", "Mouse": "Small."}) as wiki:
        expanded(database, WikiSettings(api=wiki.api, seeds=("Owl",), depth=0))
        assert query("SELECT key FROM item WHERE key = 'Mouse'") == []
        assert query(edges)[0].count == 0
        expanded(database, WikiSettings(api=wiki.api, seeds=("Owl", "Mouse"), depth=0))
        assert query(edges)[0].count == 1
