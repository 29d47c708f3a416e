"""Opening a database: with `async with`, with `await` and `close()`, and what is said to whoever forgets both."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

import detent
from detent.errors import NotOpen
from detent.lifecycle import TOPIC

ROOT = Path(__file__).parents[2]


async def test_a_database_is_opened_with_await_and_closed_with_close(database: str) -> None:
    db = await detent.open_async(database=database)
    await db.declare("source", "Topic", TOPIC)
    assert await db.add("source", "Topic", ["a"]) == 1
    await db.close()
    await db.close()


async def test_a_database_is_opened_and_closed_by_async_with(database: str) -> None:
    async with detent.open_async(database=database) as db:
        await db.declare("source", "Topic", TOPIC)
    async with await detent.open_async(database=database) as db:
        assert await db.count_by_state() == []


async def test_a_verb_of_a_database_that_is_not_open_says_what_to_write(database: str) -> None:
    with pytest.raises(NotOpen, match=r"not open yet, so it has no 'items'\. Write `async with detent\.open_async"):
        await detent.open_async(database=database).items()  # type: ignore[attr-defined]  # that is the mistake


async def test_who_never_awaits_is_told_what_to_write(database: str) -> None:
    with pytest.warns(RuntimeWarning, match=r"nothing was opened\. Write `async with detent\.open_async"):
        detent.open_async(database=database)


async def test_who_never_closes_is_told_what_to_write(database: str) -> None:
    db = await detent.open_async(database=database)
    resources = db._resources
    with pytest.warns(RuntimeWarning, match=r"never closed\. Write `async with detent\.open_async"):
        del db
        gc.collect()
    await resources.aclose()


def test_the_synchronous_verbs_are_those_that_are_generated_from_the_asynchronous_ones() -> None:
    checked = subprocess.run([sys.executable, "scripts/synchronous.py", "--check"], cwd=ROOT, check=False)
    assert checked.returncode == 0, "run scripts/synchronous.py"
