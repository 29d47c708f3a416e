"""`make demo`: what it claims is true, and it leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Demo = subprocess.Popen[str]


@pytest.fixture
def place() -> Iterator[Path]:
    """Where the demo makes its folder."""
    folder = Path(tempfile.mkdtemp(prefix="detent-tests-"))
    folder.chmod(0o755)  # the account that PostgreSQL runs under must reach it
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def start(place: Path) -> Iterator[Callable[..., Demo]]:
    started: list[Demo] = []

    def begin(*arguments: str) -> Demo:
        process = subprocess.Popen(
            [sys.executable, "-m", "detent.demo", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(place)},
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def read_until(demo: Demo, words: str) -> None:
    assert demo.stdout is not None
    for line in demo.stdout:
        if words in line:
            return
    raise AssertionError(f"the demo ended without saying {words!r}")


def test_the_demo_runs_real_commands_and_proves_that_a_killed_worker_cost_nothing(
    place: Path, start: Callable[..., Demo]
) -> None:
    demo = start()
    out, err = demo.communicate(timeout=300)

    assert (demo.returncode, err) == (0, ""), out
    typed = [line.split()[2] for line in out.splitlines() if line.startswith("$ detent ")]
    assert typed == ["init", "add", "run", "search", "search", "search", "show", "status", "db"]
    assert out.count("✓") == 4
    assert "✗" not in out
    assert "attempt 2" in out, "the item shown is one that the killed worker held"
    assert "KEEP=" in out.partition("Try next")[2]
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("words", ["$ detent init", "$ detent run"])
def test_a_demo_that_is_terminated_cleans_up(place: Path, start: Callable[..., Demo], words: str) -> None:
    demo = start()
    read_until(demo, words)
    demo.send_signal(signal.SIGTERM)
    _, err = demo.communicate(timeout=120)

    assert (demo.returncode, err) == (143, "")
    assert list(place.iterdir()) == []


def test_a_demo_whose_reader_has_gone_ends_quietly(place: Path, start: Callable[..., Demo]) -> None:
    demo = start()
    read_until(demo, "$ detent run")
    assert demo.stdout is not None
    demo.stdout.close()
    assert demo.stderr is not None
    assert demo.stderr.read() == ""
    assert demo.wait(120) == 0
    assert list(place.iterdir()) == []


def test_a_project_that_is_kept_stays_and_is_not_begun_twice(place: Path, start: Callable[..., Demo]) -> None:
    kept = place / "kept"
    demo = start(str(kept))
    read_until(demo, "$ detent add")
    demo.send_signal(signal.SIGTERM)
    assert demo.wait(120) == 143
    assert sorted(path.name for path in kept.iterdir()) == [".detent", "detent.toml"]

    _, err = start(str(kept)).communicate(timeout=60)
    assert "is not an empty folder" in err
