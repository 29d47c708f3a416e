"""Settling: the one place where outcomes of work are written, each in full or not at all, fenced by the lease's
token."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import psycopg

from detent.errors import DatabaseBusy, DetentError, IllegalMove, ModelRetired, UnknownName, Unstorable
from detent.knowledge import Done, Item, Product
from detent.store import arrays
from detent.store.database import Connection, Database, fetch
from detent.store.graph.writing import Graph
from detent.store.ledger.family import ChangedHands, Family
from detent.store.ledger.kinds import Kinds
from detent.store.ledger.leases import WaysOut, ways_out
from detent.store.ledger.verdict import Verdict, refused, released
from detent.store.vectors.embeddings import STAGE, VectorsGone

_LARGEST = 16_000_000
_ROUNDS = 50
"""Attempts per batch when something that belongs to it changes hands at that moment."""
_LINE = 200
"""Characters: the limit of one statement, apart from its last item, and the estimate for a link or a found item."""


class Settled(StrEnum):
    """The result of one outcome."""

    APPLIED = "applied"
    ALREADY = "already"
    """It was applied before; the answer to the first call was lost."""
    LOST = "lost"
    """The lease was lost; nothing was written."""
    REFUSED = "refused"
    """The handler's result is invalid; the item failed with that reason."""


class Receipt(NamedTuple):
    """The result for one item: whether its outcome was applied, its present state, and the reason if it was not."""

    item: Item
    status: Settled
    state: str | None = None
    reason: str | None = None

    def as_data(self) -> dict[str, Any]:
        """Return the receipt for JSON."""
        item = {name: getattr(self.item, name) for name in ("id", "source", "label", "key")}
        return {"item": item, "status": str(self.status), "state": self.state, "reason": self.reason}


class Moved(NamedTuple):
    """A moved item: its present state, and its present count of attempts."""

    final: str
    counted: int


class Applied(NamedTuple):
    """The moves of a statement: everything as requested except the named items; or only the named items."""

    everything: bool
    named: Mapping[int, Moved]

    def of(self, verdict: Verdict) -> Moved | None:
        moved = self.named.get(verdict.item.id)
        return Moved(verdict.path.to, verdict.attempt) if moved is None and self.everything else moved


