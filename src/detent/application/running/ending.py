"""The state of a run's items at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from detent.application.running.report import Left, Report
from detent.application.standing import LabelStatus, standings
from detent.lifecycle.meaning import DONE, FAILED, STOPPED, WAITING, WORKING
from detent.worker.remaining import reasons_to_wait, remaining

if TYPE_CHECKING:
    from detent.store import Kind, Store
    from detent.worker.duty import Duty


async def ending(store: Store, kinds: Iterable[Kind], duties: Sequence[Duty], completed: int = 0) -> Report:
    """Return the state of the items of these kinds after the workers have ended."""
    names = {(kind.source, kind.label) for kind in kinds}
    left = await remaining(store, duties)
    everything = standings(await store.kinds.select(), await store.count_by_state())
    ours = [each for each in everything if (each.source, each.label) in names]
    others = [each for each in everything if each not in ours and each.of(WAITING) and not each.of(WORKING)]
    unfinished = sum(each.of(WAITING) + each.of(WORKING) for each in ours)
    return Report(
        done=completed,
        failed=sum(each.of(FAILED) for each in ours),
        later=left.later,
        first_due=left.first_due,
        waiting=unfinished - left.later - left.held_back,
        total=sum(each.total for each in ours),
        finished=sum(each.of(DONE) for each in ours),
        held_back=left.held_back,
        failed_states=tuple(sorted({state.state for each in ours for state in each.states if state.meaning == FAILED})),
        reasons=tuple(await reasons_to_wait(store, duties)) if left.later else (),
        left=(
            *_neglected(ours, duties),
            *(Left(each.source, each.label, elsewhere=each.of(WAITING)) for each in others),
        ),
    )


def _neglected(ours: Iterable[LabelStatus], duties: Iterable[Duty]) -> list[Left]:
    """Items that nobody works on: of paused sources, in stopped states, for stages without a handler."""
    served = {(kind.source, kind.label, duty.stage.waiting) for duty in duties for kind in duty.kinds}
    found = []
    for each in ours:
        paused = each.of(WAITING) if each.paused else 0
        waiting = [state for state in each.states if state.meaning == WAITING]
        unserved = {
            state.state: state.count
            for state in waiting
            if not paused and (each.source, each.label, state.state) not in served
        }
        left = Left(each.source, each.label, paused, unserved, each.of(STOPPED))
        if paused or unserved or left.stopped:
            found.append(left)
    return found
