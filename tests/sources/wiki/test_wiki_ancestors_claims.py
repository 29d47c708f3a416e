"""How the ancestors failed at claiming and owning articles, on real processes and a wiki on a socket."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage
from tests.sources.wiki.expanding import Expansion, expanded, fetched, until
from tests.sources.wiki.server import STALLED, Failing, WikiServer

import detent
from detent import NewItem
from detent.configuration import load
from detent.errors import IllegalMove, LeaseLost
from detent.interfaces import WorkQueueManager
from detent.lifecycle import ARTICLE
from detent.sources.wiki.settings import WikiSettings
from detent.store import Store
from detent.worker.keeper import OWNER, RESCUE_SECONDS, Keeper

Query = Callable[..., list[Any]]
Start = Callable[..., Expansion]

ANSWERED = Failing()
NAMES = tuple(f"Page {number:03}" for number in range(165))
PAGES = {name: f"About {name}." for name in NAMES}
FIRST, LAST = NAMES[:5], NAMES[-10:]

ARTICLES = """
SELECT key, state, attempt, content_hash, item.priority FROM item JOIN kind ON kind.id = kind_id
WHERE label = 'Article' ORDER BY key
"""
EVERYTHING = """
SELECT (SELECT jsonb_agg(item ORDER BY id) FROM item) AS items,
       (SELECT jsonb_agg(place ORDER BY item_id) FROM place) AS places,
       (SELECT jsonb_agg(node ORDER BY item_id) FROM node) AS nodes,
       (SELECT jsonb_agg(to_jsonb(lease) - 'deadline' ORDER BY token) FROM lease) AS leases,
       (SELECT count(*) FROM journal) AS moves
