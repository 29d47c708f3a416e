"""What a table may say, what is read off it, and how a move is applied."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from detent.errors import IllegalMove, InvalidLifecycle
from detent.lifecycle import ARTICLE, BUILTIN, CRAWL, NODE, TOPIC, Event, Lifecycle, Path, crawl

Rows = list[tuple[str, str, str]]

JOB: Rows = [
    ("queued", "claim", "busy"),
    ("busy", "done", "finished"),
    ("busy", "back", "queued"),
    ("busy", "fail", "broken"),
]


def job(*more: tuple[str, str, str], without: Sequence[tuple[str, str, str]] = (), **options: Any) -> Lifecycle:
    """A small lifecycle, with some rows more and some rows less."""
    rows = [row for row in JOB if row not in without] + list(more)
    return Lifecycle("job", "queued", rows, **options)


def refusal(*more: tuple[str, str, str], without: Sequence[tuple[str, str, str]] = (), **options: Any) -> str:
    """What is wrong with such a lifecycle, in the words that its author reads."""
    with pytest.raises(InvalidLifecycle) as refused:
        job(*more, without=without, **options)
    message = str(refused.value)
    start = "The lifecycle 'job' cannot be used: "
    assert message.startswith(start) and message.endswith(".")
    return message.removeprefix(start).removesuffix(".")


class TestWhatIsReadOffATable:
    def test_states_come_in_the_order_in_which_the_table_names_them(self) -> None:
        assert job().states == ("queued", "busy", "finished", "broken")

    def test_a_state_that_can_be_claimed_waits_for_work(self) -> None:
        assert job().waiting == {"queued"}

    def test_what_a_claim_leads_to_means_work_under_way(self) -> None:
        assert job().working == {"busy"}

    def test_the_next_phases_of_work_mean_work_under_way(self) -> None:
        table = job(
            ("busy", "step", "busier"),
            ("busier", "step", "busy"),
            ("busier", "fail", "broken"),
            ("busier", "back", "queued"),
        )
        assert table.working == {"busy", "busier"}

    def test_a_step_of_what_is_finished_does_not_mean_work_under_way(self) -> None:
        table = job(("finished", "step", "archived"))
        assert table.working == {"busy"}

    def test_what_a_person_stopped_does_not_wait_for_a_worker(self) -> None:
        table = job(("busy", "pause", "stopped"), ("stopped", "claim", "busy"))
        assert table.waiting == {"queued"}
        assert table.claimed("stopped") == "busy"

    def test_failure_leads_where_the_rows_say(self) -> None:
        assert job().failures == {"broken"}

    def test_the_initial_state_is_an_entry(self) -> None:
        assert job(entries=["finished"]).entries == {"queued", "finished"}

    def test_the_kind_of_failure_is_the_states_or_else_the_troubles(self) -> None:
        assert job(failure_kinds={"busy": "parse"}).failure_kind("busy", "timeout") == "parse"
        assert job().failure_kind("busy", "timeout") == "timeout"

    def test_a_change_leads_where_the_rows_say_and_nowhere_from_elsewhere(self) -> None:
        table = job(("finished", "change", "queued"))
        assert table.changed("finished") == "queued"
        assert table.changed("busy") is None

    def test_a_lifecycle_comes_back_the_same_from_its_plain_data(self) -> None:
        for table in (*BUILTIN.values(), job(failure_kinds={"busy": "x"}, entries=["broken"])):
            data: dict[str, Any] = json.loads(json.dumps(table.as_data()))
            again = Lifecycle(**data)
            assert again == table
            assert hash(again) == hash(table)

    def test_a_lifecycle_cannot_be_changed_from_outside(self) -> None:
        kinds = {"busy": "x"}
        table = job(failure_kinds=kinds)
        kinds["busy"] = "y"
        assert table.failure_kinds == {"busy": "x"}
        with pytest.raises(TypeError):
            table.failure_kinds["busy"] = "z"  # type: ignore[index]


class TestContradictionsAreRefused:
    def test_a_lifecycle_needs_a_name_and_moves(self) -> None:
        for name, rows in ((" ", JOB), ("job", [])):
            with pytest.raises(InvalidLifecycle, match="it needs a name and at least one move"):
                Lifecycle(name, "queued", rows)

    @pytest.mark.parametrize("row", [("queued", "claim"), ("a", "b", "c", "d"), "abc", ("queued", "claim", 1)])
    def test_a_row_is_a_state_an_event_and_the_next_state(self, row: Any) -> None:
        assert refusal(row) == f"the row {row!r} is not a state, an event and the next state"

    def test_an_unknown_event_is_named_together_with_those_that_there_are(self) -> None:
        assert refusal(("busy", "explode", "broken")) == (
            "it names the event 'explode'; the events are "
            "claim, step, done, skip, fail, back, retry, change, pause, resume"
        )

    @pytest.mark.parametrize("name", ["", " lost", "in progress", "a:b", "a-->b", "1st"])
    def test_a_states_name_is_one_plain_word(self, name: str) -> None:
        assert refusal(("finished", "step", name)) == (
            f"the state {name!r} needs a name of letters, digits and underscores"
        )

    def test_a_row_may_not_be_there_twice(self) -> None:
        assert refusal(("busy", "done", "finished")) == "it has the row (busy, done, finished) twice"

    def test_an_initial_state_without_moves_is_refused(self) -> None:
        with pytest.raises(InvalidLifecycle, match="items enter at 'new', and no move leads to or from it"):
            Lifecycle("job", "new", JOB)

    def test_an_entry_without_moves_is_refused(self) -> None:
        assert refusal(entries=["half"]) == "items enter at 'half', and no move leads to or from it"

    def test_a_kind_of_failure_of_an_unknown_state_is_refused(self) -> None:
        assert refusal(failure_kinds={"lazy": "x"}) == (
            "it names the kind of failure of 'lazy', and no move leads to or from it"
        )

    def test_a_kind_of_failure_of_a_state_that_is_not_work_is_refused(self) -> None:
        assert refusal(failure_kinds={"queued": "x"}) == (
            "it names the kind of failure of 'queued', which does not mean work under way"
        )

    def test_a_state_that_nothing_leads_to_is_refused(self) -> None:
        assert refusal(("lonely", "change", "queued")) == "the state 'lonely' cannot be reached from 'queued'"

    def test_a_state_that_no_entry_leads_to_is_refused(self) -> None:
        assert refusal(("lonely", "change", "queued"), entries=["finished"]) == (
            "the state 'lonely' cannot be reached from 'finished' or 'queued'"
        )

    def test_a_state_is_reached_from_any_entry(self) -> None:
        job(("half", "change", "queued"), entries=["half"])

    def test_two_claims_from_one_state_are_refused(self) -> None:
        more: Rows = [("queued", "claim", "b"), ("b", "fail", "broken"), ("b", "back", "queued")]
        assert refusal(*more) == "a claim from 'queued' leads to 'busy' or 'b'; it may lead to one state only"

    def test_a_state_that_both_waits_and_works_is_refused(self) -> None:
        more: Rows = [("busy", "claim", "b"), ("b", "fail", "broken"), ("b", "back", "queued")]
        assert refusal(*more) == "the state 'busy' both waits for work and means work under way"

    def test_work_that_goes_on_to_a_waiting_state_is_refused(self) -> None:
        assert refusal(("busy", "step", "queued")) == (
            "the state 'queued' both waits for work and means work under way"
        )

    def test_items_may_not_enter_in_the_midst_of_work(self) -> None:
        assert refusal(entries=["busy"]) == (
            "items enter at 'busy', which means work under way, before any worker has claimed them"
        )

    @pytest.mark.parametrize("event", ["retry", "change", "resume", "step"])
    def test_work_begins_with_a_claim_only(self, event: str) -> None:
        assert refusal(("broken", event, "busy")) == (
            f"the row (broken, {event}, busy) leads into work that no worker has claimed"
        )

    def test_a_failure_that_is_work_is_refused(self) -> None:
        more: Rows = [("queued2", "claim", "b"), ("b", "fail", "busy"), ("b", "back", "queued2")]
        assert refusal(*more, entries=["queued2"]) == (
            "the row (b, fail, busy) leads into work that no worker has claimed"
        )

    def test_a_step_that_leaves_work_is_refused(self) -> None:
        assert refusal(("busy", "step", "finished")) == (
            "the row (busy, step, finished) goes on to work that has no way to fail; "
            "if the work ends there, the event is 'done'"
        )

    def test_work_without_a_way_to_fail_is_refused(self) -> None:
        assert refusal(without=[("busy", "fail", "broken")]) == "the work state 'busy' has no way to fail"

    def test_work_that_cannot_be_given_back_is_refused(self) -> None:
        assert refusal(without=[("busy", "back", "queued")]) == "the work state 'busy' cannot be given back"

    def test_work_may_be_given_back_through_failure(self) -> None:
        job(("broken", "retry", "queued"), without=[("busy", "back", "queued")])

    def test_work_given_back_to_where_nothing_waits_is_refused(self) -> None:
        assert refusal(("busy", "back", "shelf"), without=[("busy", "back", "queued")]) == (
            "'busy' is given back to 'shelf', where nothing waits for work"
        )

    def test_work_given_back_through_failure_to_where_nothing_waits_is_refused(self) -> None:
        assert refusal(("broken", "retry", "shelf"), without=[("busy", "back", "queued")]) == (
            "'busy' is given back to 'shelf', where nothing waits for work"
        )

    def test_a_retry_to_where_nothing_waits_is_refused(self) -> None:
        assert refusal(("broken", "retry", "shelf")) == (
            "the row (broken, retry, shelf) sends the item back to where nothing waits for work"
        )

    @pytest.mark.parametrize("event", ["change", "retry", "resume"])
    def test_an_item_is_not_taken_from_its_worker(self, event: str) -> None:
        assert refusal(("busy", event, "queued")) == (
            f"the row (busy, {event}, queued) takes the item from its worker, as only a pause may do"
        )

    @pytest.mark.parametrize("event", ["done", "fail", "back"])
    def test_work_that_nobody_began_does_not_end(self, event: str) -> None:
        assert refusal(("finished", event, "broken")) == (
            f"the row (finished, {event}, broken) ends work, and 'finished' does not mean work under way"
        )

    def test_a_failure_that_waits_for_work_is_refused(self) -> None:
        assert refusal(("busy", "fail", "queued"), without=[("busy", "fail", "broken")]) == (
            "work that failed for good ends in 'queued', where it waits for work and would fail for ever"
        )

    def test_a_pause_that_leads_to_where_others_wait_is_refused(self) -> None:
        assert refusal(("busy", "pause", "queued")) == (
            "a pause leads to 'queued', where other items wait for work; it needs a state of its own"
        )


class TestApplyingAMove:
    def test_one_row_leads_to_its_end(self) -> None:
        assert job().path("queued", Event.CLAIM) == Path((), "busy")

    def test_of_several_rows_the_first_is_taken_or_the_one_asked_for(self) -> None:
        assert CRAWL.path("saving", Event.DONE) == Path((), "completed")
        assert CRAWL.path("saving", Event.DONE, "idle") == Path((), "idle")
        assert NODE.path("error", Event.RETRY) == Path((), "pending")
        assert NODE.path("error", Event.RETRY, "linked") == Path((), "linked")

    def test_giving_back_goes_through_failure_where_there_is_no_direct_row(self) -> None:
        for state in ("running", "fetching", "processing", "saving"):
            assert CRAWL.path(state, Event.BACK) == Path(("error",), "resuming")

    def test_giving_back_is_direct_where_there_is_a_row(self) -> None:
        assert NODE.path("embedding", Event.BACK) == Path((), "linked")
        assert TOPIC.path("in_progress", Event.BACK) == Path((), "pending")

    def test_work_found_needless_is_skipped_after_giving_it_back(self) -> None:
        assert NODE.path("parsing", Event.SKIP) == Path(("pending",), "skip")
        assert NODE.path("embedding", Event.SKIP) == Path(("linked",), "skip")

    def test_what_cannot_be_skipped_where_it_waited_is_not_skipped(self) -> None:
        with pytest.raises(IllegalMove):
            NODE.path("linking", Event.SKIP)

    def test_success_is_carried_one_state_further_when_asked(self) -> None:
        assert ARTICLE.path("claimed", Event.DONE) == Path((), "loaded")
        assert ARTICLE.path("claimed", Event.DONE, "processed") == Path(("loaded",), "processed")

    def test_success_goes_through_the_phases_that_are_left(self) -> None:
        assert CRAWL.path("fetching", Event.DONE) == Path(("processing", "saving"), "completed")
        assert CRAWL.path("fetching", Event.DONE, "idle") == Path(("processing", "saving"), "idle")
        assert CRAWL.path("running", Event.DONE, "idle") == Path(("fetching", "processing", "saving"), "idle")

    def test_failure_goes_one_state_further_only_when_asked(self) -> None:
        assert CRAWL.path("saving", Event.FAIL) == Path((), "error")
        assert CRAWL.path("saving", Event.FAIL, "completed") == Path(("error",), "completed")

    def test_work_goes_on_through_its_phases_once_round(self) -> None:
        page = Path(("fetching", "processing"), "saving")
        assert CRAWL.phases("running") == page
        assert CRAWL.phases("saving") == page
        assert CRAWL.phases("fetching") == Path(("processing",), "saving")
        assert crawl("bills", ["fetching_bills", "saving"]).phases("saving") == Path(("fetching_bills",), "saving")

    def test_work_goes_on_to_the_phase_that_is_asked_for(self) -> None:
        assert CRAWL.phases("running", "processing") == Path(("fetching",), "processing")
        assert CRAWL.phases("processing", "processing") == Path(("saving", "fetching"), "processing")
        with pytest.raises(IllegalMove):
            CRAWL.phases("saving", "idle")

    def test_work_of_one_phase_stays_in_it(self) -> None:
        assert ARTICLE.phases("claimed") == ARTICLE.phases("claimed", "claimed") == Path((), "claimed")

    def test_a_way_that_is_named_state_by_state_is_legal_row_by_row(self) -> None:
        assert NODE.along("parsing", ["parsed", "linking", "linked"]) == Path(("parsed", "linking"), "linked")
        with pytest.raises(IllegalMove, match="from 'parsed' to 'linked'"):
            NODE.along("parsing", ["parsed", "linked"])

    def test_an_illegal_move_names_the_item_and_where_from_and_where_to(self) -> None:
        with pytest.raises(IllegalMove) as refused:
            ARTICLE.path("processed", Event.DONE, "loaded", item="Article 'Ada Lovelace'")
        error = refused.value
        assert (error.item, error.state, error.to, error.lifecycle) == (
            "Article 'Ada Lovelace'",
            "processed",
            "loaded",
            "article",
        )
        assert str(error).startswith("Article 'Ada Lovelace' cannot go from 'processed' to 'loaded'")

    def test_an_illegal_move_without_an_end_names_the_event(self) -> None:
        with pytest.raises(IllegalMove, match="from 'loaded' to 'claim'"):
            ARTICLE.claimed("loaded")

    def test_a_state_that_the_table_does_not_know_goes_nowhere(self) -> None:
        with pytest.raises(IllegalMove):
            ARTICLE.path("nowhere", Event.CLAIM)

    @pytest.mark.parametrize("table", BUILTIN.values(), ids=BUILTIN)
    def test_a_path_is_legal_row_by_row_or_refused(self, table: Lifecycle) -> None:
        for state in table.states:
            for happening in Event:
                for to in (None, *table.states):
                    try:
                        path = table.path(state, happening, to)
                    except IllegalMove:
                        assert to not in {m.to for m in table.moves if m[:2] == (state, happening)}
                        continue
                    assert to in (None, path.to)
                    if not path.via:
                        assert (state, happening, path.to) in table.moves
                    assert table.along(state, [*path.via, path.to]) == path


STATES = st.sampled_from(["a", "b", "c", "d", "e"])
ROWS = st.tuples(STATES, st.sampled_from([each.value for each in Event]), STATES)


@st.composite
def altered_tables(draw: st.DrawFn) -> tuple[str, Rows]:
    """A table that is in order, with a few rows taken away and a few added."""
    table = draw(st.sampled_from([*BUILTIN.values(), job()]))
    states = st.sampled_from([*table.states, "new"])
    events = st.sampled_from([each.value for each in Event])
    rows = [(move.state, move.event.value, move.to) for move in table.moves]
    gone = draw(st.sets(st.sampled_from(rows), max_size=2))
    more = draw(st.lists(st.tuples(states, events, states), max_size=2))
    return table.initial, [row for row in rows if row not in gone] + more


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.tuples(STATES, st.lists(ROWS, max_size=8)), altered_tables()))
def test_any_table_is_either_refused_or_keeps_the_promises(drawn: tuple[str, Rows]) -> None:
    initial, rows = drawn
    try:
        table = Lifecycle("drawn", initial, rows)
    except InvalidLifecycle:
        event("refused")
        return
    event("accepted with work" if table.working else "accepted without work")
    for state in table.states:
        assert state in reached(table, {initial})
    for state in table.working:
        assert state not in table.waiting
        assert table.path(state, Event.FAIL).to in table.failures
        assert table.path(state, Event.BACK).to in table.waiting
        final = {each for each in table.states if not any(move.state == each for move in table.moves)}
        assert reached(table, {state}) & (table.waiting | final)
    for state in table.waiting:
        assert table.claimed(state) in table.working
    for move in table.moves:
        if move.to in table.working:
            assert move.event is Event.CLAIM or move.state in table.working
        if move.state in table.working and move.to not in table.working:
            assert move.event in {Event.DONE, Event.SKIP, Event.FAIL, Event.BACK, Event.PAUSE}
    assert not table.failures & (table.working | table.waiting)


def reached(table: Lifecycle, starts: set[str]) -> set[str]:
    found = set(starts)
    for _ in table.states:
        found |= {move.to for move in table.moves if move.state in found}
    return found
