"""N of M, rate and time left, as pure values."""

from __future__ import annotations

import pytest

from detent.cli.display import line
from detent.cli.output import counted, duration, size
from detent.cli.progress import Pace, Progress, passed
from detent.configuration import Configuration
from detent.lifecycle import ARTICLE, CRAWL, NODE
from detent.sources import Handler, Source
from detent.store import Kind, Tally
from detent.worker.duty import duties

STAGES = ("embedding", "parsing", "linking")


def tallies(**states: int) -> list[Tally]:
    return [Tally("files", "File", "node", state, count) for state, count in states.items()]


@pytest.fixture
def progress() -> Progress:
    def nothing(item: object) -> None:
        """The handler of every stage."""

    source = Source("files", {"File": NODE}, [Handler(state, nothing) for state in STAGES])
    kinds = {("files", "File"): Kind(1, "files", "File", NODE, paused=False)}
    return Progress(duties([source], kinds, Configuration()))


def test_stages_come_in_the_order_of_work_with_n_of_m(progress: Progress) -> None:
    stages = progress.update(tallies(pending=50, parsing=5, parsed=20, linked=10, ready=10, skip=3, error=2), 0.0)

    assert [(stage.stage, stage.done, stage.total) for stage in stages] == [
        ("parsing", 43, 100),
        ("linking", 23, 100),
        ("embedding", 13, 100),
    ]
    assert stages[0].working == 5
    assert {stage.failed for stage in stages} == {2}


def test_rate_and_time_left(progress: Progress) -> None:
    progress.update(tallies(pending=100), 0.0)
    parsing, linking, _ = progress.update(tallies(pending=80, parsed=20), 2.0)

    assert (parsing.rate, parsing.left_seconds) == (10.0, 8.0)
    assert (linking.rate, linking.left_seconds) == (0.0, None)
    assert line(parsing) == "files/File parsing: 20 of 100 done, 10/s, about 8 s left"


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
