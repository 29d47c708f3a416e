"""The meaning of states for status displays: waiting, working, failed, stopped or done."""

from __future__ import annotations

from detent.lifecycle.moves import Event
from detent.lifecycle.table import Lifecycle

WAITING, WORKING, FAILED, STOPPED, DONE = "waiting", "working", "failed", "stopped", "done"


def meaning(lifecycle: Lifecycle, state: str) -> str:
    """Return the meaning of an item's state. A state that the lifecycle no longer has counts as done."""
    if state in lifecycle.working:
        return WORKING
    if state in lifecycle.waiting:
        return WAITING
    if state in lifecycle.failures:
        return FAILED
    stopped = {move.to for move in lifecycle.moves if move.event is Event.PAUSE}
    return STOPPED if state in stopped else DONE
