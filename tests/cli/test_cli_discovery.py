"""`detent run` while the sources say what there is: when it is stopped, and when a source fails."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import detent

Result = subprocess.CompletedProcess[str]

SLOW = """
def discover():
    for number in range(3):
        yield detent.NewItem(str(number), "T")
    (HERE / "begun").touch()
    time.sleep(600)
SOURCES = [detent.Source("t", {"T": TOPIC}, [detent.Handler("in_progress", lambda item: None)], discover)]
"""

FAILING = """
def fail():
    yield detent.NewItem("a", "T")
    raise ValueError("page 2 is not JSON")
def source(name, discover):
    return detent.Source(name, {"T": TOPIC}, [detent.Handler("in_progress", lambda item: None)], discover)
SOURCES = [source("bad", fail), source("good", lambda: [detent.NewItem("b", "T")])]
"""


def states(opened: detent.Detent) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in opened.count_by_state():
        counts[line.state] += line.count
    return counts


def test_what_a_slow_source_has_named_is_kept_when_it_is_stopped(
    handlers: Callable[[str], None],
    start: Callable[..., subprocess.Popen[str]],
    until: Callable[[Callable[[], object]], None],
    project: Path,
    opened: detent.Detent,
) -> None:
    handlers(SLOW)
    for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        (project / "begun").unlink(missing_ok=True)
        process = start("run")
        until((project / "begun").exists)

        process.send_signal(number)

        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (status, "")
        assert err.splitlines()[-1].endswith("Stopped. Items found so far are kept: 3 items.")
        assert states(opened) == {"pending": 3}


def test_a_source_that_fails_is_told_at_the_end_when_all_the_rest_is_done(
    handlers: Callable[[str], None], ran: Callable[..., Result], opened: detent.Detent, project: Path
) -> None:
    handlers(FAILING)
    line = (project / "handlers.py").read_text().splitlines().index('    raise ValueError("page 2 is not JSON")') + 1

    result = ran("run")

    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "All 2 items are done.",
        "The source 'bad' failed after it had named 1 item, which is kept: "
        f"ValueError: page 2 is not JSON (handlers.py:{line}, in fail).",
    ]
    assert "The source 'bad' failed" in result.stderr, "it is told when it happens, too"
    assert states(opened) == {"success": 2}