class Way(NamedTuple):
    """The way an item leaves work: the columns of `settle`'s input that most items of a batch share."""

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
        """Settle a batch in one transaction; in parts if it is large, and one by one if the database refuses
        something in it.

        A refusal is any error that does not pass. Passing errors are raised as DatabaseAway or DatabaseBusy, and
        are no item's fault.
        """
        if not verdicts:
            return []
        if len({verdict.item.id for verdict in verdicts}) < len(verdicts):
            return await self._in_turn(verdicts)
        receipts: list[Receipt] = []
        for part in _parts(verdicts):
            receipts += await self._settle_part(part)
        return receipts

    async def _settle_part(self, verdicts: Sequence[Verdict]) -> list[Receipt]:
        verdicts = [await self._vet(verdict) if _names_kinds(verdict) else verdict for verdict in verdicts]
        try:
            return await self._together(verdicts)
        except DatabaseBusy as busy:
            if len(verdicts) == 1 or not _may_be_too_much(busy):
                raise
            return await self._halves(verdicts)
        except VectorsGone as gone:
            return await self._settle_part([self._embedded_after_all(verdict, gone) for verdict in verdicts])
        except (
            UnknownName
        ):  # a source that was removed meanwhile: an outcome that names it is refused, unless it is back
            await self._kinds.refresh()
            return await self._settle_part(verdicts)
        except ChangedHands as error:
            if len(verdicts) == 1:
                raise DatabaseBusy(f"others keep taking what belongs to {verdicts[0].item}") from error
            return await self._halves(verdicts)
        except Exception as error:
            return await self._one_by_one(verdicts, error)

    async def _one_by_one(self, verdicts: Sequence[Verdict], error: Exception) -> list[Receipt]:
        """Settle each outcome on its own, so that an invalid one fails only its own item; a vector that can be
        made again fails none."""
        if isinstance(error, ModelRetired) and any(map(_renewable, verdicts)):
            return await self._settle_part([self._embedded_anew(verdict, error) for verdict in verdicts])
        if isinstance(error, DetentError) and not isinstance(error, (Unstorable, ModelRetired)):
            raise error
        if len(verdicts) > 1:
            return [receipt for verdict in verdicts for receipt in await self._settle_part([verdict])]
        if verdicts[0].refused is not None:
            raise error
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        lifecycle = self._kinds.lifecycles[verdicts[0].item.lifecycle]
        return await self._together([refused(verdicts[0].item, lifecycle, reason)])

    async def _halves(self, verdicts: Sequence[Verdict]) -> list[Receipt]:
        middle = len(verdicts) // 2
        return [*await self._settle_part(verdicts[:middle]), *await self._settle_part(verdicts[middle:])]

    def _embedded_anew(self, verdict: Verdict, retired: ModelRetired) -> Verdict:
        """Send an item back to be embedded with the current model."""
        if not _renewable(verdict):
            return verdict
        return released(verdict.item, self._kinds.lifecycles[verdict.item.lifecycle], str(retired).rstrip("."))

    def _embedded_after_all(self, verdict: Verdict, gone: VectorsGone) -> Verdict:
        """Send an item whose vector is gone back to be embedded."""
        embedding = verdict.done.embedding if verdict.done is not None else None
        if embedding is None or embedding.vector is not None or embedding.hash not in gone.hashes:
            return verdict
        lifecycle = self._kinds.lifecycles[verdict.item.lifecycle]
        return released(verdict.item, lifecycle, "the vector that its text had is gone")

    async def _in_turn(self, verdicts: Sequence[Verdict]) -> list[Receipt]:
        """Settle a batch in which an item occurs more than once: first all first verdicts, then the next."""
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
        """Refuse an outcome that names unknown kinds of items."""
        try:
            await self._graph.check(verdict.item, verdict.done or Done())
        except (UnknownName, IllegalMove) as error:
            lifecycle = self._kinds.lifecycles[verdict.item.lifecycle]
            return refused(verdict.item, lifecycle, str(error).rstrip("."))
        return verdict

    async def _together(self, verdicts: Sequence[Verdict]) -> list[Receipt]:
        if self._is_plain(verdicts):
            rows = await self._database.fetch("settle", self._parameters(verdicts))
            if not rows[0].behind:
                return await self._receipts(verdicts, _applied(verdicts, rows))
        for _ in range(_ROUNDS):
            with contextlib.suppress(ChangedHands):
                return await self._receipts(verdicts, await self._in_a_transaction(verdicts))
        raise ChangedHands

    async def _in_a_transaction(self, verdicts: Sequence[Verdict]) -> Applied:
        produced = [(verdict.item, verdict.done) for verdict in verdicts if verdict.done is not None]
        async with self._database.transaction() as connection:
            family = await self._graph.hold(connection, produced, [verdict.item.token for verdict in verdicts])
            applied = await self._move(connection, verdicts)
            await self._write(connection, verdicts, applied, family)
        return applied

    async def _move(self, connection: Connection, verdicts: Sequence[Verdict]) -> Applied:
        """Move items out of work; a step moves them within it."""
        ends = [verdict for verdict in verdicts if not verdict.stays]
        steps = [verdict for verdict in verdicts if verdict.stays]
        if not steps:
            return await self._end(connection, ends)
        stepped = {row.id for row in await fetch(connection, "step", self._step_parameters(steps))}
        ended = await self._end(connection, ends) if ends else Applied(True, {})
        if ended.everything and len(stepped) == len(steps):
            return ended
        moved = [(verdict, ended.of(verdict)) for verdict in ends]
        moved += [(verdict, Moved(verdict.path.to, verdict.attempt)) for verdict in steps if verdict.item.id in stepped]
        return Applied(False, {verdict.item.id: found for verdict, found in moved if found is not None})

    async def _end(self, connection: Connection, verdicts: Sequence[Verdict]) -> Applied:
        rows = await fetch(connection, "settle", self._parameters(verdicts))
        if rows[0].behind:
            rows = await fetch(connection, "settle", self._parameters(verdicts))
        return _applied(verdicts, rows)

    def _step_parameters(self, verdicts: Sequence[Verdict]) -> dict[str, object]:
        items = [verdict.item for verdict in verdicts]
        ways = [ways_out(self._kinds.lifecycles[verdict.item.lifecycle], verdict.path.to) for verdict in verdicts]
        return {
            "tokens": [item.token for item in items],
            "steps": [item.steps for item in items],
            "ids": [item.id for item in items],
            "states": [item.state for item in items],
            "vias": [" ".join(verdict.path.via) or None for verdict in verdicts],
            "tos": [verdict.path.to for verdict in verdicts],
            "tried": [item.attempt for item in items],
            "hashes": [verdict.done.content_hash if verdict.done else None for verdict in verdicts],
            "notes": [verdict.reason for verdict in verdicts],
            **{f"{name}s": [getattr(way, name) for way in ways] for name in WaysOut._fields},
        }

    def _is_plain(self, verdicts: Sequence[Verdict]) -> bool:
        """True if nothing but the moves is written, so that one statement does it all."""
        return all(
            verdict.error is None
            and not _has_no_meaning(verdict)
            and not _failed_before(verdict.item)
            and (verdict.done is None or not verdict.done.carries_data)
            and not verdict.stays
            for verdict in verdicts
        )

    async def _write(
        self, connection: Connection, verdicts: Sequence[Verdict], applied: Applied, family: Family
    ) -> None:
        moved = [(verdict, found) for verdict in verdicts if (found := applied.of(verdict)) is not None]
        await _keep_failures(connection, moved)
        meaningless = [verdict.item.id for verdict, _ in moved if _has_no_meaning(verdict)]
        if meaningless:
            await fetch(connection, "forget_embeddings", {"ids": meaningless})
        done = [(verdict.item, verdict.done) for verdict, _ in moved if verdict.done is not None]
        await self._graph.write(connection, done, family)

    def _parameters(self, verdicts: Sequence[Verdict]) -> dict[str, object]:
        """Return the statement's parameters. Most verdicts of a batch are alike, so a few ways are sent, with the
        items of each."""
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
            via=" ".join(path.via) or None,
            to=path.to,
            again=self._kinds.lifecycles[item.lifecycle].anew(path.to),
            tried=item.attempt,
            attempt=verdict.attempt,
            delay=verdict.delay_seconds,
            hash=verdict.done.content_hash if verdict.done else None,
            reason=verdict.reason,
            keep_token=not verdict.released,
            alone=verdict.alone,
        )

    async def _receipts(self, verdicts: Sequence[Verdict], applied: Applied) -> list[Receipt]:
        if applied.everything and not applied.named:
            return [Receipt(verdict.item, _status(verdict), verdict.path.to, verdict.refused) for verdict in verdicts]
        missing = [verdict.item.id for verdict in verdicts if applied.of(verdict) is None]
        found = await self._database.fetch("unsettled", {"ids": missing}) if missing else []
        present = {row.id: row for row in found}
        return [_receipt(verdict, applied.of(verdict), present) for verdict in verdicts]