"""
KEPT = "SELECT token FROM lease WHERE now() > claimed_at + duration AND deadline > now()"
"""Leases that were renewed: without it they would have run out by now."""


PATIENT = """
from detent.sources.wiki.client import Client
Client.__init__.__kwdefaults__["timeout_seconds"] = 300.0
"""
"""Lets a wiki be waited for as long as a test takes, on whatever machine."""


def states(query: Query) -> dict[str, str]:
    return {row.key: row.state for row in query(ARTICLES)}


def of(wiki: WikiServer, seeds: Sequence[str], **more: Any) -> WikiSettings:
    return WikiSettings(api=wiki.api, seeds=tuple(seeds), **{"depth": 0, **more})


def unanswered(wiki: WikiServer, start: Start, seeds: Sequence[str], **options: Any) -> Expansion:
    """An expansion that has asked for its seeds, and is not answered."""
    wiki.fail_next(ANSWERED, STALLED)
    begun = start(of(wiki, seeds), first=PATIENT, **options)
    wiki.wait_for_requests(2)
    return begun


def crowded(wiki: WikiServer, start: Start, database: str, query: Query) -> Expansion:
    """An expansion that waits for the answers to two requests, for five titles and for fifty, and is about to send two
    more; of those that it has claimed, ten are not even begun."""
    begun = unanswered(wiki, start, FIRST)
    wiki.fail_next(STALLED)
    with detent.open(database=database) as db:
        db.add("wiki", "Article", [NewItem(name, "Article") for name in NAMES[5:]])
    wiki.wait_for_requests(1)
    until(lambda: Counter(states(query).values())["claimed"] == len(NAMES))
    assert set(fetched(wiki)) == set(NAMES[:55])
    return begun


def test_a_late_failure_does_not_push_a_finished_article_back(start: Start, query: Query) -> None:
    """ANCESTORS 3: who was too slow finds the article gone, which another one has loaded meanwhile."""
    with WikiServer({"Owl": "It hunts by night."}) as wiki:
        slow = unanswered(wiki, start, ["Owl"])
        with slow.frozen():
            assert start(of(wiki, ["Owl"])).end() == 0
            finished = query(EVERYTHING)
            assert states(query) == {"Owl": "processed"}
            wiki.delete("Owl")
        wiki.release()
        assert slow.end() == 0
        assert fetched(wiki) == {"Owl": 2}
    assert "1 items were lost to another worker" in slow.said
    assert query(EVERYTHING) == finished


def test_a_move_that_there_is_not_is_refused_and_nothing_is_written(database: str, start: Start, query: Query) -> None:
    """ANCESTORS 3 and 4: for an article in every state, one of them in the hands of another program."""
    pages = {"Zoo": "[[Alias]] [[Blank]] [[Cat]] [[Dog]] [[Elk]]", "Alias": "#REDIRECT [[Zoo]]"}
    with WikiServer(pages | dict.fromkeys(("Cat", "Dog", "Elk"), "An animal.")) as wiki:
        expanded(database, of(wiki, ["Zoo"], depth=1, target=2))
        before = len(wiki.requests)
        wiki.fail_next(ANSWERED, STALLED)
        other = start(of(wiki, ["Zoo"], depth=1, target=3), first=PATIENT)
        until(lambda: len(wiki.requests) == before + 2)
        found = states(query)
        assert found == {
            "Alias": "loaded",
            "Blank": "failed",
            "Cat": "processed",
            "Dog": "claimed",
            "Elk": "discovered",
            "Zoo": "processed",
        }
        refuse_all(database, query, found)
        wiki.release()
        assert other.end() == 0
    assert states(query) == found | {"Dog": "processed"}


def refuse_all(database: str, query: Query, found: Mapping[str, str]) -> None:
    """Try all that may not be done to articles by one who has claimed none."""
    before = query(EVERYTHING)
    with detent.open(database=database) as db:
        manager = WorkQueueManager(db)
        for title, state in found.items():
            refusal = LeaseLost if state == "claimed" else IllegalMove
            with pytest.raises(refusal, match=title):
                manager.mark_failed(title, "not mine")
            with pytest.raises(LeaseLost, match=title):
                manager.update_heartbeat(title)
            for to in ARTICLE.states:
                if state in ARTICLE.working or to in ARTICLE.working or not ARTICLE.allows(state, to):
                    with pytest.raises((IllegalMove, LeaseLost), match=title):
                        manager.advance_state(title, to)
    assert query(EVERYTHING) == before


def test_an_article_that_is_long_in_coming_is_fetched_once(start: Start, query: Query) -> None:
    """ANCESTORS 5: the heartbeat was sent once, at the start. Here the wiki takes longer than the lease."""
    with WikiServer(PAGES) as wiki:
        slow = unanswered(wiki, start, FIRST)
        other = start(of(wiki, FIRST))
        until(lambda: query(KEPT))
        wiki.release()
        assert [slow.end(), other.end()] == [0, 0]
        assert fetched(wiki) == dict.fromkeys(FIRST, 1)
    assert states(query) == dict.fromkeys(FIRST, "processed")


def test_articles_that_wait_their_turn_are_not_taken_away(database: str, start: Start, query: Query) -> None:
    """ANCESTORS 6: the last of a batch was reclaimed before its turn had come."""
    with WikiServer(PAGES) as wiki:
        slow = crowded(wiki, start, database, query)
        other = start(of(wiki, FIRST))
        until(lambda: len(query(KEPT)) == len(query("SELECT token FROM lease")) > 1)
        wiki.release()
        assert [slow.end(), other.end()] == [0, 0]
        assert fetched(wiki) == dict.fromkeys(NAMES, 1)
    assert states(query) == dict.fromkeys(NAMES, "processed")


def test_who_has_lost_articles_learns_it_asks_for_no_more_of_them_and_writes_none(
    database: str, start: Start, query: Query
) -> None:
    """ANCESTORS 2 and 7: heartbeats swallowed errors, so a worker never learnt that it had lost its claim."""
    with WikiServer(PAGES) as wiki, detent.open(database=database) as db:
        slow = crowded(wiki, start, database, query)
        manager = WorkQueueManager(db)
        with slow.frozen():
            assert manager.reclaim_stale(timeout_seconds=0) == len(NAMES)
            taken = [article["title"] for article in manager.claim_work(batch_size=len(NAMES))]
        assert sorted(taken) == sorted(NAMES)
        until(lambda: "The lease of 10 items was lost before they were begun" in slow.said)
        wiki.release()
        until(lambda: slow.said.count("items were lost to another worker") > 0)
        assert query("SELECT item_id FROM node") == []
        for title in taken:
            manager.update_heartbeat(title)
            manager.advance_state(title, "loaded")
        assert slow.end() == 0
        assert fetched(wiki) == dict.fromkeys(NAMES[:-10], 1)
    assert query("SELECT item_id FROM node") == []
    assert states(query) == dict.fromkeys(NAMES, "loaded")


def test_an_expansion_that_begins_leaves_alone_what_another_has(start: Start, query: Query) -> None:
    """ANCESTORS 8: recovery at start reset what another process was working on."""
    held = "SELECT owner, token, items FROM lease"
    with WikiServer(PAGES) as wiki:
        slow = unanswered(wiki, start, FIRST, lease_seconds=300)
        [before] = query(held)
        with slow.frozen():
            other = start(of(wiki, [*FIRST, *LAST]))
            until(lambda: Counter(states(query).values())["processed"] == len(LAST))
            assert before in query(held)
        wiki.release()
        assert [slow.end(), other.end()] == [0, 0]
        assert fetched(wiki) == dict.fromkeys((*FIRST, *LAST), 1)
    assert states(query) == dict.fromkeys((*FIRST, *LAST), "processed")


async def test_what_a_machine_out_of_reach_had_is_taken_back_after_one_lease_and_one_look(
    database: str, start: Start, query: Query
) -> None:
    """ANCESTORS 9: stale work waited for an hour or four, or for user code. Here for the five minutes that a lease has
    by default, and for a keeper that knows of no wiki."""
    lease_seconds = load(None).worker.lease_seconds
    with WikiServer({"Owl": "It hunts by night."}) as wiki:
        lost = unanswered(wiki, start, ["Owl"], lease_seconds=lease_seconds)
        with lost.frozen():
            [lease] = query("SELECT duration, deadline FROM lease")
            assert lease.duration == timedelta(minutes=5)
            await keep_elsewhere(database, lease.deadline, lambda: states(query)["Owl"])
        wiki.release()
        assert lost.end() == 0
    assert states(query) == {"Owl": "processed"}
    assert [row.owner for row in query("SELECT owner FROM move WHERE to_state = 'discovered'")] == [OWNER]


async def keep_elsewhere(database: str, deadline: datetime, state: Callable[[], str]) -> None:
    """Keep, on another machine, until a deadline and for one look more."""
    async with Store(database) as store:
        now = 1000.0
        keeper = Keeper(store, lease_seconds=300.0, clock=lambda: now)
        for seconds, expected in ((0.0, "claimed"), (RESCUE_SECONDS, "discovered")):
            now += seconds
            store.database.now = deadline + timedelta(seconds=seconds)
            await keeper.run_once()
            assert state() == expected


def test_what_was_killed_with_its_keeper_is_taken_up_again_without_waiting_for_its_lease(
    start: Start, query: Query
) -> None:
    """ANCESTORS 9: the lease is a day, and the test is over before."""
    with WikiServer(PAGES) as wiki:
        unanswered(wiki, start, FIRST, lease_seconds=86_400).vanish()
        assert states(query) == dict.fromkeys(FIRST, "claimed")
        wiki.release()
        assert start(of(wiki, FIRST)).end() == 0
    assert states(query) == dict.fromkeys(FIRST, "processed")


DEADLY = """
import os, signal
from detent.sources.wiki import handling
parse = handling.parse
def parse_or_die(text, site, page):
    if "deadly" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return parse(text, site, page)
