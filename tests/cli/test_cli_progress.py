"""N of M, rate and time left, as pure values."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from detent.application.running.stages import Later, Pace, Stages, failing, passed
from detent.cli.display import LineDisplay, line
from detent.cli.output import counted, duration, size
from detent.configuration import Configuration
from detent.lifecycle import ARTICLE, CRAWL, NODE, TOPIC, Lifecycle
from detent.sources import Handler, Source
from detent.store import Kind, Tally
from detent.worker.duty import duties

STAGES = ("embedding", "parsing", "linking")
SMALL = [("new", "claim", "busy"), ("busy", "done", "old"), ("busy", "back", "new"), ("busy", "fail", "bad")]


def tallies(**states: int) -> list[Tally]:
    return [Tally("files", "File", "node", state, count) for state, count in states.items()]


@pytest.fixture
def progress() -> Stages:
    def nothing(item: object) -> None:
        """The handler of every stage."""

    source = Source("files", {"File": NODE}, [Handler(state, nothing) for state in STAGES])
    kinds = {("files", "File"): Kind(1, "files", "File", NODE, paused=False)}
    return Stages(duties([source], kinds, Configuration()))


def test_stages_come_in_the_order_of_work_with_n_of_m(progress: Stages) -> None:
    stages = progress.update(tallies(pending=50, parsing=5, parsed=20, linked=10, ready=10, skip=3, error=2), 0.0)

    assert [(stage.stage, stage.done, stage.total) for stage in stages] == [
        ("parsing", 43, 100),
        ("linking", 23, 100),
        ("embedding", 13, 100),
    ]
    assert stages[0].working == 5
    assert [(stage.failed, stage.failed_in_all) for stage in stages] == [(0, 0), (0, 0), (0, 2)]
    assert line(stages[-1]) == "files/File embedding: 13 of 100 done, 2 failed in all"


def test_rate_and_time_left(progress: Stages) -> None:
    """ANCESTORS 45: no rate, no ETA."""
    progress.update(tallies(pending=100), 0.0)
    parsing, linking, _ = progress.update(tallies(pending=80, parsed=20), 2.0)

    assert (parsing.rate, parsing.left_seconds) == (10.0, 8.0)
    assert (linking.rate, linking.left_seconds) == (0.0, None)
    assert line(parsing) == "files/File parsing: 20 of 100 done, 10/s, about 8 s left"


def test_what_failed_in_a_later_stage_stays_done_in_the_earlier_ones(progress: Stages) -> None:
    progress.update(tallies(pending=4, parsed=6), 0.0)
    parsing, linking, _ = progress.update(tallies(pending=4, parsed=2, linked=1, error=3), 1.0)
    assert (parsing.done, linking.done) == (6, 1)

    parsing, linking, _ = progress.update(tallies(pending=1, parsed=4, linked=1, error=4), 2.0)
    assert (parsing.done, linking.done) == (8, 1)
    parsing, _, _ = progress.update(tallies(pending=5, parsed=4, linked=1), 3.0)
    assert parsing.done == 5


def test_what_is_to_be_tried_again_is_said_and_takes_as_long_as_it_waits(progress: Stages) -> None:
    progress.update(tallies(pending=100), 0.0)
    counts = tallies(pending=30, parsed=70)

    parsing, linking, _ = progress.update(counts, 10.0, [Later(2, 60.0), Later(), Later()])
    assert (parsing.again, parsing.left_seconds) == (2, 60.0)
    assert line(parsing) == "files/File parsing: 70 of 100 done, 7.0/s, about 1 min left, 2 to retry"
    assert linking.again == 0

    parsing, _, _ = progress.update(counts, 10.0, [Later(30, 0.3), Later(), Later()])
    assert (parsing.again, parsing.left_seconds) == (30, None)
    parsing, _, _ = progress.update(counts, 10.0, [Later(20, 0.3), Later(), Later()])
    assert (parsing.again, parsing.left_seconds) == (20, None)
    parsing, _, _ = progress.update(tallies(pending=1, parsed=99), 10.0)
    assert parsing.left_seconds is None


def test_what_is_beyond_what_was_asked_for_is_not_among_what_is_to_be_done(progress: Stages) -> None:
    progress.update(tallies(pending=1000), 0.0)
    parsing, *_ = progress.update(tallies(pending=900, parsed=100), 10.0, [Later(beyond=800), Later(), Later()])
    assert line(parsing) == "files/File parsing: 100 of 200 done, 10/s, about 10 s left"


def test_stages_without_items_are_not_shown(progress: Stages) -> None:
    said = io.StringIO()
    with LineDisplay(Console(file=said, width=200), every_seconds=0) as shown:
        shown.show(progress.update([], 0.0))
    assert said.getvalue() == ""


def test_a_stage_that_had_nothing_to_do_from_the_beginning_is_not_shown(progress: Stages) -> None:
    said = io.StringIO()
    with LineDisplay(Console(file=said, width=200), every_seconds=0) as shown:
        shown.show(progress.update(tallies(parsed=5, ready=5), 0.0))
        shown.show(progress.update(tallies(linked=5, ready=5), 1.0))
    stages = [line.split()[2] for line in said.getvalue().splitlines()]
    assert set(stages) == {"linking:", "embedding:"}


def test_a_failure_that_only_one_stage_has_is_counted_there() -> None:
    work = ("old", "claim", "mending"), ("mending", "done", "fine"), ("mending", "back", "old")
    rows = [*SMALL, *work, ("mending", "fail", "broken")]
    assert failing(Lifecycle("things", "new", rows), "broken") == {"mending"}
    assert passed(Lifecycle("things", "new", rows), "new") == {"old", "mending", "fine", "broken"}
    assert failing(NODE, "error") == set(STAGES)
    assert failing(NODE, "ready") == set()
    assert all(len(failing(each, state)) == 1 for each in (ARTICLE, TOPIC) for state in each.failures)


def test_discovery_is_told_in_lines_where_there_is_no_terminal() -> None:
    said = io.StringIO()
    with LineDisplay(Console(file=said), every_seconds=0) as shown:
        for count in (10_000, 20_000):
            shown.found(count)
    with LineDisplay(Console(file=said), every_seconds=3600) as quiet:
        quiet.found(30_000)

    words = [line.split(" ", 1)[1] for line in said.getvalue().splitlines()]
    assert words == ["Looking for items: found 10,000 so far.", "Looking for items: found 20,000 so far."]


def test_the_pace_is_that_of_the_last_half_minute() -> None:
    pace = Pace()
    for second in range(100):
        pace.note(float(second), min(second, 50) * 10)

    assert pace.rate == 0.0


def test_what_lies_behind_a_stage() -> None:
    assert passed(ARTICLE, "discovered") == {"loaded", "processed"}
    assert passed(NODE, "parsed") == {"linked", "embedding", "ready", "skip"}
    assert "completed" in passed(CRAWL, "idle")


def test_numbers_carry_their_unit() -> None:
    lengths = (0.0, 0.123, 9.5, 59.6, 200.0, 7500.0, 90_000.0, 864_000.0)
    words = ["0 s", "0.12 s", "9.5 s", "1 min", "3 min 20 s", "2 h 5 min", "1 d 1 h", "10 d"]
    assert [duration(each) for each in lengths] == words
    assert [size(each) for each in (999, 8_100_000)] == ["999 bytes", "8.1 MB"]
    assert [counted(each, "item") for each in (0, 1, 1003)] == ["0 items", "1 item", "1,003 items"]
