"""The verbs of items: filters, and moving by hand what they choose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import detent
from detent import Done, Failed, Trouble
from detent.errors import Ambiguous, DetentError, NothingChosen, UnknownName
from detent.lifecycle import ARTICLE, CRAWL, NODE, PASSAGE, TOPIC


@pytest.fixture
def db(database: str) -> Iterator[detent.Detent]:
    """Six topics, of which three failed, one is done and two wait; and three files, of which one failed."""
    with detent.open(database=database) as opened:
        opened.declare("topics", "Topic", TOPIC)
        opened.add("topics", "Topic", [f"topic {n}" for n in range(6)])
        items = opened.claim(TOPIC, "pending", owner="me", limit=4)
        failures = [Failed("It is gone", Trouble.NOT_FOUND), Failed("too slow", Trouble.TIMEOUT), Failed("TOO slow")]
        opened.settle(list(zip(items, [*failures, Done()], strict=True)))
        opened.declare("docs", "File", NODE)
        opened.add("docs", "File", ["a.py", "b.py", "topic 5"])
        [file] = opened.claim(NODE, "pending", owner="me", limit=1)
        opened.settle([(file, Failed("no syntax"))])
        yield opened
        assert opened.check().as_data() == {"ok": True, "problems": [], "repaired": []}


FILTERS: list[tuple[dict[str, Any], int, int, int]] = [
    ({"everything": True}, 4, 9, 3),
    ({"source": "topics"}, 3, 6, 0),
    ({"source": "docs", "label": "File"}, 1, 3, 3),
    ({"state": "failed"}, 3, 3, 0),
    ({"state": "pending"}, 0, 4, 2),
    ({"error_kind": "timeout"}, 1, 1, 0),
    ({"error_kind": "parse"}, 1, 1, 1),
    ({"text": "too SLOW"}, 2, 2, 0),
    ({"text": "topic 5"}, 0, 2, 1),
    ({"text": "slow", "error_kind": "timeout", "state": "failed", "source": "topics"}, 1, 1, 0),
    ({"since": "2000-01-01"}, 4, 9, 3),
    ({"until": "2000-01-01"}, 0, 0, 0),
]


@pytest.mark.parametrize(("chosen", "retried", "restarted", "skipped"), FILTERS)
def test_a_dry_run_tells_what_the_run_does(
    db: detent.Detent, chosen: dict[str, Any], retried: int, restarted: int, skipped: int
) -> None:
    before = db.count_by_state()
    dry = [verb(**chosen, dry_run=True) for verb in (db.retry, db.reset, db.skip)]
    assert [(each.count, each.dry_run) for each in dry] == [(retried, True), (restarted, True), (skipped, True)]
    assert db.count_by_state() == before

    assert db.skip(**chosen).count == skipped
    assert db.retry(**chosen).count == retried - (1 if skipped and retried else 0)


def test_reset_by_a_filter_puts_back_what_the_dry_run_counted(db: detent.Detent) -> None:
    assert db.reset(text="slow").as_data() == {"count": 2, "refused": [], "dry_run": False}
    assert {(line.source, line.state): line.count for line in db.count_by_state()} == {
        ("topics", "pending"): 4,
        ("topics", "failed"): 1,
        ("topics", "success"): 1,
        ("docs", "pending"): 2,
        ("docs", "error"): 1,
    }


def test_items_that_are_named_and_cannot_be_moved_are_told(db: detent.Detent) -> None:
    names = ("topic 0", "topic 3")
    found = [db.find_one(key) for key in names]
    for dry_run in (True, False):
        moved = db.retry(found, dry_run=dry_run)
        assert (moved.count, [item.key for item in moved.refused]) == (1, ["topic 3"])
    assert db.skip(found).count == 0
    assert db.reset([*found, 10**9]).count == 2


def test_what_is_skipped_goes_by_its_lifecycle_and_is_told_in_the_journal(db: detent.Detent) -> None:
    db.declare("docs", "Section", PASSAGE)
    db.add("docs", "Section", ["a section"])
    held = db.claim(NODE, "pending", owner="me", limit=1)

    assert db.skip(source="docs", everything=False).count == 3
    moves = [(entry.from_state, entry.to_state, entry.reason) for entry in db.history(db.find("a.py")[0])]
    assert moves[-2:] == [("error", "pending", "skipped by hand"), ("pending", "skip", "skipped by hand")]
    assert db.show("a.py").item.error is None
    assert db.settle([(held[0], Done())])[0].status.value == "applied"
    assert db.reset(state="skip").count == 3


def test_which_items_are_moved_must_be_said_and_only_in_one_way(db: detent.Detent) -> None:
    for verb in (db.retry, db.reset, db.skip):
        with pytest.raises(NothingChosen, match="Say which items"):
            verb()
        with pytest.raises(DetentError, match="not both"):
            verb([1], source="topics")
        with pytest.raises(UnknownName, match="Did you mean 'topics'"):
            verb(source="topic", dry_run=True)
    with pytest.raises(UnknownName, match="Did you mean 'timeout'"):
        db.retry(error_kind="timeot")
    with pytest.raises(DetentError, match="'soon' is no day or time"):
        db.items(since="soon")


def test_a_day_that_ends_a_filter_belongs_to_it(db: detent.Detent) -> None:
    came = db.show("topic 0").item.since
    assert len(db.items(until=f"{came:%Y-%m-%d}", text="topic").items) == 7
    assert db.items(until=came - timedelta(days=1), text="topic").items == []


def test_one_item_is_shown_by_its_key_and_several_are_an_error_that_lists_them(db: detent.Detent) -> None:
    assert db.show("topic 0").item.error == "It is gone"
    with pytest.raises(Ambiguous, match="2 items have the key 'topic 5'") as raised:
        db.show("topic 5")
    assert [item.source for item in raised.value.items] == ["topics", "docs"]
    assert db.show("topic 5", source="docs").item.label == "File"
    with pytest.raises(UnknownName, match="the source 'topics' has one with the label 'Topic'"):
        db.show("topic 1", source="docs")


def test_values_have_a_form_for_json(db: detent.Detent) -> None:
    db.declare("wiki", "Article", ARTICLE)
    db.claim(TOPIC, "pending", owner="me", limit=1)
    for value in (db.items(), db.show("topic 0"), db.show("topic 4", texts=True), *db.list_sources(), *db.lifecycles()):
        assert json.loads(json.dumps(value.as_data())) == value.as_data()
    story = db.show("topic 4").as_data()
    assert story["lease"]["owner"] == "me"
    assert story["item"]["since"].endswith("+00:00")


def test_items_are_paused_and_resumed_with_their_checkpoints(db: detent.Detent) -> None:
    db.declare("laws", "Crawl", CRAWL)
    db.add("laws", "Crawl", ["bills", "votes"])
    [bills] = db.claim(CRAWL, "idle", owner="me", limit=1)
    db.settle([(bills, detent.Step(to="fetching", checkpoint={"page": 3}))])

    assert db.pause_items(source="laws", dry_run=True).count == 2
    assert db.pause_items(db.find("bills")).count == 1
    story = db.show("bills")
    assert (story.item.state, story.checkpoint) == ("paused", {"page": 3})
    assert db.settle([(bills, Done())])[0].status.value == "lost"
    assert [item.key for item in db.resume_items(db.find("votes")).refused] == ["votes"]
    assert db.resume_items(state="paused").count == 1
    assert db.show("bills").checkpoint == {"page": 3}
