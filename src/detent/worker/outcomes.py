"""Making an outcome of whatever comes back from a handler: a result, an exception, or nothing in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from detent.knowledge import Done, Failed, Item, Outcome, Retry, Skipped
from detent.lifecycle import Trouble, classify, retry_after_seconds

_QUERY_VALUE = re.compile(r"([?&][^=&\s'\"]+=)[^&\s'\"]+")


def outcome_of(error: BaseException) -> Retry:
    """The outcome of a handler that raised. Whether it is tried again is decided by the kind of trouble."""
    return Retry(_describe(error), classify(error), _retry_after(error))


def over_limit(seconds: float, items: int) -> Retry:
    """The outcome of a handler that was given up. Of a batch nobody knows which item it was: they are tried alone."""
    return Retry(f"The handler was over its time limit of {seconds:g} s", Trouble.TIMEOUT, alone=items > 1)


def outcomes_of_batch(items: Sequence[Item], result: object) -> list[Outcome]:
    """What a batch handler returned, checked: one outcome per item, in the same order."""
    outcomes = list(result) if isinstance(result, Sequence) and not isinstance(result, str) else []
    if len(outcomes) != len(items):
        wrong = _wrong(f"it was given {len(items)} items and returned {result!r:.80}")
        return [wrong] * len(items)
    return [outcome_of_result(outcome) for outcome in outcomes]


def outcome_of_result(result: object) -> Outcome:
    """What a handler returned, checked. None means done, with nothing to write."""
    if result is None:
        return Done()
    if isinstance(result, Done | Retry | Failed | Skipped):
        return result
    return _wrong(f"it returned {result!r:.80}")


def _wrong(what: str) -> Failed:
    return Failed(f"The handler returns no outcome: {what}", Trouble.UNSTORABLE)


def _describe(error: BaseException) -> str:
    """What the exception says. Values in a URL's query may be keys to a service, so they are left out."""
    try:
        text = _QUERY_VALUE.sub(r"\1…", str(error).strip())
    except Exception:  # an exception that cannot even be shown
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _retry_after(error: BaseException) -> float | None:
    try:
        headers = getattr(getattr(error, "response", None), "headers", None)
        header = headers.get("Retry-After") if headers is not None else None
    except Exception:  # whatever it is, it is no header
        return None
    return retry_after_seconds(header, datetime.now(UTC)) if isinstance(header, str) else None
