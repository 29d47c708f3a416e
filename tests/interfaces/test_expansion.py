"""The interfaces of the document "Expansion Module": its examples, and what they promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki.server import AWAY, WikiServer, limited

import detent
from detent import Bounds
from detent.errors import DetentError, LeaseLost
from detent.interfaces import (
    ArticleLoader,
    ArticleNotFound,
    LinkDiscovery,
    WikipediaAPIClient,
    WorkQueueManager,
    get_expansion_status,
    initialize_seeds,
    process_article,
)
from detent.lifecycle import ARTICLE
from detent.sources.wiki.pages import Absent
from detent.sources.wiki.settings import WikiSettings
from detent.sources.wiki.source import make

Query = Callable[..., list[Any]]

PAGES = {
    "Artificial Intelligence": "It uses [[Machine Learning]], [[DL]] and [[List of machines]].\n[[Category:Computing]]",
    "Machine Learning": "It learns from [[Statistics]].\n== History ==\nLong ago.",
    "DL": "#REDIRECT [[Deep Learning]]",
    "Deep Learning": "Many layers. See [[Artificial Intelligence]].",
    "Statistics": "Numbers. See [[Mathematics]].",
}


@pytest.fixture
def wiki() -> Iterator[WikiServer]:
    with WikiServer(PAGES) as running:
        yield running


@pytest.fixture
def db(database: str) -> Iterator[detent.Detent]:
    with detent.open(database=database) as opened:
        yield opened


def expand(db: detent.Detent, client: WikipediaAPIClient, own: WikipediaAPIClient | None = None) -> WorkQueueManager:
    """The document's "Complete Expansion Workflow", in which the loader may have a client of its `own`."""
    loader = ArticleLoader(db, own or client)
    discovery = LinkDiscovery(loader.conn)
    queue = WorkQueueManager(loader.conn, max_retries=3)
    while queue.get_queue_stats()["discovered"] > 0:
        queue.reclaim_stale(timeout_seconds=300)
        articles = queue.claim_work(batch_size=10)
        if not articles:
            break
        for article_info in articles:
            title, depth = article_info["title"], article_info["expansion_depth"]
            try:
                queue.update_heartbeat(title)
                article = client.fetch_article(title)
                success, error = loader.load_article(
                    title=article.title,
                    category=article.categories[0] if article.categories else "General",
                    expansion_state="loaded",
                    expansion_depth=depth,
                )
                if success:
                    discovery.discover_links(
                        source_title=article.title, links=article.links, current_depth=depth, max_depth=2
                    )
                    queue.advance_state(title, "loaded")
                else:
                    queue.mark_failed(title, error or "")
            except Exception as e:
                queue.mark_failed(title, str(e))
    return queue


@pytest.mark.parametrize("apart", [False, True])
def test_the_complete_expansion_workflow(db: detent.Detent, wiki: WikiServer, query: Query, apart: bool) -> None:
    initialize_seeds(db, ["Artificial Intelligence"])
    queue = expand(db, WikipediaAPIClient(wiki.api), WikipediaAPIClient(wiki.api) if apart else None)
    articles = query("SELECT key, state, priority FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article'")
    assert {row.key: (row.state, row.priority) for row in articles} == {
        "Artificial Intelligence": ("loaded", 0),
        "Machine Learning": ("loaded", 1),
        "DL": ("loaded", 1),
        "Deep Learning": ("loaded", 1),
        "Statistics": ("loaded", 2),
    }
    assert queue.get_queue_stats() == {
        "discovered": 0,
        "claimed": 0,
        "loaded": 5,
        "processed": 0,
        "failed": 0,
        "total": 5,
    }
    edges = query(
        "SELECT origin.key AS a, target.key AS b FROM edge JOIN item origin ON origin.id = edge.from_id "
        "JOIN item target ON target.id = edge.to_id WHERE edge.type = 'LINKS_TO'"
    )
    assert {(edge.a, edge.b) for edge in edges} == {
        ("Artificial Intelligence", "Machine Learning"),
        ("Artificial Intelligence", "Deep Learning"),
        ("Machine Learning", "Statistics"),
        ("Deep Learning", "Artificial Intelligence"),
    }
    sections = query("SELECT key FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Section'")
    assert "Machine Learning#History" in {row.key for row in sections}