handling.parse = parse_or_die
"""


@pytest.mark.parametrize("way", ["api", "dump"])
def test_an_article_that_kills_its_worker_fails_and_its_neighbours_are_loaded(
    start: Start, query: Query, tmp_path: Path, way: str
) -> None:
    """ANCESTORS 11: it was claimed again for ever."""
    pages = PAGES | {"Page 030": "It is deadly."}
    dump = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in pages.items()])
    with WikiServer(pages) as wiki:
        ways = {"api": of(wiki, NAMES), "dump": WikiSettings(dump=dump, cache=tmp_path / "cache", seeds=NAMES, depth=0)}
        ends = [start(ways[way], first=DEADLY).end() for _ in range(4)]
    assert ends == [-signal.SIGKILL, -signal.SIGKILL, -signal.SIGKILL, 0]
    assert states(query) == dict.fromkeys(NAMES, "processed") | {"Page 030": "failed"}
    [failure] = query("SELECT trouble, message FROM failure")
    assert failure.trouble == "worker_died"
    assert "died or lost its lease while it held the item (attempt 3 of 3)" in failure.message


FRONTIER = 20_000
ROWS_READ = """
SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('item', 'place'))
       + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('item', 'place')) AS count
"""
CONNECTED = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'detent'"


def rows_read(query: Query) -> int:
    """How many rows of the large tables were ever read, by those who have gone, which tell it then, and by the test."""
    until(lambda: not query(CONNECTED))
    query("SELECT pg_stat_force_next_flush()")
    return int(query(ROWS_READ)[0].count)


@pytest.fixture
def frontier(database: str, query: Query) -> Iterator[WikiSettings]:
    """An expansion that has loaded as much as it was to load, and knows of many more titles."""
    pages = {"Hub": " ".join(f"[[Near {number}]]" for number in range(30))}
    with WikiServer(pages | {f"Near {number}": "Here." for number in range(30)}) as wiki:
        settings = of(wiki, ["Hub"], depth=1, target=1)
        expanded(database, settings)
        with detent.open(database=database) as db:
            db.add("wiki", "Article", [NewItem(f"Title {number}", "Article", 1) for number in range(FRONTIER)])
        query("VACUUM ANALYZE")
        yield settings


def test_an_expansion_does_not_read_all_that_it_knows_of(frontier: WikiSettings, start: Start, query: Query) -> None:
    """ANCESTORS 12: claiming scanned all items, and so did counting, twice per loop."""
    before = rows_read(query)
    assert start(replace(frontier, target=21)).end() == 0
    assert rows_read(query) - before < FRONTIER / 10
    assert Counter(states(query).values()) == {"processed": 21, "discovered": FRONTIER + 10}


def test_claiming_does_not_read_all_that_waits(frontier: WikiSettings, database: str, query: Query) -> None:
    """ANCESTORS 12: where all was let in, as it is after much has changed."""
    query("UPDATE item SET not_before = '-infinity' WHERE not_before = held_back()")
    query("UPDATE place SET not_before = '-infinity' WHERE not_before = held_back()")
    query("VACUUM ANALYZE")
    before = rows_read(query)
    with detent.open(database=database) as db:
        manager = WorkQueueManager(db)
        claimed = manager.claim_work(batch_size=50)
        assert manager.get_queue_stats()["claimed"] == len(claimed) == 50
    assert rows_read(query) - before < FRONTIER / 10
