"""The built-in lifecycles, against tables written by hand from the documents that they come from."""

import pytest

from detent.errors import IllegalMove
from detent.lifecycle import ARTICLE, BUILTIN, CRAWL, NODE, PASSAGE, SIMPLE, TOPIC, Event, Lifecycle

# Per state: the states it may go to, and why.
Table = dict[str, dict[str, set[str]]]

EXPECTED: dict[str, Table] = {
    "simple": {
        "waiting": {"working": {"claim"}},
        "working": {"worked": {"done"}, "waiting": {"back"}, "failed": {"fail"}},
        "worked": {"embedding": {"claim"}, "done": {"skip"}, "waiting": {"change"}},
        "embedding": {"done": {"done"}, "worked": {"back"}, "failed": {"fail"}},
        "done": {"waiting": {"change"}, "worked": {"change"}},
        "failed": {"waiting": {"retry", "change"}, "worked": {"retry"}},
    },
    "article": {
        "discovered": {"claimed": {"claim"}},
        "claimed": {"loaded": {"done"}, "discovered": {"back"}, "failed": {"fail"}},
        "loaded": {"processed": {"step"}, "discovered": {"change"}},
        "processed": {"discovered": {"change"}},
        "failed": {"discovered": {"retry", "change"}},
    },
    "node": {
        "pending": {"parsing": {"claim"}, "skip": {"skip"}},
        "parsing": {"parsed": {"done"}, "error": {"fail"}, "pending": {"back"}},
        "parsed": {"linking": {"claim"}, "pending": {"change"}},
        "linking": {"linked": {"done"}, "error": {"fail"}, "parsed": {"back"}},
        "linked": {"embedding": {"claim"}, "skip": {"skip"}, "pending": {"change"}},
        "embedding": {"ready": {"done"}, "error": {"fail"}, "linked": {"back"}},
        "ready": {"pending": {"change"}, "linked": {"change"}},
        "skip": {"pending": {"change"}},
        "error": {"pending": {"retry", "change"}, "parsed": {"retry"}, "linked": {"retry"}},
    },
    "passage": {
        "linked": {"embedding": {"claim"}, "skip": {"skip"}},
        "embedding": {"ready": {"done"}, "error": {"fail"}, "linked": {"back"}},
        "ready": {"linked": {"change"}},
        "skip": {"linked": {"change"}},
        "error": {"linked": {"retry", "change"}},
    },
    "crawl": {
        "idle": {"running": {"claim"}, "paused": {"pause"}},
        "running": {
            "fetching": {"step"},
            "completed": {"done"},
            "error": {"fail"},
            "paused": {"pause"},
        },
        "fetching": {"processing": {"step"}, "error": {"fail"}, "paused": {"pause"}},
        "processing": {"saving": {"step"}, "error": {"fail"}, "paused": {"pause"}},
        "saving": {
            "fetching": {"step"},
            "idle": {"done"},
            "completed": {"done"},
            "error": {"fail"},
            "paused": {"pause"},
        },
        "error": {"resuming": {"retry"}, "paused": {"pause"}, "completed": {"step"}},
        "resuming": {"fetching": {"claim"}, "paused": {"pause"}},
        "paused": {"running": {"claim"}, "idle": {"resume"}},
        "completed": {"idle": {"change"}},
    },
    "topic": {
        "pending": {"in_progress": {"claim"}},
        "in_progress": {"success": {"done"}, "failed": {"fail"}, "pending": {"back"}},
        "success": {"pending": {"change"}},
        "failed": {"pending": {"retry", "change"}},
    },
}

# What the documents themselves list; Detent adds giving back and change.
PROMISED: dict[str, dict[str, list[str]]] = {
    "article": {
        "discovered": ["claimed"],
        "claimed": ["loaded", "discovered", "failed"],
        "loaded": ["processed"],
        "failed": ["discovered"],
        "processed": ["discovered"],
    },
    # 002, VALID_TRANSITIONS
    "node": {
        "pending": ["parsing", "skip"],
        "parsing": ["parsed", "error"],
        "parsed": ["linking"],
        "linking": ["linked", "error"],
        "linked": ["embedding", "skip"],
        "embedding": ["ready", "error"],
        "ready": ["pending"],
        "skip": ["pending"],
        "error": ["pending"],
    },
    # 002, the part of it that a node has which came with another
    "passage": {
        "linked": ["embedding", "skip"],
        "embedding": ["ready", "error"],
    },
    # 003, Global Crawler States and Core Transitions
    "crawl": {
        "idle": ["running"],
        "running": ["fetching", "completed", "error", "paused"],
        "fetching": ["processing", "error", "paused"],
        "processing": ["saving", "error", "paused"],
        "saving": ["fetching", "idle", "error", "paused"],
        "error": ["resuming", "paused", "completed"],
        "resuming": ["fetching"],
        "paused": ["running"],
    },
    "topic": {
        "pending": ["in_progress"],
        "in_progress": ["success", "failed", "pending"],
        "failed": ["pending"],
        "success": ["pending"],
    },
}

PAIRS = [
    pytest.param(table, state, to, id=f"{table.name}: {state} to {to}")
    for table in BUILTIN.values()
    for state in table.states
    for to in table.states
]


def test_each_is_found_by_its_name() -> None:
    assert dict(BUILTIN) == {
        "simple": SIMPLE,
        "article": ARTICLE,
        "node": NODE,
        "passage": PASSAGE,
        "crawl": CRAWL,
        "topic": TOPIC,
    }


