"""The table of moves, everything derived from it, and the one function that applies a move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from detent.errors import IllegalMove, InvalidLifecycle
from detent.lifecycle.moves import Event, Move, reached_from
from detent.lifecycle.rules import validate


class Path(NamedTuple):
    """The states an item passes through: `via` on the way, in order, and `to` at the end."""

    via: tuple[str, ...]
    to: str


@dataclass(frozen=True, init=False)
class Lifecycle:
    """A validated table of moves.

    `failure_kinds` maps a working state to its kind of failure (`parsing` fails with `parse`); for other states
    the kind is that of the trouble itself (`timeout`, `not_found`, …).
    """

    name: str
    initial: str
    moves: tuple[Move, ...]
    entries: frozenset[str]
    failure_kinds: Mapping[str, str] = field(hash=False)

    def __init__(
        self,
        name: str,
        initial: str,
        moves: Iterable[tuple[str, str, str]],
        *,
        entries: Iterable[str] = (),
        failure_kinds: Mapping[str, str] | None = None,
    ) -> None:
        rows = tuple(_move(name, row) for row in moves)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "initial", initial)
        object.__setattr__(self, "moves", rows)
        object.__setattr__(self, "entries", frozenset({initial, *entries}))
        object.__setattr__(self, "failure_kinds", MappingProxyType(dict(failure_kinds or {})))
        validate(self)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """All states, in the order in which the table first names them."""
        named = [self.initial] + [state for move in self.moves for state in (move.state, move.to)]
        return tuple(dict.fromkeys(named))

    @cached_property
    def waiting(self) -> frozenset[str]:
        """The states in which an item waits for a worker. A paused item waits for a person and is not among them."""
        return self._sources(Event.CLAIM) - self._targets(Event.PAUSE)

    @cached_property
    def working(self) -> frozenset[str]:
        """The states in which a worker has the item: the targets of claims, and their next phases."""
        steps = [move for move in self.moves if move.event is Event.STEP]
        return reached_from(self._targets(Event.CLAIM), steps)

    @cached_property
    def failures(self) -> frozenset[str]:
        """The states in which work has failed for good."""
        return self._targets(Event.FAIL)

    def reached(self, state: str) -> frozenset[str]:
        """The phases that work in this state may go on to, with the state itself."""
        return reached_from({state}, [move for move in self.moves if move.event is Event.STEP])

    def claimed(self, state: str) -> str:
        """Return the working state that a claim leads to from a waiting one."""
        return self.path(state, Event.CLAIM).to

    def target(self, state: str, event: Event) -> str | None:
        """Return the state that the event leads to from this state, or None if the table has no such row."""
        return next(iter(self._ends(state, event)), None)

    def allows(self, state: str, to: str) -> bool:
        """True if the table has a row from `state` to `to`."""
        return any(move.state == state and move.to == to for move in self.moves)

    def path(self, state: str, event: Event, to: str | None = None, *, item: object = "an item") -> Path:
        """Apply an event: the one place that decides which move is legal.

        Most events are one row. Where the table has no direct row, some events take several: giving back through
        failure (`fetching → error → resuming`), skipping after giving back (`parsing → pending → skip`), failing
        into the state behind the failure that `to` names (`saving → error → completed`), and success through the
        remaining phases (`fetching → processing → saving → idle`) or one state further (`claimed → loaded →
        processed`).
        """
        asked = (state, event, to)
        path = self._known_paths.get(asked)
        if path is None:
            path = self._known_paths[asked] = self._find_path(state, event, to)
        if path is None:
            raise IllegalMove(item, state, to or event.value, self.name)
        return path

    def phases(self, state: str, to: str | None = None, *, item: object = "an item") -> Path:
        """Return the path from one working state to another, while the work goes on.

        Without `to`, the path goes through the next phases, up to the one in which the work can be done: a page of
        a crawl goes `saving → fetching → processing → saving`. If the work has only one phase, the item stays in
        it.
        """
        path = self._next_phases(state) if to is None else self._phases_to(state, to)
        if path is None:
            raise IllegalMove(item, state, to or Event.STEP.value, self.name)
        return Path(tuple(path[:-1]), path[-1]) if path else Path((), state)

    def along(self, state: str, states: Sequence[str], *, item: object = "an item") -> Path:
        """Return the path through these states, one after the other: each must be one row from the one before."""
        for start, end in pairwise([state, *states]):
            if not self.allows(start, end):
                raise IllegalMove(item, start, end, self.name)
        return Path(tuple(states[:-1]), states[-1])

    def changed(self, state: str) -> str | None:
        """Return the next state of an item whose content changed, or None if it stays in this state.

        It stays if the work that it waits for will read the new content anyway, or if a worker has it; in that
        case it is processed again afterwards.
        """
        return self.target(state, Event.CHANGE)

    def anew(self, state: str) -> str | None:
        """Return the state in which an item that arrives in this state starts over if its content changed on the
        way.

        That is the target of a change from here, or this state itself if it waits for work that will read the new
        content. None: the change means nothing to an item in this state.
        """
        return self.changed(state) or (state if state in self.waiting else None)

    def failure_kind(self, state: str, trouble: str) -> str:
        """Return the kind of failure when work in this state meets this trouble."""
        return self.failure_kinds.get(state, trouble)

    def as_data(self) -> dict[str, object]:
        """The lifecycle as plain data, as stored in the database beside the items that follow it.

        `Lifecycle(**data)` makes the same lifecycle again.
        """
        return {
            "name": self.name,
            "initial": self.initial,
            "entries": sorted(self.entries),
            "moves": [[move.state, move.event.value, move.to] for move in self.moves],
            "failure_kinds": dict(self.failure_kinds),
        }

    @cached_property
    def _known_paths(self) -> dict[tuple[str, Event, str | None], Path | None]:
        """Cache of paths: a batch asks for the same path a thousand times."""
        return {}

    def _find_path(self, state: str, event: Event, to: str | None) -> Path | None:
        end = _chosen(self._ends(state, event), to)
        if end is not None:
            return Path((), end)
        if event is Event.DONE:
            return self._way_to_success(state, to)
        if event not in _DETOURS or (event is Event.FAIL and to is None):
            return None
        first, second = _DETOURS[event]
        for via in self._ends(state, first):
            end = _chosen(self._ends(via, second), to)
            if end is not None:
                return Path((via,), end)
        return None

    def _way_to_success(self, state: str, to: str | None) -> Path | None:
        """Return the shortest path through phases to success, and on to `to` if it is given."""
        ways: list[tuple[tuple[str, ...], bool]] = [((state,), False)]
        seen = {(state, False)}
        for way, succeeded in ways:
            if succeeded and to in (None, way[-1]):
                return Path(way[1:-1], way[-1])
            ends = [(end, succeeded) for end in self._ends(way[-1], Event.STEP)]
            ends += [] if succeeded else [(end, True) for end in self._ends(way[-1], Event.DONE)]
            ways += [((*way, end), done) for end, done in ends if (end, done) not in seen]
            seen.update(ends)
        return None

    def _next_phases(self, state: str) -> list[str]:
        passed: list[str] = []
        ends = self._ends(state, Event.STEP)
        while ends and ends[0] not in passed:
            passed.append(ends[0])
            if self._ends(passed[-1], Event.DONE):
                break
            ends = self._ends(passed[-1], Event.STEP)
        return passed

    def _phases_to(self, state: str, to: str) -> list[str] | None:
        ways: list[list[str]] = [[end] for end in self._ends(state, Event.STEP)]
        seen = {way[-1] for way in ways}
        for way in ways:
            if way[-1] == to:
                return way
            ends = [end for end in self._ends(way[-1], Event.STEP) if end not in seen]
            ways += [[*way, end] for end in ends]
            seen.update(ends)
        return [] if to == state and state in self.working else None

    @cached_property
    def _ends_by_cause(self) -> Mapping[tuple[str, Event], list[str]]:
        ends: dict[tuple[str, Event], list[str]] = {}
        for move in self.moves:
            ends.setdefault((move.state, move.event), []).append(move.to)
        return ends

    def _ends(self, state: str, event: Event) -> Sequence[str]:
        return self._ends_by_cause.get((state, event), ())

    def _sources(self, event: Event) -> frozenset[str]:
        return frozenset(move.state for move in self.moves if move.event is event)

    def _targets(self, event: Event) -> frozenset[str]:
        return frozenset(move.to for move in self.moves if move.event is event)


_DETOURS: Mapping[Event, tuple[Event, Event]] = {
    Event.BACK: (Event.FAIL, Event.RETRY),
    Event.SKIP: (Event.BACK, Event.SKIP),
    Event.FAIL: (Event.FAIL, Event.STEP),
}


def _chosen(ends: Sequence[str], to: str | None) -> str | None:
    """Return the requested end, or the first one if none is requested; None if there is no such end."""
    if to is None:
        return ends[0] if ends else None
    return to if to in ends else None


def _move(lifecycle: str, row: Sequence[str]) -> Move:
    if not isinstance(row, tuple | list) or len(row) != 3 or not all(isinstance(part, str) for part in row):
        raise InvalidLifecycle(lifecycle, f"the row {row!r} is not a state, an event and the next state")
    state, event, to = row
    try:
        return Move(state, Event(event), to)
    except ValueError:
        known = ", ".join(Event)
        raise InvalidLifecycle(lifecycle, f"it names the event {event!r}; the events are {known}") from None
