"""Counts of items by what their states mean, for one source and label at a time.

Of the items that wait, those are counted apart that are held back because the source wants no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from detent.knowledge.value import Value
from detent.lifecycle.meaning import DONE, FAILED, STOPPED, WAITING, WORKING, meaning

if TYPE_CHECKING:
    from detent.store import Kind, Store, Tally

HELD_BACK = "held_back"
MEANINGS = (WAITING, HELD_BACK, WORKING, FAILED, STOPPED, DONE)


@dataclass(frozen=True)
class StateStatus(Value):
    """The number of items in one state, what the state means, and how many of the items are held back."""

    state: str
    meaning: str
    count: int
    held_back: int = 0


@dataclass(frozen=True)
class LabelStatus(Value):
    """The items of one source and label, by state in the lifecycle's order."""

    source: str
    label: str
    lifecycle: str
    paused: bool
    states: tuple[StateStatus, ...] = ()

    def __str__(self) -> str:
        return f"{self.source}/{self.label}"

    @property
    def total(self) -> int:
        return sum(each.count for each in self.states)

    def of(self, wanted: str) -> int:
        """The number of items of one meaning."""
        if wanted == HELD_BACK:
            return sum(each.held_back for each in self.states)
        return sum(each.count - each.held_back for each in self.states if each.meaning == wanted)

    def as_data(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "label": self.label,
            "lifecycle": self.lifecycle,
            "total": self.total,
            **{name: self.of(name) for name in MEANINGS},
            "states": [state.as_data() for state in self.states],
        }


async def held_back(store: Store, kinds: Iterable[Kind]) -> dict[int, dict[str, int]]:
    """Count the items of each kind and state that are held back, because the source wants no more."""
    bounded = [kind for kind in kinds if kind.bounds.most is not None]
    return {
        kind.id: {state: await store.bounds.shut_out(kind, [state]) for state in sorted(kind.lifecycle.waiting)}
        for kind in bounded
    }


def standings(
    kinds: Iterable[Kind], tallies: Iterable[Tally], beyond: Mapping[int, Mapping[str, int]] | None = None
) -> list[LabelStatus]:
    """The kinds with their counts, also those without items, in the order of their names."""
    beyond = beyond or {}
    counts: dict[tuple[str, str], list[Tally]] = {}
    for line in tallies:
        counts.setdefault((line.source, line.label), []).append(line)
    ordered = sorted(kinds, key=lambda kind: (kind.source, kind.label))
    return [_standing(kind, counts.get((kind.source, kind.label), []), beyond.get(kind.id, {})) for kind in ordered]


def _standing(kind: Kind, lines: Sequence[Tally], beyond: Mapping[str, int]) -> LabelStatus:
    states = (
        StateStatus(
            line.state, meaning(kind.lifecycle, line.state), line.count, min(beyond.get(line.state, 0), line.count)
        )
        for line in lines
    )
    return LabelStatus(kind.source, kind.label, kind.lifecycle.name, kind.paused, tuple(states))
