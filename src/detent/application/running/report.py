"""The report of a run: how it ended, and how all items of its sources stand then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from detent.knowledge.value import Value

GENTLY, AT_ONCE = "gently", "at once"


@dataclass(frozen=True)
class Left(Value):
    """Items of one source's label that this run does not work on."""

    source: str
    label: str
    paused: int = 0
    """Number of items that wait, and whose source is paused."""

    unserved: Mapping[str, int] = field(default_factory=dict)
    """Number of items by the state in which they wait, for which no handler is declared."""

    stopped: int = 0
    """Number of items that were paused by hand."""

    elsewhere: int = 0
    """Number of items that wait, and whose source is none of this run's."""


@dataclass(frozen=True)
class Report(Value):
    """The result of a run. `done` counts this run; everything else covers all items of its sources as they are now."""

    done: int
    """Number of steps that this run completed; an item that went through three stages counts three times."""

    failed: int
    """Number of items that have failed, in this run or before it."""

    later: int
    """Number of items that wait for a later retry."""

    first_due: datetime | None
    """The time of the first of these retries."""

    waiting: int = 0
    """Number of items that wait for anything else: their source is paused, no handler serves their state, or another
    worker has them."""

    total: int = field(default=0, repr=False)
    """Number of all items."""

    finished: int = field(default=0, repr=False)
    """Number of items that are done."""

    held_back: int = field(default=0, repr=False)
    """Number of items beyond the limit of their source; they are not to be done."""

    failed_states: tuple[str, ...] = field(default=(), repr=False)
    """The states of the items that failed."""

    reasons: tuple[str, ...] = field(default=(), repr=False)
    """The reasons why items wait for a later retry, each once."""

    left: tuple[Left, ...] = field(default=(), repr=False)
    """Items that this run does not work on."""

    failures: tuple[str, ...] = field(default=(), repr=False)
    """A sentence for each source that could not name all of its items, or tell how they stand."""

    stopped: str | None = field(default=None, repr=False)
    """`gently` or `at once`, if the run was stopped."""

    found: int = field(default=0, repr=False)
    """Number of items that the sources named."""

    began: bool = field(default=True, repr=False)
    """False if the run was stopped before work began."""

    away: bool = field(default=False, repr=False)
    """True if the database did not answer at the end of a stopped run; the counts are 0 then."""

    @property
    def ok(self) -> bool:
        """True if everything is done."""
        return not (self.failed or self.later or self.waiting)

    @property
    def rest(self) -> int:
        """Number of items that are neither done nor failed, and are not due later."""
        return self.total - self.finished - self.failed - self.later - self.held_back

    @property
    def complete(self) -> bool:
        """True if everything is done, also of other sources, except for items held by workers."""
        return not (self.failed or self.later or self.left or self.rest)

    def as_data(self) -> dict[str, Any]:
        """The same for JSON."""
        return {**super().as_data(), "ok": self.ok}
