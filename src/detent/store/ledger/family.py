"""Everything that belongs to items being settled, locked before anything is written, as the schema's first rule
requires."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from detent.knowledge import Item
from detent.store import arrays
from detent.store.database import Connection, fetch


class ChangedHands(Exception):
    """An item changed hands while it was being locked; the transaction has to start over."""


class Family:
    """Locked items in their present state, by number and by name."""

    def __init__(self, rows: Iterable[Any] = ()) -> None:
        self._by_id: dict[int, Any] = {}
        self._by_name: dict[tuple[int, str], Any] = {}
        self._by_parent: dict[int | None, list[Any]] = {}
        self.add(rows)

    def all(self) -> list[Any]:
        return list(self._by_id.values())

    def named(self, kind: int, key: str) -> Any | None:
        return self._by_name.get((kind, key))

    def of(self, parent: int) -> list[Any]:
        """Return the items that belong to an item."""
        return self._by_parent.get(parent, [])

    def with_descendants(self, rows: Iterable[Any]) -> list[Any]:
        """Return items, the items that belong to them, and so on."""
        found: dict[int, Any] = {}
        left = list(rows)
        while left:
            row = left.pop()
            if row.id not in found:
                found[row.id] = row
                left += self.of(row.id)
        return list(found.values())

    def add(self, rows: Iterable[Any]) -> None:
        for row in rows:
            self._by_id[row.id] = self._by_name[row.kind_id, row.key] = row
            self._by_parent.setdefault(row.parent_id, []).append(row)


async def hold(
    connection: Connection, parents: Sequence[Item], names: Sequence[tuple[int, str]], tokens: Iterable[int]
) -> Family:
    """Lock the leases under these tokens, which cover everything to be settled, then everything that belongs to
    these items or will belong to them, given by kinds and keys. All leases are locked at once, in their order."""
    await fetch(connection, "join_movers")
    ids = [row.item_id for row in await fetch(connection, "descendants", {"ids": [item.id for item in parents]})]
    ids = sorted({*ids, *(row.id for row in await fetch(connection, "find", asked_by_name(names)))})
    asked = {"tokens": sorted(set(tokens)), "ids": ids}
    leases = {(row.token, row.state) for row in await fetch(connection, "lock_families", asked)}
    return Family(await held(connection, ids, leases))


async def hold_new(connection: Connection, family: Family, names: Sequence[tuple[int, str]]) -> None:
    """Lock items that were added since, by this transaction or by a faster one."""
    unheld = [name for name in names if family.named(*name) is None]
    if unheld:
        ids = [row.id for row in await fetch(connection, "find", asked_by_name(unheld))]
        family.add(await held(connection, ids, set()))


async def hold_all(connection: Connection, ids: Sequence[int]) -> Family:
    """Lock items and everything that belongs to them."""
    await fetch(connection, "join_movers")
    found = [row.item_id for row in await fetch(connection, "descendants", {"ids": list(ids)})]
    numbers = sorted({*ids, *found})
    leases = {(row.token, row.state) for row in await fetch(connection, "hold_leases", {"ids": numbers})}
    return Family(await held(connection, numbers, leases))


async def held(connection: Connection, ids: list[int], leases: set[tuple[int, str]]) -> list[Any]:
    """Lock the places of items whose leases are locked, and read their present state."""
    if not ids:
        return []
    asked = {"ids": arrays.integers(ids)}
    places = {row.item_id for row in await fetch(connection, "hold_places", asked)}
    rows = await fetch(connection, "children", asked)
    if any(row.id not in places and (row.token, row.state) not in leases for row in rows):
        raise ChangedHands
    return rows


def asked_by_name(names: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Return the parameters of `find` for items given by kinds and keys."""
    return {"kinds": arrays.integers(kind for kind, _ in names), "keys": arrays.texts(key for _, key in names)}
