"""An open database for the interfaces, other programs beside it, and the clock that the database believes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

import detent
from detent import Detent


@pytest.fixture
def open_db(database: str) -> Iterator[Callable[[], Detent]]:
    """Opens the test's database, as often as there are programs in the story. At the end it must be sound."""
    opened: list[Detent] = []

    def open_one() -> Detent:
        opened.append(detent.open(database=database))
        return opened[-1]

    yield open_one
    if opened:
        assert opened[0].wait(opened[0].asynchronous.store.tallies.check()) == []
    for db in opened:
        db.close()


@pytest.fixture
def db(open_db: Callable[[], Detent]) -> Detent:
    return open_db()


@pytest.fixture
def clock(db: Detent) -> Callable[..., datetime]:
    """The time that `db` believes it is, which passes only when told: `clock(30)` is 30 seconds later."""
    store = db.asynchronous.store.database
    store.now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def pass_time(seconds: float = 0.0) -> datetime:
        assert store.now is not None
        store.now += timedelta(seconds=seconds)
        return store.now

    return pass_time


@pytest.fixture
def program(database: str) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts another program on the same database; `db` is open in it. What is left running is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(lines: str) -> subprocess.Popen[str]:
        text = f"import detent, time, os\nfrom detent.interfaces import *\ndb = detent.open(database={database!r})\n"
        process = subprocess.Popen(
            [sys.executable, "-c", text + lines],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
