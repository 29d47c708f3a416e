"""How far the work is, stage by stage: N of M, how fast, and how long it may take. Nothing here prints."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from detent.lifecycle import Event, Lifecycle

if TYPE_CHECKING:
    from detent.store import Kind, Tally
    from detent.worker.duty import Duty

WINDOW_SECONDS = 30.0
_FORWARD = (Event.CLAIM, Event.STEP, Event.DONE, Event.SKIP, Event.BACK)


@dataclass(frozen=True)
class StageProgress:
    """One stage of one source's label. `left_seconds` is None where nothing can be said."""

    source: str
    label: str
    stage: str
    done: int
    total: int
    working: int
    failed: int
    rate: float
    left_seconds: float | None


@dataclass
class Pace:
    """How many a second, over the last half minute."""

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


def passed(lifecycle: Lifecycle, waiting: str) -> frozenset[str]:
    """The states of items that have a stage behind them: work alone does not lead back to where it waits.

    Items that failed are not among them.
    """
    before = {waiting}
    while True:
        more = {move.state for move in lifecycle.moves if move.to in before and move.event in _FORWARD} - before
        if not more:
            return frozenset(set(lifecycle.states) - before - lifecycle.failures)
        before |= more


class Progress:
    """The stages of some duties, from the first to the last, with the pace of each."""

    def __init__(self, duties: Sequence[Duty]) -> None:
        places = [(kind, duty) for duty in duties for kind in duty.kinds]
        self._places = sorted(places, key=lambda place: _order(*place))
        self._paces = [Pace() for _ in self._places]

    def update(self, tallies: Iterable[Tally], now: float) -> list[StageProgress]:
        """Take new counts, and say how far each stage is."""
        counts: dict[tuple[str, str], dict[str, int]] = {}
        for line in tallies:
            counts.setdefault((line.source, line.label), {})[line.state] = line.count
        return [
            _stage(kind, duty, counts.get((kind.source, kind.label), {}), pace, now)
            for (kind, duty), pace in zip(self._places, self._paces, strict=True)
        ]


def _stage(kind: Kind, duty: Duty, states: Mapping[str, int], pace: Pace, now: float) -> StageProgress:
    behind = passed(kind.lifecycle, duty.stage.waiting)
    done = sum(count for state, count in states.items() if state in behind)
    failed = sum(count for state, count in states.items() if state in kind.lifecycle.failures)
    total = sum(states.values())
    pace.note(now, done)
    left = total - done - failed
    return StageProgress(
        source=kind.source,
        label=kind.label,
        stage=duty.stage.working,
        done=done,
        total=total,
        working=states.get(duty.stage.working, 0),
        failed=failed,
        rate=pace.rate,
        left_seconds=left / pace.rate if pace.rate and left else None,
    )


def _order(kind: Kind, duty: Duty) -> tuple[str, str, int]:
    return kind.source, kind.label, kind.lifecycle.states.index(duty.stage.working)
