"""From an outcome to a verdict: the way the item goes, decided before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from detent.errors import IllegalMove, Unstorable
from detent.knowledge import NOTHING, Done, Failed, Item, Outcome, Product, Retry, Skipped, Step
from detent.lifecycle import Again, Event, GiveUp, Lifecycle, Path, RetryPolicy, Trouble, decide
from detent.services.keyring import scrubbed
from detent.store.values import check_outcome, printable


class Error(NamedTuple):
    """The failure recorded on the item."""

    kind: str
    trouble: str
    message: str


class Verdict(NamedTuple):
    """One line of settling: the item, its way, and the data written with it.

    `refused` says why an outcome was invalid; the item then fails with that reason. `alone`: the next attempt runs
    with nothing beside the item. `skipped`: there is nothing to do for it. `stays`: it was a step, and the item
    stays under its lease, with its attempts reset.
    """

    item: Item
    path: Path
    attempt: int
    reason: str | None = None
    delay_seconds: float | None = None
    error: Error | None = None
    done: Product | None = None
    released: bool = False
    refused: str | None = None
    alone: bool = False
    skipped: bool = False
    stays: bool = False


def judge(
    item: Item, outcome: Outcome | Step, lifecycle: Lifecycle, policy: RetryPolicy, jitter: Callable[[], float]
) -> Verdict:
    """Return the verdict on an outcome. An outcome that cannot be stored, or asks for an illegal move, fails its
    item."""
    try:
        if outcome is NOTHING:
            return Verdict(item, lifecycle.path(item.state, Event.DONE, item=item), 0)
        check_outcome(outcome)
        return _verdict(item, outcome, lifecycle, policy, jitter)
    except (Unstorable, IllegalMove) as error:
        return refused(item, lifecycle, str(error).rstrip("."))
    except Exception as error:  # a handler may return any object, and that is its item's trouble alone
        return refused(item, lifecycle, f"looking at it raised {type(error).__name__}")


def _verdict(
    item: Item, outcome: Outcome | Step, lifecycle: Lifecycle, policy: RetryPolicy, jitter: Callable[[], float]
) -> Verdict:
    match outcome:
        case Done():
            path = _way(item, outcome.to, lifecycle, stays=False)
            return Verdict(item, path, 0, _note(outcome.note), None, None, outcome if _writes(outcome) else None)
        case Step():
            path = _way(item, outcome.to, lifecycle, stays=True)
            return Verdict(item, path, 1, _note(outcome.note), done=outcome, stays=True)
        case Retry():
            return _retry(item, outcome, lifecycle, policy, jitter())
        case Failed():
            left = Done(content_hash=outcome.content_hash, emptied=outcome.emptied)
            verdict = failed(item, lifecycle, outcome.trouble, outcome.reason, outcome.to)
            return verdict._replace(done=left if _writes(left) else None)
        case Skipped():
            path = lifecycle.path(item.state, Event.SKIP, item=item)
            return Verdict(item, path, 0, reason=printable(outcome.reason), skipped=True)


def _way(item: Item, to: str | Sequence[str] | None, lifecycle: Lifecycle, *, stays: bool) -> Path:
    """The way that an outcome or a step asks for: a step stays in work, an outcome leaves it."""
    if to is None or isinstance(to, str):
        if stays:
            return lifecycle.phases(item.state, to, item=item)
        return lifecycle.path(item.state, Event.DONE, to, item=item)
    path = lifecycle.along(item.state, to, item=item)
    if (path.to in lifecycle.working) is not stays:
        raise IllegalMove(item, item.state, path.to, lifecycle.name)
    return path


def _note(note: str | None) -> str | None:
    return scrubbed(note) if note else note


def _writes(done: Product) -> bool:
    return done.content_hash is not None or done.carries_data


def released(item: Item, lifecycle: Lifecycle, reason: str, delay_seconds: float | None = None) -> Verdict:
    """Return the verdict that gives the item back untried: the attempt does not count."""
    path = lifecycle.path(item.state, Event.BACK, item=item)
    attempt = max(0, item.attempt - 1)
    return Verdict(item, path, attempt, printable(reason), delay_seconds, released=True, alone=item.alone)


def failed(item: Item, lifecycle: Lifecycle, trouble: Trouble, reason: str, to: str | None = None) -> Verdict:
    path = lifecycle.path(item.state, Event.FAIL, to, item=item)
    error = Error(lifecycle.failure_kind(item.state, trouble.value), trouble.value, printable(reason))
    return Verdict(item, path, item.attempt, reason=error.message, error=error)


def refused(item: Item, lifecycle: Lifecycle, reason: str) -> Verdict:
    """Return the verdict that fails the item because its handler's result is invalid."""
    reason = printable(reason)
    line = failed(item, lifecycle, Trouble.UNSTORABLE, f"The result could not be stored: {reason}.")
    return Verdict(line.item, line.path, line.attempt, line.reason, error=line.error, refused=reason)


def _retry(item: Item, retry: Retry, lifecycle: Lifecycle, policy: RetryPolicy, jitter: float) -> Verdict:
    attempt, trouble = item.attempt, retry.trouble
    if retry.alone and not item.alone:  # a neighbour may be at fault: it is not the last attempt, whatever the count
        attempt = min(attempt, policy.max_attempts - 1)
        trouble = trouble if trouble.transient else Trouble.UNKNOWN
    decision = decide(trouble, attempt, policy, retry_after=retry.retry_after, jitter=jitter)
    if retry.blameless:  # whatever the trouble is, it may have passed by the next attempt
        attempt, patient = max(0, attempt - 1), replace(policy, max_attempts=2)
        # Without jitter, items requested together all come back at the same moment, and can be requested together
        # again.
        decision = decide(Trouble.UNKNOWN, 1, patient, retry_after=retry.retry_after)
    match decision:
        case GiveUp(why):
            return failed(item, lifecycle, retry.trouble, f"{retry.reason} ({why})")
        case Again(delay):
            path = lifecycle.path(item.state, Event.BACK, item=item)
            kind = lifecycle.failure_kind(item.state, retry.trouble.value)
            error = Error(kind, retry.trouble.value, printable(retry.reason))
            # Without a delay there is no date: the item waits among those that never failed, in their order.
            return Verdict(item, path, attempt, error.message, delay or None, error, alone=retry.alone)
