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
def start(place: Path) -> Iterator[Callable[[], Demo]]:
    started: list[Demo] = []

    def begin() -> Demo:
        process = subprocess.Popen(
            [sys.executable, "-m", "detent.demo"],
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


def test_the_demo_proves_what_it_says_and_tells_what_to_try_next(place: Path, start: Callable[[], Demo]) -> None:
    demo = start()
    out, err = demo.communicate(timeout=120)

    assert (demo.returncode, err) == (0, "")
    assert "✓ each result was written exactly once" in out
    assert "✗" not in out
    assert "detent init" in out.splitlines()[-1]
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("words", ["1. ", "3. "])
def test_a_demo_that_is_terminated_cleans_up(place: Path, start: Callable[[], Demo], words: str) -> None:
    demo = start()
    read_until(demo, words)
    demo.send_signal(signal.SIGTERM)
    _, err = demo.communicate(timeout=120)

    assert (demo.returncode, err) == (143, "")
    assert list(place.iterdir()) == []


def test_a_demo_whose_reader_has_gone_ends_quietly(place: Path, start: Callable[[], Demo]) -> None:
    demo = start()
    read_until(demo, "3. ")
    assert demo.stdout is not None
    demo.stdout.close()
    assert demo.stderr is not None
    assert demo.stderr.read() == ""
    assert demo.wait(120) == 0
    assert list(place.iterdir()) == []
