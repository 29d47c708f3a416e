"""What the documents "Expansion State Machine" (000) and "Expansion Module" (001) promise of the work queue."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from detent import Detent, Done, IllegalMove, LeaseLost, NewItem, Node
from detent.errors import UnknownName
from detent.interfaces import NotAdvanced, NotHeld, WorkQueueManager
from detent.lifecycle import ARTICLE
from detent.store import Stage

Clock = Callable[..., datetime]

SEEDS = ("Deep learning", "Machine learning", "Statistics")


def discover(db: Detent, titles: Iterable[str], depth: int = 0, source: str = "wiki") -> None:
    db.declare(source, "Article", ARTICLE)
    db.add(source, "Article", [NewItem(title, "Article", depth) for title in titles])


def titles(articles: Iterable[Any]) -> list[str]:
    return [article["title"] for article in articles]


def state_of(manager: WorkQueueManager, title: str) -> str:
    return str(manager.get_article(title)["expansion_state"])


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def manager(db: Detent) -> WorkQueueManager:
    manager = WorkQueueManager(db, max_retries=3)
    discover(db, SEEDS)
    return manager


# The documents' usage examples, as they stand but for the imports and the connection.


def test_the_example_of_the_state_machine_works(db: Detent, capsys: pytest.CaptureFixture[str]) -> None:
    conn = db
    discover(db, SEEDS)
    processed = []

    def process_article(title: str) -> None:
        if title == "Statistics":
            raise ConnectionError("no route to the encyclopaedia")
        processed.append(title)

    # Initialize
    queue = WorkQueueManager(conn)

    # Main processing loop
    while True:
        # Claim work
        batch = queue.claim_work(batch_size=10, timeout_seconds=300)

        if not batch:
            print("No more work")  # noqa: T201
            break

        # Process each article
        for article in batch:
            try:
                # Heartbeat during long operation
                queue.update_heartbeat(article['title'])  # fmt: skip

                # Process article (fetch, parse, embed, load)
                process_article(article['title'])  # fmt: skip

                # Mark as loaded
                queue.advance_state(article['title'], 'loaded')  # fmt: skip

            except Exception as e:
                # Mark as failed (with retry)
                queue.mark_failed(article['title'], str(e))  # fmt: skip

        # Reclaim stale claims periodically
        reclaimed = queue.reclaim_stale(timeout_seconds=300)
        if reclaimed > 0:
            print(f"Reclaimed {reclaimed} stale claims")  # noqa: T201

    assert capsys.readouterr().out == "No more work\n"
    assert processed == ["Deep learning", "Machine learning"]
    assert queue.get_queue_stats() == {
        "discovered": 0, "claimed": 0, "loaded": 2, "processed": 0, "failed": 1, "total": 3,
    }  # fmt: skip
    failed = queue.get_article("Statistics")
    assert (failed["retry_count"], failed["error"]) == (3, "no route to the encyclopaedia")


def test_the_example_of_basic_usage_works(db: Detent) -> None:
    conn = db
    discover(db, SEEDS)

    def process_article(title: str) -> bool:
        return title != "Statistics"

    # Initialize
    manager = WorkQueueManager(conn, max_retries=3)

    # Claim work
    articles = manager.claim_work(batch_size=10)

    # Process each article
    for article in articles:
        title = article['title']  # fmt: skip

        # Update heartbeat periodically during processing
        manager.update_heartbeat(title)

        # Process article...
        success = process_article(title)

        if success:
            manager.advance_state(title, "loaded")
        else:
            manager.mark_failed(title, "Processing error")

    # Reclaim stale work
    reclaimed = manager.reclaim_stale(timeout_seconds=300)

    assert reclaimed == 0
    assert [state_of(manager, title) for title in SEEDS] == ["loaded", "loaded", "discovered"]
    assert manager.get_article("Statistics")["error"] == "Processing error"


def test_the_worker_loop_pattern_works(db: Detent, monkeypatch: pytest.MonkeyPatch) -> None:
    discover(db, SEEDS)

    def process_article(article: Any) -> SimpleNamespace:
        if article["title"] == "Statistics":
            raise ValueError("malformed")
        return SimpleNamespace(success=article["title"] != "Machine learning", error="not found")

    class Ended(Exception):
        pass

    def end(seconds: float) -> None:
        assert seconds == 60
        raise Ended

    monkeypatch.setattr(time, "sleep", end)

    def worker_loop(manager, timeout_seconds=300):  # type: ignore[no-untyped-def]
        """Continuous worker processing loop"""

        while True:
            # Reclaim stale work
            manager.reclaim_stale(timeout_seconds)

            # Claim batch
            articles = manager.claim_work(batch_size=10)

            if not articles:
                print("No work available")  # noqa: T201
                time.sleep(60)
                continue

            # Process batch
            for article in articles:
                try:
                    # Heartbeat every 30 seconds
                    manager.update_heartbeat(article['title'])  # fmt: skip

                    # Process
                    result = process_article(article)

                    if result.success:
                        manager.advance_state(article['title'], 'loaded')  # fmt: skip
                    else:
                        manager.mark_failed(article['title'], result.error)  # fmt: skip

                except Exception as e:
                    manager.mark_failed(article['title'], str(e))  # fmt: skip

    manager = WorkQueueManager(db)
    with pytest.raises(Ended):
        worker_loop(manager)  # type: ignore[no-untyped-call]
    described = {title: manager.get_article(title) for title in SEEDS}
    assert [described[title]["expansion_state"] for title in SEEDS] == ["loaded", "failed", "failed"]
    assert [described[title]["error"] for title in SEEDS] == [None, "not found", "malformed"]


def test_the_example_with_a_loader_works(db: Detent) -> None:
    discover(db, SEEDS)
    loader = SimpleNamespace(conn=db, load_article=lambda title: (title != "Statistics", "too short"))

    manager = WorkQueueManager(loader.conn)

    # Claim and process
    articles = manager.claim_work(batch_size=5)
    for article in articles:
        success, error = loader.load_article(article['title'])  # fmt: skip
        if success:
            manager.advance_state(article['title'], 'loaded')  # fmt: skip
        else:
            manager.mark_failed(article['title'], error)  # fmt: skip

    assert manager.get_queue_stats()["loaded"] == 2
    assert manager.get_article("Statistics")["error"] == "too short"


# The API reference, sentence by sentence.


def test_claim_work_returns_titles_depths_and_the_time_of_the_claim(manager: WorkQueueManager, clock: Clock) -> None:
    claimed = manager.claim_work()
    assert claimed == [{"title": title, "expansion_depth": 0, "claimed_at": clock()} for title in SEEDS]
    assert isinstance(claimed[0]["claimed_at"], datetime)


def test_claim_work_takes_ten_articles_unless_told_otherwise(db: Detent, manager: WorkQueueManager) -> None:
    discover(db, [f"Article {number}" for number in range(20)], depth=1)
    assert len(manager.claim_work()) == 10
    assert len(manager.claim_work(batch_size=4)) == 4
    assert manager.claim_work(batch_size=0) == []


def test_claim_work_returns_an_empty_list_if_no_work_is_available(db: Detent) -> None:
    assert WorkQueueManager(db).claim_work() == []


def test_claim_work_finds_discovered_articles_only(manager: WorkQueueManager) -> None:
    first, second, third = titles(manager.claim_work())
    manager.advance_state(first, "loaded")
    manager.advance_state(second, "failed")
    assert manager.claim_work() == []
    assert state_of(manager, third) == "claimed"


def test_claim_work_orders_by_depth_whatever_was_retried_when(db: Detent, clock: Clock) -> None:
    manager = WorkQueueManager(db, max_retries=10)
    for depth in (2, 0, 1):
        discover(db, [f"depth {depth}, {letter}" for letter in "ab"], depth)
    expected = [f"depth {depth}, {letter}" for depth in range(3) for letter in "ab"]
    assert titles(manager.claim_work()) == expected
    for title in reversed(expected):
        manager.mark_failed(title, "again")
        clock(1)
    assert [titles(manager.claim_work(batch_size=1)) for _ in expected] == [[title] for title in expected]


def test_claim_work_updates_the_state_with_the_present_time(manager: WorkQueueManager, clock: Clock) -> None:
    now = clock(7)
    manager.claim_work(batch_size=1)
    article = manager.get_article(SEEDS[0])
    assert (article["expansion_state"], article["claimed_at"], article["processed_at"]) == ("claimed", now, None)


def test_a_claim_is_held_for_its_timeout_and_then_reclaimed_without_being_asked(
    manager: WorkQueueManager, clock: Clock
) -> None:
    manager.claim_work(batch_size=3, timeout_seconds=60)
    clock(60)
    assert manager.claim_work() == []
    clock(1)
    assert titles(manager.claim_work()) == list(SEEDS)


def test_a_heartbeat_updates_claimed_at_and_prevents_reclamation(manager: WorkQueueManager, clock: Clock) -> None:
    manager.claim_work(batch_size=1, timeout_seconds=300)
    clock(299)
    manager.update_heartbeat(SEEDS[0])
    assert manager.get_article(SEEDS[0])["claimed_at"] == clock()
    clock(299)
    assert manager.reclaim_stale(timeout_seconds=300) == 0
    manager.advance_state(SEEDS[0], "loaded")


def test_a_heartbeat_keeps_one_article_and_not_its_neighbours(manager: WorkQueueManager, clock: Clock) -> None:
    manager.claim_work(batch_size=3)
    clock(200)
    manager.update_heartbeat(SEEDS[1])
    clock(200)
    assert manager.reclaim_stale(timeout_seconds=300) == 2
    assert [state_of(manager, title) for title in SEEDS] == ["discovered", "claimed", "discovered"]


def test_reclaim_stale_returns_articles_to_the_queue_and_clears_claimed_at(
    manager: WorkQueueManager, clock: Clock
) -> None:
    manager.claim_work(batch_size=2)
    clock(301)
    assert manager.reclaim_stale(timeout_seconds=300) == 2
    assert manager.reclaim_stale(timeout_seconds=300) == 0
    article = manager.get_article(SEEDS[0])
    assert (article["expansion_state"], article["claimed_at"]) == ("discovered", None)
    assert titles(manager.claim_work()) == list(SEEDS)


def test_reclaim_stale_goes_by_the_timeout_given(manager: WorkQueueManager, clock: Clock) -> None:
    manager.claim_work(batch_size=1, timeout_seconds=900)
    clock(30)
    assert manager.reclaim_stale(timeout_seconds=30) == 0
    assert manager.reclaim_stale(timeout_seconds=29) == 1


def test_reclaim_stale_leaves_other_sources_alone(db: Detent, manager: WorkQueueManager, clock: Clock) -> None:
    discover(db, ["Elsewhere"], source="wiki-fr")
    other = WorkQueueManager(db, source="wiki-fr")
    assert titles(other.claim_work()) == ["Elsewhere"]
    clock(301)
    assert manager.reclaim_stale() == 0
    assert other.get_queue_stats()["claimed"] == 1
    assert manager.get_queue_stats() == {
        "discovered": 3, "claimed": 0, "loaded": 0, "processed": 0, "failed": 0, "total": 3,
    }  # fmt: skip


@pytest.mark.parametrize("state", ["loaded", "failed", "processed"])
def test_advance_state_updates_the_state_and_sets_processed_at(
    manager: WorkQueueManager, clock: Clock, state: str
) -> None:
    manager.claim_work(batch_size=1)
    now = clock(5)
    manager.advance_state(SEEDS[0], state)
    article = manager.get_article(SEEDS[0])
    assert (article["expansion_state"], article["processed_at"]) == (state, now)


def test_a_loaded_article_advances_to_processed_whoever_loaded_it(
    db: Detent, manager: WorkQueueManager, clock: Clock
) -> None:
    manager.claim_work(batch_size=1)
    manager.advance_state(SEEDS[0], "loaded")
    now = clock(5)
    WorkQueueManager(db).advance_state(SEEDS[0], "processed")
    article = manager.get_article(SEEDS[0])
    assert (article["expansion_state"], article["processed_at"]) == ("processed", now)


def test_a_failed_article_is_reset_by_hand(manager: WorkQueueManager) -> None:
    manager.claim_work(batch_size=1)
    manager.advance_state(SEEDS[0], "failed")
    manager.advance_state(SEEDS[0], "discovered")
    assert titles(manager.claim_work(batch_size=1)) == [SEEDS[0]]


def test_mark_failed_counts_and_retries_at_once_until_the_limit(
    db: Detent, manager: WorkQueueManager, clock: Clock
) -> None:
    for count in (1, 2):
        assert titles(manager.claim_work(batch_size=1)) == [SEEDS[0]]
        assert manager.get_article(SEEDS[0])["retry_count"] == count - 1
        manager.mark_failed(SEEDS[0], f"error {count}")
        assert manager.get_article(SEEDS[0]) == {
            "title": SEEDS[0], "expansion_state": "discovered", "expansion_depth": 0, "claimed_at": None,
            "processed_at": None, "retry_count": count, "error": f"error {count}",
        }  # fmt: skip
    claimed_at = manager.claim_work(batch_size=1)[0]["claimed_at"]
    now = clock(9)
    manager.mark_failed(SEEDS[0], "error 3")
    assert manager.get_article(SEEDS[0]) == {
        "title": SEEDS[0], "expansion_state": "failed", "expansion_depth": 0, "claimed_at": claimed_at,
        "processed_at": now, "retry_count": 3, "error": "error 3",
    }  # fmt: skip
    assert SEEDS[0] not in titles(manager.claim_work())


def test_max_retries_is_configurable(db: Detent) -> None:
    discover(db, SEEDS)
    manager = WorkQueueManager(db, max_retries=1)
    manager.claim_work(batch_size=1)
    manager.mark_failed(SEEDS[0], "at once")
    assert state_of(manager, SEEDS[0]) == "failed"


def test_a_loaded_article_remembers_how_often_it_was_retried(manager: WorkQueueManager) -> None:
    manager.claim_work(batch_size=1)
    manager.mark_failed(SEEDS[0], "once")
    manager.claim_work(batch_size=1)
    manager.advance_state(SEEDS[0], "loaded")
    article = manager.get_article(SEEDS[0])
    assert (article["retry_count"], article["error"]) == (1, None)


def test_queue_stats_count_every_state_and_the_total(db: Detent, manager: WorkQueueManager) -> None:
    discover(db, [f"Article {number}" for number in range(7)], depth=1)
    first, second, third, *_ = titles(manager.claim_work(batch_size=5))
    manager.advance_state(first, "loaded")
    manager.advance_state(second, "processed")
    manager.advance_state(third, "failed")
    assert manager.get_queue_stats() == {
        "discovered": 5, "claimed": 2, "loaded": 1, "processed": 1, "failed": 1, "total": 10,
    }  # fmt: skip


def test_queue_stats_of_an_empty_queue_are_zeros(db: Detent) -> None:
    assert set(WorkQueueManager(db).get_queue_stats().values()) == {0}


def test_an_article_that_does_not_exist_is_named_with_a_suggestion(manager: WorkQueueManager) -> None:
    calls: list[Callable[[], object]] = [
        lambda: manager.get_article("Machine lerning"),
        lambda: manager.advance_state("Machine lerning", "loaded"),
        lambda: manager.mark_failed("Machine lerning", "x"),
        lambda: manager.update_heartbeat("Machine lerning"),
    ]
    for call in calls:
        with pytest.raises(UnknownName, match="Machine learning"):
            call()


# How the ancestors fail (ANCESTORS.md, lines 1 to 8 and 11).


def test_two_managers_never_claim_the_same_article(open_db: Callable[[], Detent]) -> None:
    """Line 1."""
    opened = [open_db() for _ in range(4)]
    discover(opened[0], [f"Article {number}" for number in range(200)])
    claimed: list[str] = []

    def work(manager: WorkQueueManager) -> None:
        while batch := manager.claim_work(batch_size=7):
            claimed.extend(titles(batch))
            for title in titles(batch):
                manager.advance_state(title, "loaded")

    threads = [threading.Thread(target=work, args=[WorkQueueManager(db)]) for db in opened for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(claimed) == {f"Article {number}": 1 for number in range(200)}
    assert WorkQueueManager(opened[0]).get_queue_stats()["loaded"] == 200


def test_two_programs_share_a_queue(db: Detent, program: Callable[[str], subprocess.Popen[str]]) -> None:
    """Line 1, with processes."""
    discover(db, [f"Article {number}" for number in range(100)])
    lines = """
