"""Everything that a run tells while it goes on: what happens once, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from detent.knowledge.value import Value

if TYPE_CHECKING:
    from detent.store import Holder
    from detent.store.ledger.pacing import Held


class News(Value):
    """Something that a run tells. `as_data()` is its JSON form."""

    def as_data(self) -> dict[str, Any]:
        return {"news": type(self).__name__, **super().as_data()}


@dataclass(frozen=True)
class OnlyEmbedding(News):
    """No sources are declared, and items wait to be embedded: nothing else is done."""


@dataclass(frozen=True)
class Discovering(News):
    """The sources name their items; so many were named so far."""

    count: int


@dataclass(frozen=True)
class Discovered(News):
    """The sources named all their items."""

    added: int
    changed: int
    removed: int
    keeping_up: bool = False
    """True if a watched source reported changes."""


@dataclass(frozen=True)
class Refreshing(News):
    """The sources are asked what has changed; so many items were asked for so far."""

    count: int


@dataclass(frozen=True)
class Refreshed(News):
    """The sources told what has changed, and how many failed items are tried again."""

    changed: int
    again: int


@dataclass(frozen=True)
class SourceFailed(News):
    """A source could not name all of its items, or tell how they stand. The others are worked on."""

    sentence: str
    keeping_up: bool = False
    """True if it happened while the source was watched."""


@dataclass(frozen=True)
class WatchEnded(News):
    """A source can no longer be watched for changes."""

    source: str
    reason: str


@dataclass(frozen=True)
class DatabaseGone(News):
    """The database does not answer. It is waited for."""

    sentence: str


@dataclass(frozen=True)
class Stopping(News):
    """The run was stopped: what has begun may finish within the grace period."""

    grace_seconds: float


@dataclass(frozen=True)
class StoppingAtOnce(News):
    """Items in progress are released at once: on a second stop, or after the grace period."""

    grace_seconds: float | None
    """The grace period, if that is over."""


@dataclass(frozen=True)
class Waiting(News):
    """The reason why a run that has nothing else to do waits; empty while it works."""

    later: int = 0
    """Number of items that wait for a later retry."""

    first_due: datetime | None = None
    reasons: tuple[str, ...] = ()
    holders: tuple[Holder, ...] = ()
    """Workers elsewhere that hold everything that is left."""

    services: tuple[Held, ...] = ()
    """Services that are not asked for a while, because they refused."""


@dataclass(frozen=True)
class StageProgress(Value):
    """One stage of one source's label. `left_seconds` is None where nothing can be said.

    `failed` counts what failed in this stage. Where the state of failed items does not tell which stage that was,
    `failed_in_all` of the label's last stage has them.
    """

    source: str
    label: str
    stage: str
    done: int
    total: int
    working: int
    failed: int
    failed_in_all: int
    again: int
    rate: float
    left_seconds: float | None


@dataclass(frozen=True)
class Progress(News):
    """The progress of the work: N of M, rate and time left of each stage, and the reason to wait."""

    stages: tuple[StageProgress, ...]
    waiting: Waiting = Waiting()


Listener = Callable[[News], object]
