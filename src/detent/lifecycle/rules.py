"""The rules of a valid table. Each yields the end of a sentence for every contradiction that it finds.

Together they keep the promises on which leases rest: an item in a work state got there by a claim, leaves it only by
its worker's or a person's decision, can fail, and can be given back to a state where work waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from detent.errors import InvalidLifecycle
from detent.lifecycle.moves import Event, Move, reached_from

if TYPE_CHECKING:
    from detent.lifecycle.table import Lifecycle


def validate(lifecycle: Lifecycle) -> None:
    """Raise InvalidLifecycle with the first contradiction."""
    for rule in _RULES:
        for reason in rule(lifecycle):
            raise InvalidLifecycle(lifecycle.name, reason)


def _has_a_name_and_moves(lifecycle: Lifecycle) -> Iterator[str]:
    if not lifecycle.name.strip() or not lifecycle.moves:
        yield "it needs a name and at least one move"


def _states_have_plain_names(lifecycle: Lifecycle) -> Iterator[str]:
    for state in lifecycle.states:
        if not state.isidentifier():
            yield f"the state {state!r} needs a name of letters, digits and underscores"


def _rows_differ(lifecycle: Lifecycle) -> Iterator[str]:
    for number, move in enumerate(lifecycle.moves):
        if move in lifecycle.moves[:number]:
            yield f"it has the row {_written(move)} twice"


def _named_states_exist(lifecycle: Lifecycle) -> Iterator[str]:
    moved = {state for move in lifecycle.moves for state in (move.state, move.to)}
    for state in sorted(lifecycle.entries - moved):
        yield f"items enter at {state!r}, and no move leads to or from it"
    for state in sorted(set(lifecycle.failure_kinds) - moved):
        yield f"it names the kind of failure of {state!r}, and no move leads to or from it"


def _states_are_reached(lifecycle: Lifecycle) -> Iterator[str]:
    reached = reached_from(lifecycle.entries, lifecycle.moves)
    for state in lifecycle.states:
        if state not in reached:
            yield f"the state {state!r} cannot be reached from {_listed(sorted(lifecycle.entries))}"


def _claims_lead_one_way(lifecycle: Lifecycle) -> Iterator[str]:
    for state in lifecycle.states:
        ends = lifecycle._ends(state, Event.CLAIM)
        if len(ends) > 1:
            yield f"a claim from {state!r} leads to {_listed(ends)}; it may lead to one state only"


def _work_does_not_wait(lifecycle: Lifecycle) -> Iterator[str]:
    for state in sorted(lifecycle._sources(Event.CLAIM) & lifecycle.working):
        yield f"the state {state!r} both waits for work and means work under way"


def _stops_hold(lifecycle: Lifecycle) -> Iterator[str]:
    stopped = lifecycle._targets(Event.PAUSE) & lifecycle._sources(Event.CLAIM)
    others = {move.to for move in lifecycle.moves if move.event is not Event.PAUSE} | lifecycle.entries
    for state in sorted(stopped & others):
        yield f"a pause leads to {state!r}, where other items wait for work; it needs a state of its own"


def _work_goes_on_to_work(lifecycle: Lifecycle) -> Iterator[str]:
    for move in lifecycle.moves:
        if move.event is Event.STEP and move.state in lifecycle.working and not _can_fail(lifecycle, move.to):
            yield (
                f"the row {_written(move)} goes on to work that has no way to fail; "
                f"if the work ends there, the event is 'done'"
            )


def _work_begins_with_a_claim(lifecycle: Lifecycle) -> Iterator[str]:
    for state in sorted(lifecycle.entries & lifecycle.working):
        yield f"items enter at {state!r}, which means work under way, before any worker has claimed them"
    for move in lifecycle.moves:
        goes_on = move.event is Event.STEP and move.state in lifecycle.working
        if move.to in lifecycle.working and move.event is not Event.CLAIM and not goes_on:
            yield f"the row {_written(move)} leads into work that no worker has claimed"


def _work_has_ways_out(lifecycle: Lifecycle) -> Iterator[str]:
    for state in sorted(lifecycle.working):
        if not _can_fail(lifecycle, state):
            yield f"the work state {state!r} has no way to fail"
        ends = lifecycle._ends(state, Event.BACK)
        if not ends:
            failures = lifecycle._ends(state, Event.FAIL)
            ends = [end for failure in failures for end in lifecycle._ends(failure, Event.RETRY)]
        if not ends:
            yield f"the work state {state!r} cannot be given back"
        for end in ends:
            if end not in lifecycle.waiting:
                yield f"{state!r} is given back to {end!r}, where nothing waits for work"


def _workers_alone_move_work(lifecycle: Lifecycle) -> Iterator[str]:
    for move in lifecycle.moves:
        if move.state in lifecycle.working and move.event not in _OUT_OF_WORK:
            yield f"the row {_written(move)} takes the item from its worker, as only a pause may do"
        if move.state not in lifecycle.working and move.event in _ENDS_OF_WORK:
            yield f"the row {_written(move)} ends work, and {move.state!r} does not mean work under way"


def _failure_is_final(lifecycle: Lifecycle) -> Iterator[str]:
    for state in sorted(lifecycle.failures & lifecycle.waiting):
        yield f"work that failed for good ends in {state!r}, where it waits for work and would fail for ever"
    for move in lifecycle.moves:
        if move.event is Event.RETRY and move.to not in lifecycle.waiting:
            yield f"the row {_written(move)} sends the item back to where nothing waits for work"


def _failure_kinds_belong_to_work(lifecycle: Lifecycle) -> Iterator[str]:
    for state in sorted(set(lifecycle.failure_kinds) - lifecycle.working):
        yield f"it names the kind of failure of {state!r}, which does not mean work under way"


_RULES: tuple[Callable[[Lifecycle], Iterator[str]], ...] = (
    _has_a_name_and_moves,
    _states_have_plain_names,
    _rows_differ,
    _named_states_exist,
    _states_are_reached,
    _claims_lead_one_way,
    _work_does_not_wait,
    _stops_hold,
    _work_goes_on_to_work,
    _work_begins_with_a_claim,
    _work_has_ways_out,
    _workers_alone_move_work,
    _failure_is_final,
    _failure_kinds_belong_to_work,
)

_ENDS_OF_WORK = (Event.DONE, Event.FAIL, Event.BACK)
_OUT_OF_WORK = (Event.STEP, *_ENDS_OF_WORK, Event.SKIP, Event.PAUSE)


def _can_fail(lifecycle: Lifecycle, state: str) -> bool:
    return lifecycle.target(state, Event.FAIL) is not None


def _written(move: Move) -> str:
    return f"({', '.join(move)})"


def _listed(names: Iterable[str]) -> str:
    """Join names in a sentence: 'a', 'b' or 'c'."""
    *first, last = [repr(str(name)) for name in names]
    return f"{', '.join(first)} or {last}" if first else last
