"""Progress by stage: N of M, rate and time left, computed from counts alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from detent.application.running.news import StageProgress
from detent.lifecycle import Event, Lifecycle

if TYPE_CHECKING:
    from detent.store import Kind, Tally
    from detent.worker.duty import Duty

WINDOW_SECONDS = 30.0
_FORWARD = (Event.CLAIM, Event.STEP, Event.DONE, Event.SKIP, Event.BACK)


@dataclass(frozen=True)
class Later:
    """Items that are not to be done now: how many failed for a passing reason and are to be tried again, how soon the
    first of them, and how many are beyond what was asked for."""

    count: int = 0
    seconds: float = 0.0
    beyond: int = 0


@dataclass
class Pace:
    """Items per second over the last half minute."""

    samples: deque[tuple[float, int]] = field(default_factory=deque)

    def note(self, now: float, done: int) -> None:
        self.samples.append((now, done))
        while len(self.samples) > 2 and now - self.samples[0][0] > WINDOW_SECONDS:
            self.samples.popleft()

    @property
    def rate(self) -> float:
        if len(self.samples) < 2:
            return 0.0
        (began, first), (ended, last) = self.samples[0], self.samples[-1]
        return max(0.0, (last - first) / (ended - began)) if ended > began else 0.0


@dataclass
class Fallen:
    """The number of items that passed a stage and failed later, where their state does not show it: inferred from
    passed items that became fewer while failed ones became more."""

    passed: int = 0
    failed: int = 0
    count: int = 0

    def note(self, passed: int, failed: int) -> None:
        fell = max(0, min(self.passed - passed, failed - self.failed))
        self.count = min(self.count + fell, failed)
        self.passed, self.failed = passed, failed


def passed(lifecycle: Lifecycle, waiting: str) -> frozenset[str]:
    """The states of items that have a stage behind them: work alone does not lead back to where it waits.

    Items that failed are among them only if they can have failed in no other stage than a later one.
    """
    before = {waiting}
    while more := {move.state for move in lifecycle.moves if move.to in before and move.event in _FORWARD} - before:
        before |= more
    behind = set(lifecycle.states) - before
    return frozenset(state for state in behind if failing(lifecycle, state) <= behind)


def failing(lifecycle: Lifecycle, failure: str) -> set[str]:
    """The stages, by their working states, that can end in this failure; none for a state that is no failure."""
    found = {move.state for move in lifecycle.moves if move.event is Event.FAIL and move.to == failure}
    while earlier := {move.state for move in lifecycle.moves if move.event is Event.STEP and move.to in found} - found:
        found |= earlier
    return found & {lifecycle.claimed(state) for state in lifecycle.waiting}


class Stages:
    """The stages of some duties, from the first to the last, with the pace of each."""

    def __init__(self, duties: Sequence[Duty]) -> None:
        places = [(kind, duty) for duty in duties for kind in duty.kinds]
        self._places = sorted(places, key=lambda place: _order(*place))
        self._paces = [Pace() for _ in self._places]
        self._fallen = [Fallen() for _ in self._places]

    @property
    def places(self) -> list[tuple[Kind, str]]:
        """The places where items of each stage wait."""
        return [(kind, duty.stage.waiting) for kind, duty in self._places]

    def update(self, tallies: Iterable[Tally], now: float, later: Sequence[Later] = ()) -> list[StageProgress]:
        """Take new counts, and say how far each stage is. `later` has what waits in each of the places."""
        counts: dict[tuple[str, str], dict[str, int]] = {}
        for line in tallies:
            counts.setdefault((line.source, line.label), {})[line.state] = line.count
        return [
            self._stage(number, counts.get((kind.source, kind.label), {}), now, later or [Later()] * len(self._places))
            for number, (kind, _) in enumerate(self._places)
        ]

    def _stage(self, number: int, states: Mapping[str, int], now: float, later: Sequence[Later]) -> StageProgress:
        (kind, duty), pace, fallen = self._places[number], self._paces[number], self._fallen[number]
        lifecycle, stage = kind.lifecycle, duty.stage
        behind = passed(lifecycle, stage.waiting)
        failures = {state: failing(lifecycle, state) for state in lifecycle.failures}
        fallen.note(_count(states, behind), _count(states, failures.keys() - behind))
        same = [place for place, (other, _) in enumerate(self._places) if other.id == kind.id]
        beyond = sum(later[place].beyond for place in same)
        done, total = fallen.passed + fallen.count, max(0, sum(states.values()) - beyond)
        pace.note(now, done)
        shared = {state for state, stages in failures.items() if len(stages) > 1}
        waiting = [later[place] for place in same if place <= number]
        return StageProgress(
            source=kind.source,
            label=kind.label,
            stage=stage.working,
            done=done,
            total=total,
            working=states.get(stage.working, 0),
            failed=_count(states, {state for state, stages in failures.items() if stages == {stage.working}}),
            failed_in_all=_count(states, shared) if number == same[-1] else 0,
            again=later[number].count,
            rate=pace.rate,
            left_seconds=_left_seconds(total - fallen.passed - fallen.failed, waiting, pace.rate),
        )


def _count(states: Mapping[str, int], wanted: Collection[str]) -> int:
    return sum(count for state, count in states.items() if state in wanted)


def _left_seconds(left: int, waiting: Sequence[Later], rate: float) -> float | None:
    """Seconds for the rest at this rate, and at least until waiting items are due. None if most items wait, since
    they may fail again, or if it is under a second."""
    later = sum(each.count for each in waiting)
    due_now = left - later
    if not rate or due_now <= later:
        return None
    seconds = max([due_now / rate, *(each.seconds for each in waiting if each.count)])
    return seconds if seconds >= 1.0 else None


def _order(kind: Kind, duty: Duty) -> tuple[str, str, int]:
    return kind.source, kind.label, kind.lifecycle.states.index(duty.stage.working)
