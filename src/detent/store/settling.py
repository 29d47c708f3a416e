"""Settling: the one place where the outcome of work is written, all of it or nothing, under its token."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import psycopg

from detent.errors import IllegalMove, UnknownName
from detent.knowledge import Done, Item
from detent.store import arrays
from detent.store.database import Connection, Database, fetch
from detent.store.graph import Graph
from detent.store.kinds import Kinds
from detent.store.verdict import Verdict, refused


class Settled(StrEnum):
    """What became of one outcome."""

    APPLIED = "applied"
    ALREADY = "already"
    """It had been applied before; the answer to the first call was lost on the way."""
    LOST = "lost"
    """The lease was lost; nothing was written."""
    REFUSED = "refused"
    """What the handler returned cannot be taken; the item failed with that reason."""


class Receipt(NamedTuple):
    """What became of one item: whether its outcome was applied, its state now, and why if it was not."""

    item: Item
    status: Settled
    state: str | None = None
    reason: str | None = None


class Moved(NamedTuple):
    """An item that was moved: its state now, and its attempts as they are counted now."""

    final: str
    counted: int


Applied = Mapping[int, Moved]
"""What was moved, by item."""


class Way(NamedTuple):
    """How an item leaves work: the columns of `settle`'s input that most items of a batch share."""

    token: int
    state: str
    via: str | None
    to: str
    again: str | None
    tried: int
    attempt: int
    delay: float | None
    hash: str | None
    reason: str | None
    keep_token: bool
    alone: bool


class Settling:
    """Writes verdicts."""

    def __init__(self, database: Database, kinds: Kinds, graph: Graph) -> None:
        self._database = database
        self._kinds = kinds
        self._graph = graph

    async def settle(self, verdicts: Sequence[Verdict]) -> list[Receipt]:
        """Settle a batch in one transaction; one by one if the database refuses something in it."""
        if not verdicts:
            return []
        if len({verdict.item.id for verdict in verdicts}) < len(verdicts):
            return await self._in_turn(verdicts)
        verdicts = [await self._vet(verdict) if _names_kinds(verdict) else verdict for verdict in verdicts]
        try:
            return await self._together(verdicts)
        except psycopg.Error as error:
            if not _is_refusal(error):
                raise
            if len(verdicts) > 1:
                return [receipt for verdict in verdicts for receipt in await self.settle([verdict])]
            if verdicts[0].refused is not None:
                raise
            reason = str(error).splitlines()[0]
            lifecycle = self._kinds.lifecycles[verdicts[0].item.lifecycle]
            return await self._together([refused(verdicts[0].item, lifecycle, reason)])

    async def _in_turn(self, verdicts: Sequence[Verdict]) -> list[Receipt]:
        """Settle a batch in which an item comes more than once: the first of its verdicts, then the next."""
        receipts: dict[int, Receipt] = {}
        left = dict(enumerate(verdicts))
        while left:
            first: dict[int, int] = {}
            for position, verdict in left.items():
                first.setdefault(verdict.item.id, position)
            settled = await self.settle([left.pop(position) for position in first.values()])
            receipts.update(zip(first.values(), settled, strict=True))
        return [receipts[position] for position in range(len(verdicts))]

    async def _vet(self, verdict: Verdict) -> Verdict:
        """Refuse an outcome that speaks of kinds of items which do not exist."""
        try:
            await self._graph.check(verdict.item, verdict.done or Done())
        except (UnknownName, IllegalMove) as error:
            lifecycle = self._kinds.lifecycles[verdict.item.lifecycle]
            return refused(verdict.item, lifecycle, str(error).rstrip("."))
        return verdict

    async def _together(self, verdicts: Sequence[Verdict]) -> list[Receipt]:
        if self._is_plain(verdicts):
            rows = await self._database.fetch("settle", self._parameters(verdicts))
            return await self._receipts(verdicts, _applied(verdicts, rows))
        async with self._database.transaction() as connection:
            rows = await fetch(connection, "settle", self._parameters(verdicts))
            applied = _applied(verdicts, rows)
            await self._write(connection, [verdict for verdict in verdicts if verdict.item.id in applied], applied)
        return await self._receipts(verdicts, applied)

    def _is_plain(self, verdicts: Sequence[Verdict]) -> bool:
        """Whether nothing is written but the moves, so that one statement does it all."""
        return all(
            verdict.error is None
            and verdict.item.attempt <= 1
            and (verdict.done is None or not self._graph.carries_data(verdict.done))
            for verdict in verdicts
        )

    async def _write(self, connection: Connection, verdicts: Sequence[Verdict], applied: Applied) -> None:
        await _keep_failures(connection, verdicts, applied)
        done = [(verdict.item, verdict.done) for verdict in verdicts if verdict.done is not None]
        await self._graph.write(connection, done)

    def _parameters(self, verdicts: Sequence[Verdict]) -> dict[str, object]:
        """Most verdicts of a batch are alike, so they are sent as a few ways to go, and who goes them."""
        together: dict[tuple[object, ...], list[Verdict]] = {}
        for verdict in verdicts:
            together.setdefault(_shared(verdict), []).append(verdict)
        groups = list(together.values())
        last = list(itertools.accumulate(map(len, groups)))
        lines = [self._way(group[0]) for group in groups]
        columns = dict(zip(Way._fields, map(list, zip(*lines, strict=True)), strict=True))
        return {
            "leases": sorted({group[0].item.token for group in groups}),
            "ids": arrays.integers(verdict.item.id for group in groups for verdict in group),
            "first": [end - len(group) + 1 for end, group in zip(last, groups, strict=True)],
            "last": last,
            "expected": len(verdicts),
            **columns,
        }

    def _way(self, verdict: Verdict) -> Way:
        item, path = verdict.item, verdict.path
        return Way(
            token=item.token,
            state=item.state,
            via=path.via,
            to=path.to,
            again=self._kinds.lifecycles[item.lifecycle].changed(path.to),
            tried=item.attempt,
            attempt=verdict.attempt,
            delay=verdict.delay_seconds,
            hash=verdict.done.content_hash if verdict.done else None,
            reason=verdict.reason,
            keep_token=not verdict.released,
            alone=verdict.alone,
        )

    async def _receipts(self, verdicts: Sequence[Verdict], applied: Applied) -> list[Receipt]:
        missing = [verdict.item.id for verdict in verdicts if verdict.item.id not in applied]
        found = await self._database.fetch("unsettled", {"ids": missing}) if missing else []
        present = {row.id: (row.token, row.state) for row in found}
        return [_receipt(verdict, applied, present) for verdict in verdicts]


