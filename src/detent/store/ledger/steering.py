"""Steering: moves to named states, for a program that drives items through their lifecycle by hand.

The rules are the same: moving an item at rest takes its place, moving one under way takes its token. A working
state is entered by taking the item under a lease, like any claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from detent.knowledge import Done, Embedding, Item
from detent.lifecycle import Event, Trouble
from detent.store.database import Connection, Database, fetch
from detent.store.ledger.bounds import Boundaries
from detent.store.ledger.items import Items, move_held
from detent.store.ledger.kinds import Kind, Kinds
from detent.store.ledger.leases import Stage, leased, stage_parameters, take_back
from detent.store.ledger.settling import Receipt, Settling
from detent.store.ledger.verdict import Verdict, failed
from detent.store.values import check_key, check_text
from detent.store.vectors.embeddings import note_embeddings

_AT_ONCE = 1000


class Remark(NamedTuple):
    """Data about an item beside the state it goes to."""

    content_hash: str | None = None
    error_kind: str | None = None
    message: str | None = None
    embedding: Embedding | None = None


class ItemRecord(NamedTuple):
    """Data about an item beside its state. `retried` counts the failed attempts of its earlier rounds."""

    retried: int
    embedding: Embedding
    arrivals: Mapping[str, datetime]


class Steering:
    """The verbs of driving by hand."""

    def __init__(
        self, database: Database, kinds: Kinds, items: Items, boundaries: Boundaries, settling: Settling
    ) -> None:
        self._database = database
        self._kinds = kinds
        self._items = items
        self._boundaries = boundaries
        self._settling = settling

    async def find(self, names: Iterable[tuple[Kind, str]]) -> list[Any]:
        """Return the items with these kinds and keys."""
        wanted = [(kind.id, key) for kind, key in names]
        for _, key in wanted:
            check_key("a key", key)
        parameters = {"kinds": [kind for kind, _ in wanted], "keys": [key for _, key in wanted]}
        return await self._database.fetch("find", parameters)

    async def take(
        self, remarks: Mapping[int, Remark], stage: Stage, *, owner: str, lease_seconds: float
    ) -> list[Item]:
        """Take these items, if they wait for the stage, under one lease per kind; return those taken.

        A held-back item is taken if there is room for it.
        """
        _check(remarks.values())
        taken, held_back = await self._take(remarks, stage, owner, timedelta(seconds=lease_seconds))
        if not held_back:
            return taken
        await self._boundaries.admit(held_back)
        admitted = {number: remarks[number] for number in held_back}
        return [*taken, *(await self._take(admitted, stage, owner, timedelta(seconds=lease_seconds)))[0]]

    async def _take(
        self, remarks: Mapping[int, Remark], stage: Stage, owner: str, duration: timedelta
    ) -> tuple[list[Item], list[int]]:
        """Take these items; return those taken, and the numbers of those that are held back."""
        taken: list[Item] = []
        held_back: list[int] = []

        async def take(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            waiting = [row for row in rows if row.state == stage.waiting]
            held_back.extend(row.id for row in waiting if row.held_back)
            ids = [row.id for row in waiting if not row.held_back]
            if not ids:
                return []
            vacated = await fetch(connection, "vacate", {"ids": ids})
            parameters = stage_parameters(stage) | {
                "ids": ids,
                "suspects": [row.item_id for row in vacated if row.alone],
                "hashes": [remarks[number].content_hash for number in ids],
                "owner": owner,
                "duration": duration,
            }
            found = await fetch(connection, "take", parameters)
            taken.extend(leased(row, kind, stage.working) for row in found)
            await _note(connection, ids, remarks)
            return ids

        await self._items.hold_each(remarks, take)
        return taken, held_back

    async def settle(self, ends: Sequence[tuple[Item, str, Remark]]) -> list[Receipt]:
        """Take items out of work, to a state that means success or failure; legal moves only."""
        _check(remark for _, _, remark in ends)
        return await self._settling.settle([self._verdict(*end) for end in ends])

    def _verdict(self, item: Item, to: str, remark: Remark) -> Verdict:
        lifecycle = self._kinds.lifecycles[item.lifecycle]
        done = Done(content_hash=remark.content_hash, embedding=remark.embedding)
        if to not in lifecycle.failures:
            path = lifecycle.path(item.state, Event.DONE, to, item=str(item))
            return Verdict(item, path, 0, done=done)
        verdict = failed(item, lifecycle, Trouble.UNKNOWN, remark.message or "")
        if remark.error_kind is not None and verdict.error is not None:
            verdict = verdict._replace(error=verdict.error._replace(kind=remark.error_kind))
        return verdict._replace(done=done)

    async def send(
        self, remarks: Mapping[int, Remark], state: str, to: str, *, owner: str, reason: str | None = None
    ) -> list[int]:
        """Move items from one resting state to another; return those moved.

        Their attempts are reset. Those of failed items are carried over to `retried`.
        """
        _check(remarks.values())

        async def send(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            resting = [row for row in rows if row.state == state and kind.lifecycle.allows(state, to)]
            ids = [row.id for row in resting]
            if state in kind.lifecycle.failures:
                await fetch(connection, "carry_attempts", {"ids": ids})
            hashes = {number: said for number in ids if (said := remarks[number].content_hash) is not None}
            targets = dict.fromkeys(ids, to)
            await move_held(
                connection, kind.lifecycle, resting, targets, owner=owner, reason=reason, forgiven=True, hashes=hashes
            )
            await _note(connection, ids, remarks)
            return ids

        return await self._items.hold_each(remarks, send)

    async def refer(self, kind: Kind, key: str, type_: str, targets: Sequence[str]) -> None:
        """Add references from an item to others of its kind, whatever its state; does nothing if the item does not
        exist.

        A worker that writes the item's references later replaces them.
        """
        for target in targets:
            check_key("a key", target)

        async def refer(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            for row in rows:
                named = {"id": row.id, "type": type_, "kind": kind.id, "keys": list(targets)}
                await fetch(connection, "add_references", named)
            return [row.id for row in rows]

        await self._items.hold_each([row.id for row in (await self._items.find(kind, [key])).values()], refer)

    async def retry(
        self, kinds: Sequence[Kind], state: str, to: str, *, owner: str, error_kind: str | None, below: int
    ) -> int:
        """Retry failed items with fewer than `below` failed attempts; return their number."""
        count = 0
        wanted = {"kinds": [kind.id for kind in kinds], "state": state, "error_kind": error_kind, "below": below}
        while True:
            rows = await self._database.fetch("retriable", wanted | {"limit": _AT_ONCE})
            remarks = {row.id: Remark() for row in rows}
            count += len(await self.send(remarks, state, to, owner=owner, reason="retried by hand"))
            if len(rows) < _AT_ONCE:
                return count

    async def heard(self, tokens: Iterable[int]) -> dict[int, datetime]:
        """Return the time of the last heartbeat of each of these leases' holders; lost leases are left out."""
        rows = await self._database.fetch("heard", {"tokens": list(tokens)})
        return {row.token: row.at for row in rows}

    async def reclaim(
        self, kinds: Sequence[Kind], *, owner: str, silent_seconds: float | None = None, alone: bool = True
    ) -> dict[int, str]:
        """Take back the items of these kinds from holders silent for this long, or beyond the duration of their
        lease; return each item's new state."""
        went: dict[int, str] = {}
        wanted = {"kinds": [kind.id for kind in kinds], "seconds": silent_seconds, "limit": _AT_ONCE}
        while True:
            async with self._database.transaction() as connection:
                await fetch(connection, "join_movers")
                tokens = [row.token for row in await fetch(connection, "lock_stale", wanted)]
                went |= await take_back(connection, tokens, owner=owner, alone=alone)
            if len(tokens) < _AT_ONCE:
                return went

    async def progress(self, ids: Sequence[int]) -> dict[int, ItemRecord]:
        """Return the data about these items beside their state."""
        wanted = {"ids": list(ids)}
        arrivals: dict[int, dict[str, datetime]] = {}
        for row in await self._database.fetch("arrivals", wanted):
            arrivals.setdefault(row.item_id, {})[row.state] = row.at
        return {
            row.id: ItemRecord(
                row.retried, Embedding(row.provider, row.model, row.content_hash), arrivals.get(row.id, {})
            )
            for row in await self._database.fetch("progress", wanted)
        }


def _check(remarks: Iterable[Remark]) -> None:
    for remark in remarks:
        check_text("the content hash", remark.content_hash)
        check_text("the kind of error", remark.error_kind)
        for said in (remark.embedding or Embedding())[:3]:
            check_text("the data about the embedding", said)


async def _note(connection: Connection, ids: Sequence[int], remarks: Mapping[int, Remark]) -> None:
    said = [(number, embedding) for number in ids if (embedding := remarks[number].embedding) is not None]
    await note_embeddings(connection, said)
