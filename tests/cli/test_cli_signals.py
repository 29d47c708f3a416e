"""Stopping `run` and `work`: gently, at once, and what is true afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

import detent

Until = Callable[[Callable[[], object]], None]
Start = Callable[..., subprocess.Popen[str]]

SLOW = """
def generate(item):
    with (HERE / "done").open("a") as file:
        file.write(item.key + "\\n")
    (HERE / "begun").touch()
    time.sleep(0.05)
SOURCES = [topics(generate, [str(n) for n in range(60)])]
"""

STUCK = """
def generate(item):
    (HERE / "begun").touch()
    while not (HERE / "free").exists():
        time.sleep(0.01)
SOURCES = [topics(generate, ["a", "b", "c"])]
"""


def states(opened: detent.Detent) -> dict[str, int]:
    return {line.state: line.count for line in opened.count_by_state()}


def attempts(database: str) -> list[int]:
    with psycopg.connect(database) as connection:
        return [row[0] for row in connection.execute("SELECT attempt FROM detent.item ORDER BY id")]


def test_sigterm_mid_run_loses_nothing_and_a_second_run_finishes(
    handlers: Callable[[str], None], start: Start, until: Until, project: Path, opened: detent.Detent
) -> None:
    handlers(SLOW)
    process = start("run", "--processes", "2", "--batch-size", "20", "--concurrency", "1")
    until((project / "begun").exists)

    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 143
    assert "Stopping: items in progress may finish" in err
    assert out.startswith("Stopped: ")
    assert "Nothing is lost" in out
    assert states(opened).get("in_progress", 0) == 0
    assert {item.attempt for item in opened.items(limit=1000).items} == {0}

    assert start("run", "--concurrency", "16").wait(60) == 0
    done = (project / "done").read_text().split()
    assert sorted(done) == sorted(str(n) for n in range(60)), "an item was done twice, or never"


def test_ctrl_c_on_a_terminal_stops_gently(
    handlers: Callable[[str], None], terminal: Callable[..., Any], until: Until, project: Path, opened: detent.Detent
) -> None:
    handlers(SLOW)
    screen = terminal("run", "--concurrency", "1", "--batch-size", "20")
    until(lambda: screen.read() and (project / "begun").exists())

    screen.press("\x03")

    screen.wait_for("Stopping: items in progress may finish")
    assert screen.end() == 130
    assert "Stopped: " in screen.shown.rstrip().splitlines()[-1]
    assert states(opened).get("in_progress", 0) == 0


def test_a_second_ctrl_c_stops_at_once_and_counts_no_attempt(
    handlers: Callable[[str], None], terminal: Callable[..., Any], until: Until, project: Path, database: str
) -> None:
    handlers(STUCK)
    screen = terminal("run")
    until(lambda: screen.read() and (project / "begun").exists())

    screen.press("\x03")
    screen.wait_for("Ctrl-C again stops at once")
    screen.press("\x03")

    assert screen.end() == 130
    assert "Stopping at once" in screen.shown
    assert attempts(database) == [0, 0, 0]
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM detent.lease").fetchone() == (0,)


def test_what_does_not_end_within_the_grace_period_is_given_back_uncounted(
    handlers: Callable[[str], None], start: Start, until: Until, project: Path, database: str
) -> None:
    handlers(STUCK)
    process = start("run", "--grace-seconds", "0.1")
    until((project / "begun").exists)

    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert out.startswith("Stopped: 0 of 3 items are done, 3 left.")
    assert attempts(database) == [0, 0, 0]


def test_work_goes_on_until_it_is_stopped_and_that_is_its_good_end(
    handlers: Callable[[str], None], start: Start, until: Until, opened: detent.Detent
) -> None:
    handlers("SOURCES = [topics(lambda item: None, [])]")
    process = start("work")
    until(lambda: known(opened))
    opened.add("topics", "Topic", ["a", "b"])
    until(lambda: states(opened) == {"success": 2})
    opened.add("topics", "Topic", ["c"])
    until(lambda: states(opened) == {"success": 3})

    process.send_signal(signal.SIGTERM)

    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.startswith("Stopped: 3 of 3 items are done, 0 left.")


def known(opened: detent.Detent) -> bool:
    return bool(opened.wait(opened.asynchronous.store.kinds.select()))


def test_a_killed_command_leaves_no_worker_and_the_next_run_finishes(
    handlers: Callable[[str], None], start: Start, until: Until, project: Path, opened: detent.Detent
) -> None:
    handlers(SLOW.replace("touch()", "write_text(str(os.getpid()))"))
    process = start("run", "--concurrency", "1", "--batch-size", "20", "--lease-seconds", "5")
    until(lambda: (project / "begun").exists() and (project / "begun").read_text())
    worker = int((project / "begun").read_text())

    process.kill()
    process.wait()

    until(lambda: not alive(worker))
    assert start("run", "--concurrency", "16").wait(60) == 0
    assert states(opened) == {"success": 60}


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in Path(f"/proc/{pid}/status").read_text()


def test_a_signal_during_discovery_keeps_what_was_found(
    handlers: Callable[[str], None], start: Start, until: Until, project: Path, opened: detent.Detent
) -> None:
    handlers("""
def discover():
    for number in range(10_000):
        yield detent.NewItem(str(number), "T")
    (HERE / "begun").touch()
    time.sleep(600)
SOURCES = [detent.Source("t", {"T": TOPIC}, [detent.Handler("in_progress", lambda item: None)], discover)]
""")
    for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        (project / "begun").unlink(missing_ok=True)
        process = start("run")
        until((project / "begun").exists)

        process.send_signal(number)

        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (status, "")
        assert "Items found so far are kept: 10,000 items." in err
        assert "Traceback" not in err
        assert states(opened) == {"pending": 10_000}


def test_a_signal_during_discovery_ends_at_once(
    handlers: Callable[[str], None], start: Start, until: Until, project: Path
) -> None:
    handlers("""
def discover():
    (HERE / "begun").touch()
    time.sleep(600)
SOURCES = [detent.Source("t", {"T": TOPIC}, [detent.Handler("in_progress", lambda item: None)], discover)]
""")
    process = start("run")
    until((project / "begun").exists)

    process.send_signal(signal.SIGINT)

    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (130, "", "Stopped.")
