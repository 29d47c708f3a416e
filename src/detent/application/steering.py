"""The verbs of steering: driving items by hand to states that a program names, as `db.steering` offers them.

They are for programs that have a state machine of their own, such as `detent.interfaces`. Nothing here bends the rules:
an illegal move is refused, and items under way are moved by whoever holds their lease.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from detent.knowledge.value import Value
from detent.store import Stage
from detent.store.ledger.kinds import unknown

if TYPE_CHECKING:
    from detent.knowledge import Item, Outcome, Step
    from detent.lifecycle import Lifecycle, RetryPolicy
    from detent.store import Kind, Receipt, Store
    from detent.store.ledger.steering import ItemRecord, Remark


@dataclass(frozen=True)
class Found(Value):
    """An item of a kind, as it is now."""

    id: int
    kind_id: int
    key: str
    state: str
    content_hash: str | None


class AsyncSteering:
    """Drives items by hand, to states that the program names."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def declare(self, source: str, label: str, lifecycle: Lifecycle) -> Kind:
        """Declare a source's label, with the lifecycle that its items follow; returns their kind."""
        return await self._store.declare(source, label, lifecycle)

    async def kinds(
        self, lifecycles: Collection[str], *, source: str | None = None, label: str | None = None
    ) -> list[Kind]:
        """The kinds of items that follow these lifecycles, of a source and with a label; none if there are none."""
        return [
            kind
            for kind in await self._store.kinds.select()
            if kind.lifecycle.name in lifecycles and source in (None, kind.source) and label in (None, kind.label)
        ]

    async def find(self, names: Iterable[tuple[Kind, str]]) -> list[Found]:
        """The items of these kinds that have these keys; those that do not exist are left out."""
        rows = await self._store.steering.find(names)
        return [Found(row.id, row.kind_id, row.key, row.state, row.content_hash) for row in rows]

    async def claim_each(
        self, kind: Kind, state: str, *, owner: str, limit: int, lease_seconds: float, max_attempts: int
    ) -> list[Item]:
        """Claim up to `limit` items of a kind that wait in `state`, each under a lease of its own."""
        stage = Stage(kind.lifecycle, state, max_attempts)
        await self._store.bounds.let_in([kind], state, limit)
        return await self._store.claim(
            stage, owner=owner, limit=limit, lease_seconds=lease_seconds, kinds=[kind], apart=True
        )

    async def take(
        self,
        remarks: Mapping[int, Remark],
        lifecycle: Lifecycle,
        state: str,
        *,
        owner: str,
        lease_seconds: float,
        max_attempts: int,
    ) -> list[Item]:
        """Claim exactly these items, where they wait in `state`, under one lease per kind; returns those claimed."""
        stage = Stage(lifecycle, state, max_attempts)
        return await self._store.steering.take(remarks, stage, owner=owner, lease_seconds=lease_seconds)

    async def send(self, remarks: Mapping[int, Remark], state: str, to: str, *, owner: str) -> list[int]:
        """Move items that rest in one state to another; returns those moved."""
        return await self._store.steering.send(remarks, state, to, owner=owner)

    async def finish(self, ends: Sequence[tuple[Item, str, Remark]]) -> list[Receipt]:
        """Take items out of work, each to a state that means success or failure."""
        return await self._store.steering.settle(ends)

    async def settle(self, outcomes: Sequence[tuple[Item, Outcome | Step]], policy: RetryPolicy) -> list[Receipt]:
        """Write the outcomes of items by a retry policy of the program's own."""
        return await self._store.settle(outcomes, policy)

    async def move(self, ids: Sequence[int], to: str, *, owner: str) -> list[int]:
        """Move items at rest to another state at rest; returns those moved."""
        return await self._store.items.move(ids, to, owner=owner)

    async def retry(
        self, kinds: Sequence[Kind], state: str, to: str, *, owner: str, error_kind: str | None, below: int
    ) -> int:
        """Retry failed items that have fewer than `below` failed attempts; returns how many."""
        return await self._store.steering.retry(kinds, state, to, owner=owner, error_kind=error_kind, below=below)

    async def mark_changed(self, kind: Kind, hashes: Mapping[str, str], *, owner: str) -> int:
        """Send items of a kind whose content hash has changed back to be worked on; returns how many."""
        return await self._store.items.mark_changed(kind, hashes, owner=owner)

    async def reclaim(
        self, kinds: Sequence[Kind], *, owner: str, silent_seconds: float | None = None, alone: bool = True
    ) -> dict[int, str]:
        """Take back the items of owners that have been silent for so long; returns the state of each.

        Default: for as long as their lease was to last.
        """
        went = await self._store.steering.reclaim(kinds, owner=owner, silent_seconds=silent_seconds, alone=alone)
        await self._store.tallies.fold()
        return went

    async def heard(self, tokens: Iterable[int]) -> dict[int, datetime]:
        """The time when the owner of each lease was last heard of; leases that are lost are left out."""
        return await self._store.steering.heard(tokens)

    async def progress(self, ids: Sequence[int]) -> dict[int, ItemRecord]:
        """The failed attempts, embeddings and times of arrival of items."""
        return await self._store.steering.progress(ids)


def require_name(what: str, name: str, known: Collection[str]) -> None:
    """Refuse a name that is none of those known, with a suggestion."""
    if name not in known:
        raise unknown(what, name, known)


def owner_name(role: str) -> str:
    """A name that no other owner of leases has."""
    from detent.worker.names import worker_name

    return worker_name(role=role)