def test_an_article_is_loaded_also_where_another_one_that_is_claimed_cannot_be(
    db: detent.Detent, wiki: WikiServer
) -> None:
    wiki.broken["Statistics"] = AWAY
    initialize_seeds(db, ["Statistics"])
    queue = WorkQueueManager(db)
    assert len(queue.claim_work()) == 1
    assert process_article(db, "Machine Learning", client=WikipediaAPIClient(wiki.api)) == (True, None)


@pytest.mark.parametrize(("title", "kind"), [("Nowhere", "not_found"), ("Mercury", "rejected"), ("Turn", "rejected")])
def test_what_can_never_be_loaded_fails_at_once_and_for_its_own_reason(
    db: detent.Detent, wiki: WikiServer, query: Query, title: str, kind: str
) -> None:
    """The document "Expansion State Machine": what is not found, tells others apart or leads in a circle."""
    wiki.edit("Mercury", "A planet, or a god. __DISAMBIG__")
    wiki.edit("Turn", "#REDIRECT [[Turn]]")
    initialize_seeds(db, [title])
    queue = WorkQueueManager(db)
    queue.claim_work()
    loaded, reason = process_article(db, title, client=WikipediaAPIClient(wiki.api))
    assert not loaded
    queue.mark_failed(title, str(reason))
    assert queue.get_article(title)["expansion_state"] == "failed"
    assert [(row.kind, row.message) for row in query("SELECT kind, message FROM failure")] == [(kind, reason)]


def test_another_error_of_what_could_not_be_loaded_is_tried_again(db: detent.Detent, wiki: WikiServer) -> None:
    initialize_seeds(db, ["Nowhere"])
    queue = WorkQueueManager(db)
    queue.claim_work()
    process_article(db, "Nowhere", client=WikipediaAPIClient(wiki.api))
    queue.mark_failed("Nowhere", "the power went out")
    assert queue.get_article("Nowhere")["expansion_state"] == "discovered"


def test_what_is_claimed_is_asked_for_together_when_another_article_is_loaded(
    db: detent.Detent, wiki: WikiServer
) -> None:
    for number in range(60):
        wiki.edit(f"Page {number}", "Text.")
    initialize_seeds(db, [f"Page {number}" for number in range(60)])
    queue = WorkQueueManager(db)
    assert len(queue.claim_work(batch_size=60)) == 60
    client = WikipediaAPIClient(wiki.api)
    loader = ArticleLoader(db, client)
    client.site()
    wiki.requests.clear()
    assert loader.load_article("Statistics") == (True, None)
    assert len(wiki.requests) == 3
    assert loader.load_article("Page 7") == (True, None)
    assert len(wiki.requests) == 3


def test_nothing_is_written_before_the_article_is_advanced(db: detent.Detent, wiki: WikiServer, query: Query) -> None:
    initialize_seeds(db, ["Statistics"])
    queue = WorkQueueManager(db)
    queue.claim_work()
    assert ArticleLoader(db, WikipediaAPIClient(wiki.api)).load_article("Statistics") == (True, None)
    assert query("SELECT item_id FROM node") == []
    queue.advance_state("Statistics", "loaded")
    assert len(query("SELECT item_id FROM node")) == 2


def test_who_has_lost_the_claim_writes_nothing(db: detent.Detent, wiki: WikiServer, query: Query) -> None:
    initialize_seeds(db, ["Statistics"])
    queue = WorkQueueManager(db)
    queue.claim_work()
    ArticleLoader(db, WikipediaAPIClient(wiki.api)).load_article("Statistics")
    assert WorkQueueManager(db).reclaim_stale(timeout_seconds=0) == 1
    with pytest.raises(LeaseLost):
        queue.advance_state("Statistics", "loaded")
    assert query("SELECT item_id FROM node") == []