@pytest.mark.parametrize("table", BUILTIN.values(), ids=BUILTIN)
def test_a_lifecycle_has_the_states_of_its_document(table: Lifecycle) -> None:
    assert set(table.states) == set(EXPECTED[table.name])


@pytest.mark.parametrize(("table", "state", "to"), PAIRS)
def test_a_move_is_allowed_exactly_if_it_is_listed(table: Lifecycle, state: str, to: str) -> None:
    events = EXPECTED[table.name][state].get(to, set())
    assert {move.event.value for move in table.moves if (move.state, move.to) == (state, to)} == events
    assert table.allows(state, to) == bool(events)
    for event in events:
        path = table.path(state, Event(event), to)
        assert (path.via, path.to) == ((), to)


@pytest.mark.parametrize(("table", "state", "to"), PAIRS)
def test_a_move_that_is_not_listed_is_refused_by_name(table: Lifecycle, state: str, to: str) -> None:
    listed = EXPECTED[table.name][state].get(to, set())
    for event in Event:
        # Two rows may lead there in the order that `path` promises; that is tested with the table.
        if event.value in listed or event in {Event.BACK, Event.SKIP, Event.DONE, Event.FAIL}:
            continue
        with pytest.raises(IllegalMove) as refused:
            table.path(state, event, to, item="Thing 'x'")
        message = str(refused.value)
        assert message.startswith(f"Thing 'x' cannot go from {state!r} to {to!r}")
        assert f"the lifecycle {table.name!r}" in message


@pytest.mark.parametrize("table", [BUILTIN[name] for name in PROMISED], ids=PROMISED)
def test_every_move_that_a_document_promises_is_there(table: Lifecycle) -> None:
    missing = [
        (state, to) for state, ends in PROMISED[table.name].items() for to in ends if not table.allows(state, to)
    ]
    assert not missing


def test_beyond_its_documents_list_a_node_is_only_given_back_retried_or_changed() -> None:
    promised = {(state, to) for state, ends in PROMISED["node"].items() for to in ends}
    added = [move for move in NODE.moves if (move.state, move.to) not in promised]
    assert {move.event for move in added} == {Event.BACK, Event.CHANGE, Event.RETRY}


@pytest.mark.parametrize(
    ("table", "entries", "waiting", "working", "failures"),
    [
        (ARTICLE, {"discovered"}, {"discovered"}, {"claimed"}, {"failed"}),
        (
            NODE,
            {"pending", "linked"},
            {"pending", "parsed", "linked"},
            {"parsing", "linking", "embedding"},
            {"error"},
        ),
        (
            CRAWL,
            {"idle"},
            {"idle", "resuming"},
            {"running", "fetching", "processing", "saving"},
            {"error"},
        ),
        (TOPIC, {"pending"}, {"pending"}, {"in_progress"}, {"failed"}),
        (PASSAGE, {"linked", "skip"}, {"linked"}, {"embedding"}, {"error"}),
        (SIMPLE, {"waiting"}, {"waiting", "worked"}, {"working", "embedding"}, {"failed"}),
    ],
    ids=["article", "node", "crawl", "topic", "passage", "simple"],
)
def test_states_wait_work_and_fail_as_the_documents_say(
    table: Lifecycle, entries: set[str], waiting: set[str], working: set[str], failures: set[str]
) -> None:
    assert table.entries == entries
    assert table.waiting == waiting
    assert table.working == working
    assert table.failures == failures


@pytest.mark.parametrize("table", BUILTIN.values(), ids=BUILTIN)
def test_a_lost_lease_leads_back_to_where_the_work_waited(table: Lifecycle) -> None:
    """A crawl, which has a checkpoint, goes on from it; all others are as if they had not been claimed."""
    for state in table.waiting:
        back = table.path(table.claimed(state), Event.BACK)
        assert back.to == ("resuming" if table is CRAWL else state)


def test_a_nodes_failure_says_which_stage_failed() -> None:
    kinds = {state: NODE.failure_kind(state, "timeout") for state in NODE.working}
    assert kinds == {"parsing": "parse", "linking": "link", "embedding": "embed"}


def test_an_articles_failure_says_what_the_trouble_was() -> None:
    assert ARTICLE.failure_kind("claimed", "not_found") == "not_found"


def test_a_change_sends_whatever_is_finished_or_failed_round_again() -> None:
    assert {state: ARTICLE.changed(state) for state in ("loaded", "processed", "failed")} == {
        "loaded": "discovered",
        "processed": "discovered",
        "failed": "discovered",
    }
    assert {NODE.changed(state) for state in ("parsed", "linked", "ready", "skip", "error")} == {"pending"}
    assert {TOPIC.changed(state) for state in ("success", "failed")} == {"pending"}
    assert CRAWL.changed("completed") == "idle"


@pytest.mark.parametrize("table", BUILTIN.values(), ids=BUILTIN)
def test_a_change_moves_nothing_that_a_worker_has_or_will_take_from_the_beginning(table: Lifecycle) -> None:
    assert table.changed(table.initial) is None
    for state in table.working:
        assert table.changed(state) is None


def test_a_crawl_that_a_person_stopped_stays_stopped() -> None:
    """Neither a worker looking for work nor the next night's change starts it; a person's resume does."""
    assert "paused" not in CRAWL.waiting
    assert CRAWL.changed("paused") is None
    assert CRAWL.path("paused", Event.RESUME).to == "idle"
