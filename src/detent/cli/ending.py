"""The last line of a run, and its exit status. They tell the truth about every item of the run's sources."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from detent.cli.output import counted, number
from detent.cli.shift import waiting, why
from detent.cli.standing import DONE, FAILED, STOPPED, WAITING, WORKING, Standing, standings
from detent.store import Kind, Store
from detent.worker.duty import Duty
from detent.worker.remaining import Remaining, reasons_to_wait, remaining

ALL_DONE, SOME_FAILED, SOME_LEFT = 0, 1, 3


@dataclass(frozen=True)
class Ending:
    sentence: str
    status: int


async def ending(
    store: Store, kinds: Sequence[Kind], duties: Sequence[Duty], stopped_by: signal.Signals | None
) -> Ending:
    """How the items of these kinds stand now that the workers have gone."""
    names = {(kind.source, kind.label) for kind in kinds}
    everything = standings(await store.kinds.select(), await store.count_by_state())
    counts = [each for each in everything if (each.kind.source, each.kind.label) in names]
    if stopped_by is not None:
        return _stopped(counts, stopped_by)
    others = [each for each in everything if each not in counts and each.of(WAITING) and not each.of(WORKING)]
    left = await remaining(store, duties)
    reasons = await reasons_to_wait(store, duties) if left.later else []
    return _finished(counts, others, duties, left, reasons)


def _stopped(counts: Sequence[Standing], number_: signal.Signals) -> Ending:
    total, done, failed = (sum(each.of(what) for each in counts) for what in (None, DONE, FAILED))
    parts = [f"{number(done)} of {counted(total, 'item')} {_are(done)} done", f"{number(total - done - failed)} left"]
    if failed:
        parts.append(f"{number(failed)} failed")
    return Ending(f"Stopped: {', '.join(parts)}. Nothing is lost: the next run goes on from here.", 128 + number_)


def _finished(
    counts: Sequence[Standing],
    others: Sequence[Standing],
    duties: Sequence[Duty],
    left: Remaining,
    reasons: Sequence[str],
) -> Ending:
    total, done, failed = (sum(each.of(what) for each in counts) for what in (None, DONE, FAILED))
    sentences = [_failures(counts, failed, total)] if failed else []
    if left.later and left.first_due:
        sentences.append(f"{waiting(left.later, left.first_due)}: `detent run` tries again then")
        sentences += [why(reasons)] * bool(reasons)
    sentences += _neglected(counts, duties)
    rest = total - done - failed - left.later - left.held_back
    if not sentences and rest:
        sentences.append(
            f"{number(rest)} of {counted(total, 'item')} {_are(rest)} left: `detent run` goes on with them"
        )
    if others and not sentences:
        sentences.append(_all_done(total, " of this run's sources"))
    sentences += [
        f"{counted(each.of(WAITING), 'item')} of {each.kind} left, whose source is in none of this run's modules"
        for each in others
    ]
    beyond = f"{counted(left.held_back, 'more item')} {_are(left.held_back)} beyond what was asked for"
    if sentences:
        return Ending(". ".join([*sentences, *[beyond] * bool(left.held_back)]), SOME_FAILED if failed else SOME_LEFT)
    return Ending(f"{_all_done(total - left.held_back)}{f'; {beyond}' if left.held_back else ''}.", ALL_DONE)


def _all_done(total: int, whose: str = "") -> str:
    if not total:
        return "Nothing to do: the sources have no items"
    return f"The one item{whose} is done" if total == 1 else f"All {number(total)} items{whose} are done"


def _failures(counts: Sequence[Standing], failed: int, total: int) -> str:
    """`3 of 1,003 items failed: detent items --state failed`."""
    states = sorted({state for each in counts for state in each.states if state in each.kind.lifecycle.failures})
    commands = ", ".join(f"detent items --state {state}" for state in states)
    return f"{number(failed)} of {counted(total, 'item')} failed: {commands}"


def _neglected(counts: Sequence[Standing], duties: Sequence[Duty]) -> list[str]:
    """What is left and nobody works on: of paused sources, in stopped states, for stages without a handler."""
    served = {(kind.id, duty.stage.waiting) for duty in duties for kind in duty.kinds}
    found = []
    for each in counts:
        kind = each.kind
        unserved = {
            state: count
            for state, count in each.states.items()
            if state in kind.lifecycle.waiting and (kind.id, state) not in served
        }
        if kind.paused and each.of(WAITING):
            waits = counted(each.of(WAITING), "item")
            found.append(f"{waits} of {kind} left, since it is paused: detent resume {kind.source}")
        elif unserved:
            places = ", ".join(f"{number(count)} in {state}" for state, count in unserved.items())
            found.append(
                f"{counted(sum(unserved.values()), 'item')} of {kind} left, for which no handler is declared: {places}"
            )
        if each.of(STOPPED):
            found.append(f"{counted(each.of(STOPPED), 'item')} of {kind} stopped by hand")
    return found


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