def test_what_is_loaded_is_written_by_who_has_the_claim_now_and_not_by_who_had_it(
    db: detent.Detent, wiki: WikiServer, query: Query
) -> None:
    """ANCESTORS 10: `loaded` was set before the sections existed."""
    initialize_seeds(db, ["Statistics"])
    former = [WorkQueueManager(db) for _ in range(8)]
    for queue in former:
        assert len(queue.claim_work()) == 1
        assert queue.reclaim_stale(timeout_seconds=0) == 1
        query("UPDATE item SET attempt = 0")
    queue = WorkQueueManager(db)
    queue.claim_work()
    assert ArticleLoader(db, WikipediaAPIClient(wiki.api)).load_article("Statistics") == (True, None)
    queue.advance_state("Statistics", "loaded")
    assert len(query("SELECT item_id FROM node")) == 2


@pytest.mark.parametrize("state", ["discovered", "claimed", "failed", "sleeping"])
def test_an_article_is_not_loaded_to_a_state_that_loading_does_not_lead_to(
    db: detent.Detent, wiki: WikiServer, query: Query, state: str
) -> None:
    loaded, reason = ArticleLoader(db, WikipediaAPIClient(wiki.api)).load_article("Statistics", expansion_state=state)
    assert not loaded
    assert state in (reason or "")
    assert query("SELECT key FROM item") == []


def test_who_loads_an_article_is_told_that_it_cannot_be_kept(db: detent.Detent, wiki: WikiServer) -> None:
    loaded, reason = ArticleLoader(db, WikipediaAPIClient(wiki.api)).load_article("Statistics", category="x" * 5000)
    assert not loaded
    assert "5,000 bytes" in (reason or "")


def test_another_name_of_an_article_that_another_program_has_in_hand_does_not_fail(
    db: detent.Detent, wiki: WikiServer, database: str, query: Query
) -> None:
    with detent.open(database=database) as elsewhere:
        initialize_seeds(elsewhere, ["Deep Learning"])
        client, queue = WikipediaAPIClient(wiki.api), WorkQueueManager(elsewhere)
        [article] = queue.claim_work()
        initialize_seeds(db, ["DL"])
        expand(db, WikipediaAPIClient(wiki.api))
        ArticleLoader(elsewhere, client).load_article(article["title"])
        queue.advance_state(article["title"], "loaded")
    assert query("SELECT key, state FROM item WHERE key IN ('DL', 'Deep Learning') ORDER BY key") == [
        ("DL", "loaded"),
        ("Deep Learning", "loaded"),
    ]
    assert query("SELECT key, to_key FROM alias") == [("DL", "Deep Learning")]


def test_links_are_filtered_and_added_once(db: detent.Detent) -> None:
    discovery = LinkDiscovery(db)
    links = ["Machine Learning", "machine_Learning", "Help:Contents", "List of owls", "Owl (disambiguation)", "", "x"]
    assert discovery.discover_links("Artificial Intelligence", links, current_depth=0) == 1
    assert discovery.discover_links("Another", ["Machine Learning", "Statistics"], current_depth=1) == 1
    assert discovery.discover_links("Another", ["Mathematics"], current_depth=2, max_depth=2) == 0
    assert discovery.get_discovered_count() == 2
    assert discovery.article_exists("Statistics") == (True, "discovered")
    assert discovery.article_exists("Mathematics") == (False, None)


@pytest.mark.parametrize(
    "prefix",
    ["Wikipedia", "Help", "Template", "Category", "Portal", "Talk", "User", "MediaWiki", "Special", "File", "Image"],
)
def test_links_to_the_namespaces_that_the_document_names_are_left_out(db: detent.Detent, prefix: str) -> None:
    assert LinkDiscovery(db).discover_links("Owl", [f"{prefix}:Owls"], current_depth=0) == 0