manager = WorkQueueManager(db)
print("ready", flush=True)
input()
while batch := manager.claim_work(batch_size=3):
    for article in batch:
        print(article["title"], flush=True)
        manager.advance_state(article["title"], "loaded")
"""
    processes = [program(lines) for _ in range(2)]
    for process in processes:
        assert said(process) == "ready"
    claimed: list[str] = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        claimed += process.communicate()[0].splitlines()
        assert process.returncode == 0
    assert Counter(claimed) == {f"Article {number}": 1 for number in range(100)}


@pytest.fixture
def taken_over(db: Detent, manager: WorkQueueManager, clock: Clock) -> WorkQueueManager:
    """Another manager, which has the first article after the first manager was too slow with it."""
    manager.claim_work(batch_size=1)
    clock(301)
    other = WorkQueueManager(db)
    assert titles(other.claim_work(batch_size=1)) == [SEEDS[0]]
    return other


@pytest.mark.parametrize("state", ["loaded", "processed", "failed"])
def test_a_late_advance_after_a_reclaim_is_refused(
    manager: WorkQueueManager, taken_over: WorkQueueManager, state: str
) -> None:
    """Line 2."""
    with pytest.raises(LeaseLost):
        manager.advance_state(SEEDS[0], state)
    with pytest.raises(NotHeld):
        manager.advance_state(SEEDS[0], state)
    assert state_of(taken_over, SEEDS[0]) == "claimed"
    taken_over.advance_state(SEEDS[0], "loaded")
    with pytest.raises(IllegalMove):
        manager.advance_state(SEEDS[0], "loaded")


def test_a_late_failure_after_a_reclaim_is_refused(manager: WorkQueueManager, taken_over: WorkQueueManager) -> None:
    """Line 2."""
    with pytest.raises(LeaseLost):
        manager.mark_failed(SEEDS[0], "late")
    with pytest.raises(LeaseLost):
        manager.mark_failed(SEEDS[0], "late")
    article = taken_over.get_article(SEEDS[0])
    assert article["expansion_state"] == "claimed"
    assert "late" not in article["error"]


@pytest.mark.parametrize("state", ["loaded", "processed"])
def test_a_finished_article_is_not_pushed_back_into_the_queue(manager: WorkQueueManager, state: str) -> None:
    """Line 3."""
    manager.claim_work(batch_size=1)
    manager.advance_state(SEEDS[0], state)
    before = manager.get_article(SEEDS[0])
    with pytest.raises(IllegalMove):
        manager.mark_failed(SEEDS[0], "too late")
    assert manager.get_article(SEEDS[0]) == before


def test_who_advances_an_article_is_told_that_what_it_carries_cannot_be_kept(manager: WorkQueueManager) -> None:
    manager.claim_work(batch_size=1)
    manager.carry(SEEDS[0], Done(Node("half a pair \ud800")))
    with pytest.raises(NotAdvanced) as refused:
        manager.advance_state(SEEDS[0], "loaded")
    assert str(refused.value).startswith(f"wiki/Article/{SEEDS[0]} cannot go from 'claimed' to 'loaded': ")
    assert (refused.value.item, refused.value.state, refused.value.to) == (
        f"wiki/Article/{SEEDS[0]}",
        "claimed",
        "loaded",
    )
    manager.mark_failed(SEEDS[0], str(refused.value))
    assert state_of(manager, SEEDS[0]) == "failed"
    with pytest.raises(IllegalMove):
        manager.mark_failed(SEEDS[0], "again")


def test_an_illegal_move_is_refused_and_nothing_is_written(db: Detent, manager: WorkQueueManager) -> None:
    """Lines 4 and 14: every pair of states that the lifecycle does not have."""
    legal = {("loaded", "processed"), ("failed", "discovered"), ("loaded", "discovered"), ("processed", "discovered")}
    resting = {"discovered": SEEDS[2], "loaded": SEEDS[0], "failed": SEEDS[1]}
    manager.claim_work(batch_size=2)
    manager.advance_state(SEEDS[0], "loaded")
    manager.advance_state(SEEDS[1], "failed")
    for state, title in resting.items():
        for to in (*ARTICLE.states, "nonsense"):
            if (state, to) not in legal:
                before = manager.get_article(title)
                with pytest.raises(IllegalMove):
                    manager.advance_state(title, to)
                assert manager.get_article(title) == before
    manager.claim_work(batch_size=1)
    for to in ("claimed", "discovered", "nonsense"):
        with pytest.raises(IllegalMove):
            manager.advance_state(SEEDS[2], to)
    assert state_of(manager, SEEDS[2]) == "claimed"
    manager.advance_state(SEEDS[2], "loaded")


def test_an_article_that_another_worker_has_is_left_to_it(db: Detent, manager: WorkQueueManager) -> None:
    """Line 4."""
    other = WorkQueueManager(db)
    manager.claim_work()
    calls: list[Callable[[], object]] = [
        lambda: other.advance_state(SEEDS[0], "loaded"),
        lambda: other.mark_failed(SEEDS[0], "not mine"),
        lambda: other.update_heartbeat(SEEDS[0]),
    ]
    for call in calls:
        with pytest.raises(NotHeld, match="claim_work"):
            call()
    manager.advance_state(SEEDS[0], "loaded")


def test_a_slow_article_with_heartbeats_runs_once(db: Detent, manager: WorkQueueManager, clock: Clock) -> None:
    """Lines 5 and 6: every article of a batch can be kept for as long as it takes."""
    other = WorkQueueManager(db)
    manager.claim_work(batch_size=3, timeout_seconds=300)
    for _ in range(10):
        clock(250)
        for title in SEEDS:
            manager.update_heartbeat(title)
        assert other.reclaim_stale(timeout_seconds=300) == 0
        assert other.claim_work() == []
    for title in SEEDS:
        manager.advance_state(title, "loaded")


def test_an_article_that_waited_too_long_for_its_turn_is_not_done_twice(
    manager: WorkQueueManager, taken_over: WorkQueueManager
) -> None:
    """Lines 6 and 7: the heartbeat at the beginning of its turn says that the claim is lost."""
    with pytest.raises(LeaseLost, match=SEEDS[0]):
        manager.update_heartbeat(SEEDS[0])
    with pytest.raises(NotHeld):
        manager.update_heartbeat(SEEDS[0])
    taken_over.update_heartbeat(SEEDS[0])


def test_a_late_claim_that_nobody_took_is_still_good(manager: WorkQueueManager, clock: Clock) -> None:
    manager.claim_work(batch_size=1)
    clock(3000)
    manager.update_heartbeat(SEEDS[0])
    manager.advance_state(SEEDS[0], "loaded")


def test_a_new_manager_leaves_alone_what_others_are_working_on(
    db: Detent, manager: WorkQueueManager, clock: Clock
) -> None:
    """Line 8."""
    manager.claim_work()
    clock(100)
    newcomer = WorkQueueManager(db)
    assert newcomer.claim_work() == []
    assert newcomer.get_queue_stats()["claimed"] == 3
    for title in SEEDS:
        manager.advance_state(title, "loaded")


def test_an_article_that_kills_its_worker_ends_in_failed_and_its_neighbours_do_not(db: Detent, clock: Clock) -> None:
    """Line 11, and rule 9: before the last attempt, the articles of a batch that died are tried one by one."""
    discover(db, SEEDS)
    killer = SEEDS[1]
    batches = []
    for _ in range(10):
        worker = WorkQueueManager(db)
        for title in (batch := titles(worker.claim_work())):
            if title == killer:
                clock(301)
                break
            if killer not in batch:
                worker.advance_state(title, "loaded")
        batches.append(batch)
    assert batches[:5] == [list(SEEDS), list(SEEDS), [SEEDS[0]], [SEEDS[1]], [SEEDS[2]]]
    manager = WorkQueueManager(db)
    assert [state_of(manager, title) for title in SEEDS] == ["loaded", "failed", "loaded"]
    failed = manager.get_article(killer)
    assert failed["retry_count"] == 3
    assert "died" in failed["error"]


def test_a_worker_that_is_killed_loses_nothing(
    db: Detent, program: Callable[[str], subprocess.Popen[str]], clock: Clock
) -> None:
    discover(db, SEEDS)
    process = program(
        """
