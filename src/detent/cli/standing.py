"""How items stand, by what their states mean: waiting, in a worker's hands, failed, stopped, or done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from detent.lifecycle import Event, Lifecycle

if TYPE_CHECKING:
    from detent.store import Kind, Tally

WAITING, WORKING, FAILED, STOPPED, DONE = "waiting", "working", "failed", "stopped", "done"
STYLES = {WAITING: "", WORKING: "cyan", FAILED: "red", STOPPED: "yellow", DONE: "green"}


def meaning(lifecycle: Lifecycle, state: str) -> str:
    """What it means for an item to be in this state."""
    if state in lifecycle.working:
        return WORKING
    if state in lifecycle.waiting:
        return WAITING
    if state in lifecycle.failures:
        return FAILED
    stopped = {move.to for move in lifecycle.moves if move.event is Event.PAUSE}
    return STOPPED if state in stopped else DONE


@dataclass(frozen=True)
class Standing:
    """The items of one source and label: how many there are in each state, in the lifecycle's order."""

    kind: Kind
    states: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.states.values())

    def of(self, wanted: str | None) -> int:
        """How many items stand so; with None, how many there are."""
        lifecycle = self.kind.lifecycle
        return sum(count for state, count in self.states.items() if wanted in (None, meaning(lifecycle, state)))


def standings(kinds: Iterable[Kind], tallies: Iterable[Tally]) -> list[Standing]:
    """The kinds, those without items too, in the order of their names."""
    states: dict[tuple[str, str], dict[str, int]] = {}
    for line in tallies:
        states.setdefault((line.source, line.label), {})[line.state] = line.count
    ordered = sorted(kinds, key=lambda kind: (kind.source, kind.label))
    return [Standing(kind, states.get((kind.source, kind.label), {})) for kind in ordered]