@pytest.fixture
def linked(query: Query) -> Callable[[str], list[tuple[str, str]]]:
    """What an article links to, in order, and the kind of each link, if it was told."""

    def read(title: str) -> list[tuple[str, str]]:
        rows = query(
            "SELECT reference.key, properties ->> 'link_type' AS kind FROM reference JOIN item ON item.id = item_id "
            "WHERE type = 'LINKS_TO' AND item.key = %s ORDER BY position",
            title,
        )
        return [(row.key, row.kind or "") for row in rows]

    return read


def test_an_article_that_nobody_has_claimed_refers_to_what_is_found_at_once(
    db: detent.Detent, linked: Callable[[str], list[tuple[str, str]]]
) -> None:
    initialize_seeds(db, ["Owl"])
    discovery = LinkDiscovery(db)
    assert discovery.discover_links("Owl", ["Mouse", "Owl", "Help:Owls"], current_depth=0) == 1
    assert discovery.discover_links("Owl", ["Bat", "Mouse"], current_depth=0) == 1
    assert linked("Owl") == [("Mouse", ""), ("Owl", ""), ("Bat", "")]
    assert discovery.article_exists("Owl") == (True, "discovered")
    assert discovery.discover_links("Nobody", ["Mouse"], current_depth=0) == 0
    assert linked("Nobody") == []


def test_what_is_found_is_added_to_the_links_that_are_known_from_loading(
    db: detent.Detent, wiki: WikiServer, linked: Callable[[str], list[tuple[str, str]]]
) -> None:
    process_article(db, "Statistics", client=WikipediaAPIClient(wiki.api))
    LinkDiscovery(db).discover_links("Statistics", ["Numbers", "Mathematics"], current_depth=2, max_depth=2)
    assert linked("Statistics") == [("Mathematics", "internal"), ("Numbers", "")]


def test_an_article_that_nobody_has_claimed_is_loaded_at_once(
    db: detent.Detent, wiki: WikiServer, query: Query
) -> None:
    client = WikipediaAPIClient(wiki.api)
    assert process_article(db, "Statistics", client=client) == (True, None)
    assert [row.state for row in query("SELECT state FROM item WHERE key = 'Statistics'")] == ["loaded"]
    assert process_article(db, "Nowhere", client=client)[0] is False


def test_an_article_that_is_missing_is_an_error_of_its_own(wiki: WikiServer) -> None:
    with pytest.raises(ArticleNotFound):
        WikipediaAPIClient(wiki.api).fetch_article("Nowhere")


def asked_for(wiki: WikiServer) -> list[str]:
    """The titles of each request; "" where it asked for the wiki itself."""
    return [each.parameters.get("titles", "") for each in wiki.requests]


def test_a_client_asks_once_how_the_wiki_spells_and_once_for_each_title(wiki: WikiServer) -> None:
    client = WikipediaAPIClient(wiki.api)
    for title in ("DL", "Deep Learning", "Statistics", "Statistics", "Nowhere", "Nowhere"):
        assert isinstance(client.answer(title), Absent) is (title == "Nowhere")
    client.fetch_article("Statistics")
    assert asked_for(wiki) == ["", "DL", "Statistics", "Nowhere"]


def test_a_client_asks_again_for_what_it_has_known_for_too_long(wiki: WikiServer) -> None:
    client = WikipediaAPIClient(wiki.api, keep_seconds=0)
    assert client.fetch_article("Statistics").text == PAGES["Statistics"]
    wiki.edit("Statistics", "Other numbers.")
    assert client.fetch_article("Statistics").text == "Other numbers."
    assert asked_for(wiki) == ["", "Statistics", "Statistics"]


