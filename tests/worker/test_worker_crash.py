"""Killed at every statement boundary of a whole run, and finished by a second worker: as if nothing had happened.

Enumerated, not sampled: the boundaries are tried one after the other until a run has come to its end with
fewer. Each is tried twice: killed before the statement is sent, its work taken back because the lease ran out;
and killed after the answer has arrived, its work given back by its keeper.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CRASHING = Path(__file__).parent / "workshop" / "crashing.py"
NEVER = 10**9
LEAST_BOUNDARIES = 80
SAME = ("items", "nodes", "references", "edges", "checkpoints", "failures")

Case = Callable[..., dict[str, Any]]
Chain = list[tuple[str, str, int, str | None]]


@contextmanager
def crashing(database: str) -> Iterator[Case]:
    """Asks the server that forks."""
    process = subprocess.Popen([sys.executable, CRASHING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(boundary: int, when: str, recovery: str) -> dict[str, Any]:
        case = {"conninfo": database, "boundary": boundary, "when": when, "recovery": recovery}
        print(json.dumps(case), file=process.stdin, flush=True)
        assert process.stdout is not None
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        return answer

    try:
        yield ask
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(60)


def chains(found: dict[str, Any]) -> dict[str, Chain]:
    """Each item's moves, in order."""
    by_item = itertools.groupby(found["journal"], key=lambda row: f"{row[0]} {row[1]}")
    return {name: [tuple(row[2:]) for row in rows] for name, rows in by_item}


def effects(chain: Chain) -> list[tuple[str, str]]:
    """The moves that were of consequence: without claims that were given back, taken back or tried again."""
    kept: list[tuple[str, str]] = []
    for start, end, *_ in chain:
        if kept and kept[-1] == (end, start):
            kept.pop()
        else:
            kept.append((start, end))
    return kept


def check_story(name: str, chain: Chain, state: str, attempt: int) -> None:
    """The moves follow one another without a gap, end where the item is, and account for its attempts."""
    for (_, end, *_), (start, *_) in itertools.pairwise(chain):
        assert end == start, name
    assert chain[-1][1] == state, name
    count = 0
    for start, end, attempt_then, reason in chain:
        working = end in ("parsing", "linking", "embedding")
        count += working
        assert attempt_then == count, f"{name}: {start} → {end} was attempt {count}"
        if reason and "died before beginning" in reason:
            count -= 1
        elif not working and (start, end) in (("parsing", "parsed"), ("linking", "linked"), ("embedding", "ready")):
            count = 0
    if state == "error":
        assert attempt == count, name
    else:
        assert attempt == 0, name


def check(found: dict[str, Any], undisturbed: dict[str, Any]) -> None:
    assert found["wrong"] == []
    assert found["held"] == 0
    for question in SAME:
        assert found[question] == undisturbed[question], question
    stories, model = chains(found), chains(undisturbed)
    assert stories.keys() == model.keys()
    for label, key, state, attempt in found["attempts"]:
        name = f"{label} {key}"
        assert effects(stories[name]) == effects(model[name]), name
        check_story(name, stories[name], state, attempt)


@pytest.mark.parametrize(("when", "recovery"), [("before", "lease"), ("after", "keeper")])
def test_killed_at_every_statement_boundary_a_run_ends_as_if_it_had_not_been(
    database: str, when: str, recovery: str
) -> None:
    with crashing(database) as ask:
        whole = ask(NEVER, when, recovery)
        assert not whole["killed"]
        undisturbed = whole["found"]
        assert {row[2] for row in undisturbed["items"]} == {"ready", "skip", "error"}
        assert len(undisturbed["items"]) == 12 + 10
        check(undisturbed, undisturbed)
        for boundary in itertools.count(1):
            case = ask(boundary, when, recovery)
            try:
                check(case["found"], undisturbed)
            except AssertionError as error:
                error.add_note(f"It was killed at boundary {boundary}, {when} its statement.")
                raise
            if boundary > case.get("boundaries", NEVER):
                break
        assert boundary > max(LEAST_BOUNDARIES, whole["boundaries"] * 0.7), "so short a run was not the whole"
