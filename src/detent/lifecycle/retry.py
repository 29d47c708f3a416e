"""The decision after a failure: a pure function of the trouble, the attempt, the limits and `Retry-After`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from detent.lifecycle.trouble import Trouble

LONGEST_WAIT_SECONDS = 366 * 24 * 3600.0
"""What a service asks for beyond a year is taken as a year: it is a mistake, and dates have an end."""


@dataclass(frozen=True)
class RetryPolicy:
    """The number of attempts at an item, and the backoff between them."""

    max_attempts: int = 3
    base_seconds: float = 2.0
    ceiling_seconds: float = 3600.0


@dataclass(frozen=True)
class Again:
    """Try again, not before `delay_seconds` have passed."""

    delay_seconds: float


@dataclass(frozen=True)
class GiveUp:
    """Fail for good."""

    reason: str


Decision = Again | GiveUp


def decide(
    trouble: Trouble,
    attempt: int,
    policy: RetryPolicy,
    *,
    retry_after: float | None = None,
    jitter: float = 0.0,
) -> Decision:
    """Decide after the given attempt (the first is 1) failed.

    The delay doubles with each attempt up to the ceiling, and is then lengthened by up to a half, as
    `jitter` between 0 and 1 says, so that items which failed together do not come back together. A
    service's `Retry-After` is never undercut, not even by the ceiling; only by a year.
    """
    if not trouble.transient:
        return GiveUp(f"{trouble.value} is permanent")
    if attempt >= policy.max_attempts:
        return GiveUp(f"{attempt} of {policy.max_attempts} attempts failed")
    doubled = policy.base_seconds * 2 ** min(attempt - 1, 60)
    delay = min(doubled, policy.ceiling_seconds) * (1 + jitter / 2)
    return Again(max(delay, min(retry_after or 0.0, LONGEST_WAIT_SECONDS)))


@dataclass(frozen=True, slots=True)
class Fate:
    """The decision about an item whose worker died: it fails, or waits again with so many attempts counted.

    `alone`: its next attempt is made with nothing beside it.
    """

    fails: bool
    attempt: int
    alone: bool


def after_death(attempt: int, max_attempts: int, *, met_alone: bool, changed: bool, alone: bool = True) -> Fate:
    """Decide after an item's worker died in the given attempt.

    An attempt that was not made alone is never the last, so that no item fails for a neighbour's sake. What changed
    meanwhile begins anew, with its attempts forgiven. What waits again is tried alone: with `alone` at once, otherwise
    when its next attempt is the last.
    """
    counted = 0 if changed else attempt if met_alone else min(attempt, max_attempts - 1)
    fails = not changed and isinstance(decide(Trouble.DIED, counted, RetryPolicy(max_attempts)), GiveUp)
    return Fate(fails, counted, not fails and (alone or counted + 1 >= max_attempts))


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Seconds named by a `Retry-After` header (a number or an HTTP date), or None if it names none."""
    text = (header or "").strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        seconds = float(text)
    else:
        try:
            when = parsedate_to_datetime(text)
            # Of the three forms of an HTTP date one names no zone; all of them mean GMT.
            seconds = (when.replace(tzinfo=when.tzinfo or UTC) - now).total_seconds()
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)