def _applied(verdicts: Sequence[Verdict], rows: Sequence[Any]) -> Applied:
    """What became of each item that was moved: what was asked, but for those that the answer names."""
    named = {row.id: Moved(row.final, row.counted) for row in rows if row.id is not None}
    if rows[0].moved < len(verdicts):
        return named
    return {verdict.item.id: Moved(verdict.path.to, verdict.attempt) for verdict in verdicts} | named


def _names_kinds(verdict: Verdict) -> bool:
    return verdict.done is not None and bool(verdict.done.references or verdict.done.found)


def _shared(verdict: Verdict) -> tuple[object, ...]:
    """What two verdicts must have in common to go the same way."""
    item, path, attempt, reason, delay, _, done, released, _, alone = verdict
    content = done.content_hash if done is not None else None
    return item.token, item.lifecycle, item.state, item.attempt, path, attempt, reason, delay, content, released, alone


async def _keep_failures(connection: Connection, verdicts: Sequence[Verdict], applied: Applied) -> None:
    """Keep why items failed, and forget it of those whose attempts are counted anew: they succeeded, or the
    content that failed is no longer theirs."""
    counted = {verdict.item.id: applied[verdict.item.id].counted for verdict in verdicts}
    errors = [
        (verdict.item, verdict.error) for verdict in verdicts if verdict.error is not None and counted[verdict.item.id]
    ]
    if errors:
        parameters = {
            "ids": [item.id for item, _ in errors],
            "kinds": [error.kind for _, error in errors],
            "troubles": [error.trouble for _, error in errors],
            "states": [item.state for item, _ in errors],
            "messages": [error.message for _, error in errors],
        }
        await fetch(connection, "keep_failures", parameters)
    anew = [verdict.item.id for verdict in verdicts if verdict.item.attempt > 1 and not counted[verdict.item.id]]
    if anew:
        await fetch(connection, "forget_failures", {"ids": anew})


def _is_refusal(error: psycopg.Error) -> bool:
    """Whether the database cannot keep a value: it has the wrong type, breaks a rule, or is too large."""
    too_large = (error.sqlstate or "").startswith("54")
    return too_large or isinstance(error, psycopg.DataError | psycopg.IntegrityError)


def _receipt(verdict: Verdict, applied: Applied, present: dict[int, tuple[int | None, str]]) -> Receipt:
    item = verdict.item
    if item.id in applied:
        status = Settled.APPLIED if verdict.refused is None else Settled.REFUSED
        return Receipt(item, status, applied[item.id].final, verdict.refused)
    token, state = present.get(item.id, (None, ""))
    if token == item.token and state != item.state:
        return Receipt(item, Settled.ALREADY, state)
    return Receipt(item, Settled.LOST, state or None, f"{item} is no longer held under token {item.token}")
