"""The work left to do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from detent.store import Kind, Stage, Store
from detent.worker.duty import Duty
from detent.worker.tending import Tending

_MOST_PROCESSES = 4
"""The server needs processors too, and more processes than that wait for it."""
_WORTH_A_PROCESS = 500
"""Number of items that justify another process: starting one takes as long as some of them."""


@dataclass(frozen=True)
class Remaining:
    """The work left for some duties: items to do now, items held by workers, items that wait for a later time."""

    now: int
    working: int
    later: int
    first_due: datetime | None
    due_seconds: float | None = None
    """Time until then, by the database's clock."""
    held_back: int = 0
    """Number of items beyond the source's limit."""

    @property
    def nothing(self) -> bool:
        return not (self.now or self.working or self.later)


async def remaining(store: Store, all_duties: Sequence[Duty]) -> Remaining:
    """Return the work left for these duties, apart from paused sources."""
    places = await _places(store, all_duties)
    waiting = {(kind.source, kind.label, stage.waiting) for kind, stage in places}
    working = {(kind.source, kind.label, stage.working) for kind, stage in places}
    counts = {(line.source, line.label, line.state): line.count for line in await store.count_by_state()}
    later, first_due, due_seconds = await store.tallies.later([(kind, stage.waiting) for kind, stage in places])
    held_back = sum([await store.bounds.shut_out(kind, states) for kind, states in _bounded(places)])
    return Remaining(
        now=max(0, sum(counts.get(place, 0) for place in waiting) - later - held_back),
        working=sum(counts.get(place, 0) for place in working),
        later=later,
        first_due=first_due,
        due_seconds=due_seconds,
        held_back=held_back,
    )


async def reasons_to_wait(store: Store, all_duties: Sequence[Duty]) -> list[str]:
    """Return the reasons why items of these duties wait for a later time, each once."""
    places = [(kind, stage.waiting) for kind, stage in await _places(store, all_duties)]
    return list(dict.fromkeys(await store.tallies.reasons(places)))


async def _places(store: Store, all_duties: Sequence[Duty]) -> list[tuple[Kind, Stage]]:
    """The places of these duties' items, apart from paused sources."""
    known = {kind.id: kind for kind in await store.kinds.select() if not kind.paused}
    return [(known[kind.id], duty.stage) for duty in all_duties for kind in duty.kinds if kind.id in known]


def _bounded(places: Sequence[tuple[Kind, Stage]]) -> list[tuple[Kind, list[str]]]:
    """The kinds of which not all items may come to rest, and the states in which they wait."""
    kinds = {kind.id: kind for kind, _ in places if kind.bounds.most is not None}
    return [
        (kind, sorted({stage.waiting for each, stage in places if each.id == number})) for number, kind in kinds.items()
    ]


async def processes_for(store: Store, all_duties: Sequence[Duty]) -> int:
    """Number of processes with enough work, at most one per processor. Several only if all handlers just compute:
    requests to services, and work that needs much memory, must not multiply."""
    if not all(duty.handler.computes or _is_light(duty) for duty in all_duties):
        return 1
    left = await remaining(store, [duty for duty in all_duties if duty.handler.computes])
    most = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    return max(1, min(most, left.now // _WORTH_A_PROCESS))


def _is_light(duty: Duty) -> bool:
    return duty.embedder is not None and getattr(duty.embedder.provider, "light", False)


async def is_all_done(store: Store, all_duties: Sequence[Duty]) -> bool:
    """Tell whether a worker would have nothing to do: no items, nothing to tend, and no other model to embed with."""
    if not (await remaining(store, all_duties)).nothing:
        return False
    embedders = [duty.embedder for duty in all_duties if duty.embedder]
    if not all([await embedder.is_registered(store) for embedder in embedders]):
        return False
    return await Tending(store, _no_account).finds_nothing()


async def _no_account() -> None:
    """Nothing is spent where nothing is embedded."""
