"""Removing items from the graph: items that vanished at the source, nodes that nothing refers to any more, or a
whole source.

A large removal goes in steps, each a transaction of its own. If it is killed between or within steps, the next
removal continues with what is left.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence, Set
from typing import Any

from detent.errors import DetentError
from detent.store.database import Connection, Database, fetch
from detent.store.ledger.family import ChangedHands, hold_all
from detent.store.ledger.kinds import LOCK, Kind, Kinds, unknown

MENTIONS_LOCK = 0x0DE7E27_05
_STEP = 1000
_ROUNDS = 50


async def remove_held(connection: Connection, kinds: Kinds, rows: Sequence[Any]) -> int:
    """Remove held items; a worker that has one loses it."""
    if not rows:
        return 0
    lifecycles = {number: (await kinds.by_id(number, connection)).lifecycle for number in {r.kind_id for r in rows}}
    working = [row.id for row in rows if row.state in lifecycles[row.kind_id].working]
    if working:
        await fetch(connection, "seize", {"ids": working})
    ids = [row.id for row in rows]
    await fetch(connection, "vacate", {"ids": ids})
    removed = await fetch(connection, "remove_items", {"ids": ids})
    return int(removed[0].count)


class Removal:
    def __init__(self, database: Database, kinds: Kinds) -> None:
        self._database = database
        self._kinds = kinds

    async def remove(self, kind: Kind, keys: Sequence[str]) -> int:
        """Remove items that vanished at the source, with everything that belongs to them; return their number."""
        removed = 0
        for start in range(0, len(keys), _STEP):
            some = keys[start : start + _STEP]
            found = await self._database.fetch("find", {"kinds": [kind.id] * len(some), "keys": list(some)})
            removed += await self._remove([row.id for row in found])
        return removed

    async def remove_others(self, kind: Kind, named: Set[str], unseen: Sequence[str] = ()) -> int:
        """Remove the items of a kind whose keys are none of these, with everything that belongs to them; return
        their number.

        Items that belong to another item, and shared nodes, are left alone: they are removed with their owners.
        Items whose key is in `unseen`, or continues such a key with `/`, stay.
        """
        inside = tuple(f"{key}/" for key in unseen)
        removed, after = 0, ""
        while rows := await self._database.fetch("own_keys", {"kind": kind.id, "after": after, "limit": 10 * _STEP}):
            after = rows[-1].key
            gone = [row.key for row in rows if row.key not in named and not f"{row.key}/".startswith(inside)]
            removed += await self.remove(kind, gone)
        return removed

    async def sweep(self) -> int:
        """Remove shared nodes that nothing refers to any more; return their number. While mentions are being
        written, it is left to the next sweep."""
        removed = after = 0
        while True:
            async with self._database.transaction() as connection:
                if not (await fetch(connection, "lock_mentions_alone", {"lock": MENTIONS_LOCK}))[0].free:
                    return removed
                found = await fetch(connection, "unmentioned", {"after": after, "limit": _STEP})
                if not found:
                    return removed
                after = found[-1].item_id
                try:
                    async with connection.transaction():
                        family = await hold_all(connection, [row.item_id for row in found])
                        removed += await remove_held(connection, self._kinds, family.all())
                except ChangedHands:
                    continue  # another transaction has one of them; the next sweep finds them again

    async def remove_source(self, name: str) -> AsyncGenerator[int, None]:
        """Remove a source with everything it brought; yield the number of items removed after each step."""
        found = await self._database.fetch("begin_removing", {"name": name})
        if not found:
            raise unknown("source", name, [row.name for row in await self._database.fetch("sources")])
        source, removed, dropped = found[0].id, 0, False
        while not dropped:
            while rows := await self._database.fetch("items_to_remove", {"source": source, "limit": _STEP}):
                removed += await self._remove([row.id for row in rows])
                yield removed
            dropped = await self._drop(source)
        await self._kinds.refresh()

    async def _drop(self, source: int) -> bool:
        """Drop a source without items, locked against declarations and new references; False: items were added
        meanwhile."""
        async with self._database.transaction() as connection:
            await fetch(connection, "lock_source", {"source": source})
            await fetch(connection, "lock_lifecycles", {"lock": LOCK})
            if await fetch(connection, "items_to_remove", {"source": source, "limit": 1}):
                return False
            await fetch(connection, "drop_source", {"source": source})
            return True

    async def _remove(self, ids: Sequence[int]) -> int:
        for _ in range(_ROUNDS):
            try:
                async with self._database.transaction() as connection:
                    family = await hold_all(connection, ids)
                    return await remove_held(connection, self._kinds, family.all())
            except ChangedHands:
                continue
        raise DetentError("Others keep taking an item to be removed. Stop the workers, and try again.")
