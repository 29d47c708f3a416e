"""Rows of a lifecycle: the states before and after, and the event between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple


class Event(StrEnum):
    """The reason for a move. Each row of a lifecycle names one."""

    CLAIM = "claim"
    """A worker takes the item: the state before waits for work, the state after means work under way."""
    STEP = "step"
    """The work goes on to its next phase, or a finished item moves one state further."""
    DONE = "done"
    """The work succeeded."""
    SKIP = "skip"
    """There is nothing to do for this item."""
    FAIL = "fail"
    """The work failed for good."""
    BACK = "back"
    """The item is given back undone: a retry, a release, an expired lease."""
    RETRY = "retry"
    """A person or a retry decision retries a failed item."""
    CHANGE = "change"
    """The content behind the item changed."""
    PAUSE = "pause"
    """A person paused the work."""
    RESUME = "resume"
    """A person resumed the work."""

    __hash__ = str.__hash__  # Enum's own is slow, and every settled item looks its event up


class Move(NamedTuple):
    """One row of a lifecycle."""

    state: str
    event: Event
    to: str


def reached_from(starts: Iterable[str], moves: Sequence[Move]) -> frozenset[str]:
    """Return the states reachable from `starts` by these moves, including `starts`."""
    reached: set[str] = set()
    frontier = set(starts)
    while frontier:
        reached |= frontier
        frontier = {move.to for move in moves if move.state in frontier} - reached
    return frozenset(reached)