manager = WorkQueueManager(db)
first, *_ = manager.claim_work(timeout_seconds=300)
manager.advance_state(first["title"], "loaded")
print("working", flush=True)
time.sleep(600)
"""
    )
    assert said(process) == "working"
    process.kill()
    process.wait()
    clock((datetime.now(UTC) - clock()).total_seconds())
    manager = WorkQueueManager(db)
    assert manager.claim_work() == []
    clock(301)
    assert manager.reclaim_stale() == 2
    assert titles(manager.claim_work()) == list(SEEDS[1:])
    assert manager.get_article(SEEDS[1])["retry_count"] == 1


def test_the_engine_and_the_manager_share_one_queue(db: Detent, manager: WorkQueueManager) -> None:
    """The manager is no second implementation: what it claims no worker of Detent's own gets, and the reverse."""
    store = db.asynchronous.store
    manager.claim_work(batch_size=1)
    items = db.wait(store.claim(Stage(ARTICLE, "discovered"), owner="worker"))
    assert [item.key for item in items] == list(SEEDS[1:])
    assert manager.claim_work() == []
    with pytest.raises(LeaseLost):
        manager.advance_state(SEEDS[1], "loaded")
    db.wait(store.release(items))
    manager.mark_failed(SEEDS[0], "x")
    assert titles(manager.claim_work()) == list(SEEDS)


def test_errors_are_kept_whatever_their_text(manager: WorkQueueManager) -> None:
    manager.claim_work(batch_size=1)
    manager.mark_failed(SEEDS[0], "a NUL \x00 and half a pair \ud800")
    assert manager.get_article(SEEDS[0])["error"] == "a NUL \\x00 and half a pair \\ud800"
