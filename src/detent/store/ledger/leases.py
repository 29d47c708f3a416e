"""Leases: claiming a batch of work, renewing it, releasing it, and rescuing it from dead workers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from detent.knowledge import Item
from detent.knowledge.value import Value
from detent.lifecycle import Event, Lifecycle, Trouble, after_death
from detent.store.database import Connection, Database, fetch
from detent.store.ledger.kinds import Kind, Kinds

_FROM_THE_BEGINNING = (-(2**31), -1)
_NOWHERE = (2**31 - 1, 2**63 - 1)
_SHARE_OF_TIME_SPENT_LOOKING = 0.05
_LONGEST_SECONDS = 5.0
_SHORT_SECONDS = 0.05
"""An empty look that took no longer than this is repeated whenever a worker asks: it may have been notified of new
work."""
_DOUBTFUL_SECONDS = 0.2
_MOST_ATTEMPTS = 2**15 - 1
_LEASES_AT_ONCE = 100


@dataclass(frozen=True)
class Stage:
    """A waiting state of a lifecycle, with everything that a claim from it needs."""

    lifecycle: Lifecycle
    waiting: str
    max_attempts: int = 3

    @property
    def working(self) -> str:
        return self.lifecycle.claimed(self.waiting)

    @property
    def name(self) -> str:
        return f"{self.lifecycle.name}.{self.working}"


@dataclass
class Cursor:
    """The position where a worker last found work, so that it need not scan the places it has already taken.

    PostgreSQL cannot forget taken places while an old transaction is open, and scanning them from the beginning
    costs more with each claim. So after a scan from the beginning that took t seconds, the next scans continue
    after the last claim, and are skipped where there was nothing, for twenty times t, or five seconds. Order and
    promptness suffer by that much at most, and scanning costs a twentieth of the time where it is quick and a
    small part of it where it is not.
    """

    positions: dict[int, tuple[int, int]] = field(default_factory=dict)
    trusted_until: float = 0.0
    took: float = 0.0

    def doubt(self) -> None:
        """Note that there is work that was not found: scan from the beginning again, unless that takes long."""
        if self.took < _DOUBTFUL_SECONDS:
            self.trusted_until = 0.0

    def position(self, kind: int, now: float) -> tuple[int, int]:
        return self.positions.get(kind, _NOWHERE) if now < self.trusted_until else _FROM_THE_BEGINNING

    def remember(self, began: float, ended: float, positions: dict[int, tuple[int, int]]) -> None:
        took = ended - began
        if began >= self.trusted_until:
            self.positions.clear()
            self.took = took
            looks_again_at_once = not positions and took < _SHORT_SECONDS
            trusted = min(took / _SHARE_OF_TIME_SPENT_LOOKING, _LONGEST_SECONDS)
            self.trusted_until = 0.0 if looks_again_at_once else ended + trusted
        elif self.positions and not positions:
            self.trusted_until = 0.0
        self.positions.update(positions)


@dataclass(frozen=True)
class Holder(Value):
    """A worker that holds items: their number, the number of its leases, and the earliest deadline."""

    owner: str
    leases: int
    items: int
    deadline: datetime
    since: datetime


class Leases:
    """The verbs of leased work."""

    def __init__(self, database: Database, kinds: Kinds) -> None:
        self._database = database
        self._kinds = kinds

    async def claim(
        self,
        stage: Stage,
        kinds: Sequence[Kind],
        *,
        owner: str,
        limit: int,
        duration: timedelta,
        cursor: Cursor | None = None,
        apart: bool = False,
    ) -> list[Item]:
        """Claim up to `limit` items that wait for this stage, fairly from all the kinds given, under one lease or,
        `apart`, under one each."""
        began = time.monotonic()
        starts = [cursor.position(kind.id, began) if cursor else _FROM_THE_BEGINNING for kind in kinds]
        parameters = stage_parameters(stage) | {
            "kinds": [kind.id for kind in kinds],
            "after_priorities": [priority for priority, _ in starts],
            "after_ids": [number for _, number in starts],
            "owner": owner,
            "limit": limit,
            "duration": duration,
            "apart": apart,
        }
        rows = await self._database.fetch("claim", parameters)
        if cursor:
            reached = {row.kind_id: (row.priority, row.id) for row in rows}
            cursor.remember(began, time.monotonic(), reached)
        by_id, working = {kind.id: kind for kind in kinds}, stage.working
        return [leased(row, by_id[row.kind_id], working) for row in rows]

    async def renew(self, tokens: Iterable[int]) -> set[int]:
        """Renew these leases; return those still held."""
        rows = await self._database.fetch("renew", {"tokens": list(tokens)})
        return {row.token for row in rows}

    async def begin_alone(self, token: int) -> None:
        """Mark the one item held under this token as worked on alone from now on."""
        await self._database.fetch("begin_alone", {"token": token})

    async def rescue(
        self, *, owner: str, tokens: Iterable[int] = (), overdue: bool = True, alone: bool = True
    ) -> dict[int, str]:
        """Take back the items of expired leases, if `overdue`, and of the named leases; return each item's new
        state.

        Each item is then retried alone or, without `alone`, only on its last attempt.
        """
        asked = {"tokens": list(tokens), "overdue": overdue}
        went: dict[int, str] = {}
        while await self._database.fetch("overdue", asked):
            async with self._database.transaction() as connection:
                await fetch(connection, "join_movers")
                locked = await fetch(connection, "lock_overdue", asked | {"limit": _LEASES_AT_ONCE})
                went |= await take_back(connection, [row.token for row in locked], owner=owner, alone=alone)
            if len(locked) < _LEASES_AT_ONCE:  # another rescuer takes the rest, if there is any
                break
        return went

    async def of(self, owner: str) -> list[int]:
        """Return the tokens of this owner's leases."""
        return [row.token for row in await self._database.fetch("leases_of", {"owner": owner})]

    async def held(self, token: int) -> list[Item]:
        """Return the items held under this token."""
        rows = await self._database.fetch("held_items", {"token": token})
        kinds = [await self._kinds.by_id(row.kind_id) for row in rows]
        return [leased(row, kind, row.state)._replace(steps=row.steps) for row, kind in zip(rows, kinds, strict=True)]

    async def workers(self) -> list[Holder]:
        return [Holder(*row) for row in await self._database.fetch("workers")]