def _applied(verdicts: Sequence[Verdict], rows: Sequence[Any]) -> Applied:
    named = {row.id: Moved(row.final, row.counted) for row in rows if row.id is not None}
    return Applied(rows[0].moved == len(verdicts), named)


def _parts(verdicts: Sequence[Verdict]) -> list[Sequence[Verdict]]:
    """Split the batch into parts small enough for one statement, each with at least one item."""
    parts: list[Sequence[Verdict]] = []
    start = size = 0
    for number, verdict in enumerate(verdicts):
        size += _size(verdict.done)
        if size > _LARGEST and number > start:
            parts.append(verdicts[start:number])
            start, size = number, _size(verdict.done)
    return [*parts, verdicts[start:]]


def _size(done: Product | None) -> int:
    """Estimate the number of characters written for the large values."""
    if done is None or not done.carries_data:
        return 0
    children, own = done.children or (), [done.node] if done.node else []
    nodes = [*own, *(child.node for child in children), *(mention.node for mention in done.mentions)]
    links = len(done.references or ()) + sum(len(child.references) for child in children)
    return sum(len(node.text) for node in nodes) + _LINE * (len(nodes) + len(done.found) + links)


def _may_be_too_much(busy: DatabaseBusy) -> bool:
    """True if fewer items may succeed where these did not: the time or the memory for a statement ran out."""
    cause = busy.__cause__
    return isinstance(cause, psycopg.Error) and cause.sqlstate in ("57014", "25P04", "53200")