def test_a_client_keeps_to_the_pace_of_all_who_share_the_database(
    db: detent.Detent, wiki: WikiServer, query: Query
) -> None:
    client = WikipediaAPIClient(wiki.api)
    loader = ArticleLoader(db, client)
    wiki.fail_next(limited("3600"))
    assert "429" in (loader.load_article("Statistics")[1] or "")
    assert len(query("SELECT service FROM pace WHERE next_at > now() + interval '50 minutes'")) == 1
    with pytest.raises(DetentError, match="is left alone for another 60 minutes"):
        WikipediaAPIClient(wiki.api, db=db).fetch_article("Statistics")
    assert len(wiki.requests) == 1


def test_wikipedia_wants_to_know_who_asks() -> None:
    with pytest.raises(DetentError, match="contact"):
        WikipediaAPIClient()


def test_the_state_queries_tell_how_far_an_expansion_has_come(db: detent.Detent) -> None:
    initialize_seeds(db, ["a", "b"])
    LinkDiscovery(db).discover_links("a", ["Cc", "Dd", "Ee"], current_depth=2, max_depth=9)
    queue = WorkQueueManager(db)
    queue.claim_work(batch_size=2, timeout_seconds=300)
    queue.advance_state("a", "loaded")

    status = get_expansion_status(db)

    assert status is not None
    assert {(each.state, each.count, each.avg_depth) for each in status.distribution} == {
        ("discovered", 3, 3.0),
        ("claimed", 1, 0.0),
        ("loaded", 1, 0.0),
    }
    assert (status.queue_size, status.loaded_count, status.total, status.percent_complete) == (3, 1, 5, 20.0)
    assert status.stale_claims == ()
    assert get_expansion_status(db, "another") is None


def test_only_articles_count_as_loaded_and_no_other_names_of_them(
    database: str, db: detent.Detent, wiki: WikiServer
) -> None:
    settings = WikiSettings(api=wiki.api, seeds=("Artificial Intelligence",), depth=1, target=9)
    with detent.open(database=database, sources=make("wiki", settings.as_data())) as running:
        running.run(wait=False)
    status = get_expansion_status(db)
    assert status is not None
    assert {each.state: each.count for each in status.distribution} == {"processed": 3, "loaded": 1}
    assert (status.loaded_count, status.total, status.percent_complete, status.target) == (3, 4, 75.0, 9)


def test_an_article_beyond_the_target_is_not_loaded(db: detent.Detent, wiki: WikiServer) -> None:
    kind = db.wait(db.asynchronous.store.declare("wiki", "Article", ARTICLE))
    db.wait(db.asynchronous.store.bounds.set(kind, Bounds(None, 1, "processed")))
    client = WikipediaAPIClient(wiki.api)
    loader = ArticleLoader(db, client)
    assert loader.load_article("Statistics", expansion_state="processed") == (True, None)
    loaded, reason = loader.load_article("Machine Learning", expansion_state="processed")
    assert not loaded
    assert reason is not None
    assert "beyond" in reason


def test_claims_whose_worker_is_silent_are_told(db: detent.Detent) -> None:
    initialize_seeds(db, ["a"])
    WorkQueueManager(db).claim_work(timeout_seconds=0.001)
    status = get_expansion_status(db)
    assert status is not None
    assert [(each.title, each.expansion_depth) for each in status.stale_claims] == [("a", 0)]


def test_without_a_client_the_wiki_is_asked_that_was_added_as_the_source(db: detent.Detent, wiki: WikiServer) -> None:
    settings = WikiSettings(api=wiki.api, seeds=("DL",))
    db.wait(db.asynchronous.store.sources.configure("ai", "wiki", settings.as_data()))
    assert process_article(db, "Statistics", source="ai") == (True, None)


def test_without_a_client_articles_of_a_dump_cannot_be_fetched(db: detent.Detent, tmp_path: Path) -> None:
    settings = WikiSettings(dump=tmp_path / "ai.xml")
    db.wait(db.asynchronous.store.sources.configure("ai", "wiki", settings.as_data()))
    loaded, reason = process_article(db, "Statistics", source="ai")
    assert (loaded, reason) == (False, "ai is read from a dump. To fetch its articles, give a client.")
