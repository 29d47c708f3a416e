"""Making an outcome of whatever comes back from a handler: a result, an exception, or nothing in time."""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from detent.errors import DetentError
from detent.knowledge import NOTHING, Done, Failed, Item, Outcome, Retry, Skipped, Step
from detent.lifecycle import Trouble, classify, retry_after_seconds
from detent.services.failure import ServiceFailed

_OUTCOMES = (Done, Retry, Failed, Skipped)
_QUERY_VALUE = re.compile(r"([?&][^=&\s'\"]+=)[^&\s'\"]+")

_DETENT = str(Path(__file__).parent.parent)
_NOBODYS = ("<frozen ", "<string>", str(Path(sysconfig.get_path("stdlib"), "importlib")))
_STANDARD = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")

Place = tuple[str, int, str]
"""A file, a line in it, and the function that the line is in."""


def outcome_of(error: BaseException) -> Retry:
    """The outcome of a handler that raised. Whether it is tried again is decided by the kind of trouble."""
    if isinstance(error, ServiceFailed):
        return Retry(str(error), error.trouble, error.retry_after, blameless=error.away)
    return Retry(describe(error), classify(error), _retry_after(error))


def over_limit(seconds: float, items: int) -> Retry:
    """The outcome of a handler that was given up. Of a batch nobody knows which item it was: they are tried alone."""
    return Retry(f"The handler was over its time limit of {seconds:g} s", Trouble.TIMEOUT, alone=items > 1)


def outcomes_of_batch(items: Sequence[Item], result: object) -> list[Outcome]:
    """Check the result of a batch handler, and return one outcome per item, in the same order."""
    outcomes = list(result) if isinstance(result, Sequence) and not isinstance(result, str) else []
    if len(outcomes) != len(items):
        wrong = _wrong(f"it was given {len(items)} items and returned {result!r:.80}")
        return [wrong] * len(items)
    return [outcome_of_result(outcome) for outcome in outcomes]


def outcome_of_result(result: object) -> Outcome:
    """Check the result of a handler, and return its outcome. None means done, with nothing to write."""
    if result is None:
        return NOTHING
    if isinstance(result, _OUTCOMES):
        return result
    if isinstance(result, Step):
        return _wrong("it returned a Step, which only a generator yields")
    return _wrong(f"it returned {result!r:.80}")


def _wrong(what: str) -> Failed:
    return Failed(f"The handler returns no outcome: {what}", Trouble.UNSTORABLE)


def describe(error: BaseException) -> str:
    """Describe an exception and the place that raised it: `ValueError: boom (kitchen.py:12, in bake)`.

    An error that Detent raises in its own code gets no place: its message is complete.
    Values in a URL's query may be keys to a service, so they are left out.
    """
    try:
        text = _QUERY_VALUE.sub(r"\1…", str(error).strip())
    except Exception:  # an exception that cannot even be shown
        text = ""
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    place = _place(error)
    if text and isinstance(error, DetentError) and (place is None or _is_standard(place)):
        return text
    if place is None:
        return said
    file, line, function = place
    where = f"{Path(file).name}:{line}" + ("" if function == "<module>" else f", in {function}")
    return f"{said.rstrip('.')} ({where})"


def _place(error: BaseException) -> Place | None:
    """The last place in the user's own code, whatever library raised it.

    An installed handler is told from the libraries that it calls by being called first.
    """
    trace = traceback.walk_tb(error.__traceback__)
    places = [(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in trace]
    called = [place for place in places if not place[0].startswith((_DETENT, *_NOBODYS))]
    written = [place for place in called if not _is_standard(place) and not _is_installed(place)]
    installed = [place for place in called if _is_installed(place)]
    own = [place for place in installed if place[0] == installed[0][0]]
    return next((found[-1] for found in (written, own, called) if found), None)


def _is_installed(place: Place) -> bool:
    return any(folder in place[0] for folder in _INSTALLED)


def _is_standard(place: Place) -> bool:
    return place[0].startswith(_STANDARD) and not _is_installed(place)


def _retry_after(error: BaseException) -> float | None:
    try:
        headers = getattr(getattr(error, "response", None), "headers", None)
        header = headers.get("Retry-After") if headers is not None else None
    except Exception:  # whatever it is, it is no header
        return None
    return retry_after_seconds(header, datetime.now(UTC)) if isinstance(header, str) else None