class WaysOut(NamedTuple):
    """The targets of unfinished work in one state: back to where it waits, or to failure."""

    back_via: str | None
    back_to: str
    back_again: str | None
    fail_to: str
    fail_kind: str


def ways_out(lifecycle: Lifecycle, working: str) -> WaysOut:
    back = lifecycle.path(working, Event.BACK)
    return WaysOut(
        next(iter(back.via), None),
        back.to,
        lifecycle.anew(back.to),
        lifecycle.path(working, Event.FAIL).to,
        lifecycle.failure_kind(working, Trouble.DIED.value),
    )


async def take_back(connection: Connection, tokens: list[int], *, owner: str, alone: bool) -> dict[int, str]:
    """Take the items of these leases, which the caller has locked, from a dead worker; return each item's new state."""
    held = await fetch(connection, "attempts_held", {"tokens": tokens})
    cases = [
        (row.max_attempts, row.attempt, met_alone, changed)
        for row in held
        for met_alone in (False, True)
        for changed in (False, True)
    ]
    fates = [after_death(tried, most, met_alone=met, changed=anew, alone=alone) for most, tried, met, anew in cases]
    rescued = {
        "owner": owner,
        "tokens": tokens,
        "max_attempts": [most for most, _, _, _ in cases],
        "tried": [tried for _, tried, _, _ in cases],
        "met_alone": [met_alone for _, _, met_alone, _ in cases],
        "changed": [changed for _, _, _, changed in cases],
        "fails": [fate.fails for fate in fates],
        "attempts": [fate.attempt for fate in fates],
        "alone": [fate.alone for fate in fates],
    }
    return {row.id: row.final for row in await fetch(connection, "rescue", rescued)}


def stage_parameters(stage: Stage) -> dict[str, object]:
    """Return the moves that a lease stores, so that a rescuer need not know the lifecycle."""
    working = stage.working
    return {
        "state": stage.waiting,
        "working": working,
        "max_attempts": min(stage.max_attempts, _MOST_ATTEMPTS),
        **ways_out(stage.lifecycle, working)._asdict(),
    }


def leased(row: Any, kind: Kind, state: str) -> Item:
    return Item(
        row.id,
        kind.source,
        kind.label,
        row.key,
        kind.lifecycle.name,
        state,
        row.token,
        row.attempt,
        row.priority,
        row.content_hash,
        row.checkpoint,
        row.alone,
        row.put_off,
    )
