"""Bounds: how deep items may be, and how many may come to rest.

What is deeper than a kind's depth is left out when it is added. Where at most so many may come to rest, items are held
back when they are added, and let in one batch at a time: as many as would be too few if all that are in got there. Who
finds an item nearer than it is known to be says so, and it is drawn nearer later, by somebody who may wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from detent.knowledge import Bounds
from detent.store.database import Connection, Database, fetch
from detent.store.items import Items, tell_changed
from detent.store.kinds import Kind, Kinds

HELD_BACK = datetime(9999, 1, 1, tzinfo=UTC)
"""Until when an item waits that is to be let in."""

_LOCK = 0x0DE7E30
_BY = "its depth"
_ALL = 2**31 - 1


class Boundaries:
    def __init__(self, database: Database, kinds: Kinds, items: Items) -> None:
        self._database = database
        self._kinds = kinds
        self._items = items

    async def set(self, kind: Kind, bounds: Bounds) -> None:
        """Let the items of a kind be followed so far. What could not be followed before goes round again."""
        async with self._database.transaction() as connection:
            await fetch(connection, "lock_bounds", {"kind": kind.id})
            before = (await self._kinds.read(connection, kind.id)).bounds
            named = {"kind": kind.id, "depth": bounds.depth, "most": bounds.most, "state": bounds.state}
            await fetch(connection, "set_bounds", named)
            if before.depth is not None and (bounds.depth is None or bounds.depth > before.depth):
                states = _finding(kind, bounds)
                await fetch(connection, "note_frontier", named | {"depth": before.depth, "states": states})
            named |= {"waiting": kind.lifecycle.initial}
            if bounds.most is not None and (before.most is None or bounds.most < before.most):
                await fetch(connection, "hold_back", named)
            if before.most is not None and bounds.most is None:
                await fetch(connection, "let_in", named | {"limit": _ALL})
        await self._kinds.refresh()

    async def look_again(self, kind: Kind) -> None:
        """Send all that was done round again, because more of what it finds counts now."""
        named = {"kind": kind.id, "depth": 0, "states": _finding(kind, kind.bounds)}
        await self._database.fetch("note_frontier", named)

    async def let_in(self, kinds: Iterable[Kind], limit: int) -> None:
        """Make sure that so many items of each bounded kind can be claimed, as far as there is room for them."""
        for known in kinds:
            kind = await self._kinds.by_id(known.id)
            if kind.bounds.most is None or (await self._look(kind)).ready >= limit:
                continue
            async with self._database.transaction() as connection:
                await fetch(connection, "lock_letting_in", {"lock": _LOCK, "kind": kind.id})
                [seen] = await fetch(connection, "room", _asked(kind))
                if (number := min(seen.room, limit - seen.ready)) > 0:
                    named = {"kind": kind.id, "waiting": kind.lifecycle.initial, "limit": number}
                    await fetch(connection, "let_in", named)

    async def shut_out(self, kind: Kind) -> int:
        """How many items of a kind are held back for which there is no room."""
        seen = await self._look(kind, counted=True)
        return int(seen.held_back - max(0, min(seen.room, seen.held_back)))

    async def draw_nearer(self) -> bool:
        """Give some items the smaller priority that they were found with, and send them round again; returns whether
        there were any."""
        wishes = {row.item_id: row.priority for row in await self._database.fetch("nearer")}
        if not wishes:
            return False

        async def drawn(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            meant = [row for row in rows if wishes[row.id] <= row.priority]
            ids = [row.id for row in meant]
            await fetch(connection, "draw_nearer", {"ids": ids, "priorities": [wishes[number] for number in ids]})
            await tell_changed(connection, kind.lifecycle, meant, {row.id: row.content_hash for row in meant}, _BY)
            return ids

        await self._items.hold_each(wishes, drawn)
        await self._database.fetch("forget_nearer", {"ids": list(wishes), "priorities": list(wishes.values())})
        return True

    async def _look(self, kind: Kind, *, counted: bool = False) -> Any:
        return (await self._database.fetch("room", _asked(kind, counted=counted)))[0]


def _finding(kind: Kind, bounds: Bounds) -> list[str]:
    """The states of items that have found what there is to find."""
    lifecycle = kind.lifecycle
    done = set(lifecycle.states) - lifecycle.waiting - lifecycle.working - lifecycle.failures
    return [bounds.state] if bounds.state else sorted(done)


def _asked(kind: Kind, *, counted: bool = False) -> dict[str, Any]:
    states = [*sorted(kind.lifecycle.working), *([kind.bounds.state] if kind.bounds.state else [])]
    return {"kind": kind.id, "states": states, "waiting": kind.lifecycle.initial, "counted": counted}