def _failed_before(item: Item) -> bool:
    """True if a failure may be on record: not for a first attempt, unless a worker died of the item or its
    neighbours, or an attempt did not count."""
    return item.attempt > 1 or item.alone or item.put_off


def _has_no_meaning(verdict: Verdict) -> bool:
    """True if the item's text has nothing to embed: the vector of the previous text must not stay."""
    return verdict.skipped and verdict.item.state == STAGE


def _renewable(verdict: Verdict) -> bool:
    """True if the verdict has a vector that can be made again, with another model."""
    return verdict.done is not None and verdict.done.embedding is not None and verdict.done.embedding.renewable


def _names_kinds(verdict: Verdict) -> bool:
    return verdict.done is not None and Graph.names_kinds(verdict.done)


def _shared(verdict: Verdict) -> tuple[object, ...]:
    """Return the values that two verdicts must share to go the same way."""
    item, path, attempt, reason, delay, _, done, released, _, alone, _, _ = verdict
    content = done.content_hash if done is not None else None
    return item.token, item.lifecycle, item.state, item.attempt, path, attempt, reason, delay, content, released, alone


async def _keep_failures(connection: Connection, moved: Sequence[tuple[Verdict, Moved]]) -> None:
    """Record the failures of items, and remove those of items that succeeded, or whose content changed."""
    errors = [
        (verdict.item, verdict.error)
        for verdict, now in moved
        if verdict.error is not None and not _began_anew(verdict, now)
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
    over = [
        verdict.item.id
        for verdict, now in moved
        if _failed_before(verdict.item) and (_succeeded(verdict) or _began_anew(verdict, now))
    ]
    if over:
        await fetch(connection, "forget_failures", {"ids": over})


def _succeeded(verdict: Verdict) -> bool:
    """True if the stage, or a step of it, succeeded."""
    return verdict.error is None and not verdict.released


def _began_anew(verdict: Verdict, now: Moved) -> bool:
    """True if the attempts are counted otherwise than the verdict says: the content changed."""
    return now.counted != verdict.attempt


def _status(verdict: Verdict) -> Settled:
    return Settled.APPLIED if verdict.refused is None else Settled.REFUSED


def _receipt(verdict: Verdict, moved: Moved | None, present: Mapping[int, Any]) -> Receipt:
    item = verdict.item
    if moved is not None:
        return Receipt(item, _status(verdict), moved.final, verdict.refused)
    found = present.get(item.id)
    if found is not None and found.token == item.token:
        applied = found.steps > item.steps if verdict.stays else found.state != item.state
        if applied:
            return Receipt(item, Settled.ALREADY, found.state)
    state = found.state if found is not None else None
    return Receipt(item, Settled.LOST, state, f"{item} is no longer held under token {item.token}")
