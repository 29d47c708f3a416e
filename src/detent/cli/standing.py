"""How items stand, by what their states mean: waiting, in a worker's hands, failed, stopped, or done; and of those that
wait, how many are held back because no more are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from detent.lifecycle import Event, Lifecycle

if TYPE_CHECKING:
    from detent.store import Kind, Store, Tally

WAITING, HELD_BACK, WORKING, FAILED, STOPPED, DONE = "waiting", "held_back", "working", "failed", "stopped", "done"
STYLES = {WAITING: "", HELD_BACK: "dim", WORKING: "cyan", FAILED: "red", STOPPED: "yellow", DONE: "green"}


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
    """The items of one source and label: how many there are in each state, in the lifecycle's order, and how many of
    them are held back, where that is known."""

    kind: Kind
    states: dict[str, int]
    held_back: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.states.values())

    def of(self, wanted: str | None) -> int:
        """How many items stand so; with None, how many there are."""
        return sum(count for _, role, count in self.rows() if wanted in (None, role))

    def rows(self) -> list[tuple[str, str, int]]:
        """The states, what each means, and how many items are there; those that are held back apart."""
        found = []
        for state, count in self.states.items():
            held_back = min(self.held_back.get(state, 0), count)
            if held_back < count or not count:
                found.append((state, meaning(self.kind.lifecycle, state), count - held_back))
            if held_back:
                found.append((state, HELD_BACK, held_back))
        return found


async def shut_out(store: Store, kinds: Iterable[Kind]) -> dict[int, dict[str, int]]:
    """How many items of each kind are held back in each state, because as many are done or in as there may be."""
    bounded = [kind for kind in kinds if kind.bounds.most is not None]
    return {
        kind.id: {state: await store.bounds.shut_out(kind, [state]) for state in sorted(kind.lifecycle.waiting)}
        for kind in bounded
    }


def standings(
    kinds: Iterable[Kind], tallies: Iterable[Tally], held_back: Mapping[int, Mapping[str, int]] | None = None
) -> list[Standing]:
    """The kinds, those without items too, in the order of their names."""
    held_back = held_back or {}
    states: dict[tuple[str, str], dict[str, int]] = {}
    for line in tallies:
        states.setdefault((line.source, line.label), {})[line.state] = line.count
    ordered = sorted(kinds, key=lambda kind: (kind.source, kind.label))
    return [Standing(kind, states.get((kind.source, kind.label), {}), held_back.get(kind.id, {})) for kind in ordered]
