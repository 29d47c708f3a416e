"""Bounds: the depth and breadth to which links are followed, and the number of items that may come to rest.

Items deeper than a kind's depth are left out when they are added, and so are the items that one item finds beyond
the kind's breadth. If the number of items at rest is limited, items are held back when they are added, or when
they leave a state that does not count, and admitted one batch at a time: never more than would fill the room if
all admitted items got there. An item found at a smaller depth than before is recorded, and its priority is lowered
later, by a process that may wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from detent.knowledge import Bounds
from detent.store.database import Connection, Database, fetch
from detent.store.ledger.items import CHUNK, Items, tell_changed
from detent.store.ledger.kinds import Kind, Kinds, hold_kinds

HELD_BACK = datetime(9999, 1, 1, tzinfo=UTC)
"""The time until which a held-back item waits."""

_LOCK = 0x0DE7E30
_BY = "its depth"
_WISHES_AT_ONCE = 1000
_MOST_STALE = 100
_MOST_AVERAGED = 100_000


class StaleClaim(NamedTuple):
    """An item whose lease has expired, with the time of its claim and its depth."""

    key: str
    claimed_at: datetime
    depth: int


class Boundaries:
    def __init__(self, database: Database, kinds: Kinds, items: Items) -> None:
        self._database = database
        self._kinds = kinds
        self._items = items

    async def set(self, kind: Kind, bounds: Bounds) -> None:
        """Set the bounds of a kind.

        Items that could not be followed before are processed again; work under way beyond the limit is finished,
        and no more begins.
        """
        async with self._database.transaction() as connection:
            await fetch(connection, "lock_bounds", {"kind": kind.id})
            before = (await self._kinds.read(connection, kind.id)).bounds
            await fetch(connection, "set_bounds", {"kind": kind.id, **bounds._asdict()})
            if (depth := _frontier(before, bounds)) is not None:
                named = {"kind": kind.id, "depth": depth, "states": _finding(kind, bounds)}
                await fetch(connection, "note_frontier", named)
            if bounds.most is not None:
                await _hold_back(connection, kind)
            elif before.most is not None:
                await _let_all_in(connection, kind)
        await self._kinds.refresh()

    async def set_version(self, kind: Kind, version: str) -> None:
        """Send items made by another version than this back to work, including those in progress."""
        states = [*_finding(kind, kind.bounds), *sorted(kind.lifecycle.working)]
        named = {"kind": kind.id, "version": version, "states": states}
        async with self._database.transaction() as connection:
            if await fetch(connection, "set_version", named):
                await fetch(connection, "note_made", named)
        await self._kinds.refresh()

    async def let_in(self, kinds: Iterable[Kind], state: str, limit: int) -> None:
        """Make up to `limit` items of each bounded kind claimable from a state, as far as there is room. The
        database says which kinds are bounded: a bound may be new."""
        asked = {"state": state, "limit": limit}
        for few in await self._database.fetch("few_ready", asked | {"kinds": [kind.id for kind in kinds]}):
            kind = await self._kinds.by_id(few.id)
            async with self._database.transaction() as connection:
                room = await _settle_room(connection, kind)
                for still in await fetch(connection, "few_ready", asked | {"kinds": [kind.id]}):
                    await _let_in_next(connection, kind, state, min(room, limit - still.ready))

    async def admit(self, ids: Sequence[int]) -> None:
        """Admit the held-back items among these, as far as there is room."""
        rows = [row for row in await self._database.fetch("find_by_id", {"ids": list(ids)}) if row.held_back]
        for number in sorted({row.kind_id for row in rows}):
            kind = await self._kinds.by_id(number)
            async with self._database.transaction() as connection:
                room = await _settle_room(connection, kind)
                await _let_some_in(connection, [row.id for row in rows if row.kind_id == number], room)

    async def shut_out(self, kind: Kind, states: Sequence[str]) -> int:
        """Return the number of a kind's items that are held back in these states for lack of room."""
        [seen] = await self._database.fetch("room", _asked(kind, states))
        return int(seen.held_back - max(0, min(seen.room, seen.held_back)))

    async def mean_depths(self, kind: Kind, states: Sequence[str]) -> dict[str, float]:
        """Return the average depth of a kind's items in each of these states; a limited number of items per state
        counts."""
        parameters = {"kind": kind.id, "states": list(states), "limit": _MOST_AVERAGED}
        return {row.state: row.depth for row in await self._database.fetch("depths", parameters)}

    async def stale_claims(self, kind: Kind) -> list[StaleClaim]:
        """Return items of a kind whose leases have expired, earliest claim first, up to a limit."""
        rows = await self._database.fetch("stale_claims", {"kind": kind.id, "limit": _MOST_STALE})
        return [StaleClaim(row.key, row.claimed_at, row.priority) for row in rows]

    async def draw_nearer(self) -> bool:
        """Lower the priority of some items to the one they were found with, and process them again; return True if
        there were any."""
        ids = [row.item_id for row in await self._database.fetch("nearer", {"limit": _WISHES_AT_ONCE})]
        if not ids:
            return False

        async def drawn(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            taken = await fetch(connection, "take_wishes", {"ids": [row.id for row in rows]})
            wishes = {row.item_id: row.priority for row in taken}
            meant = [row for row in rows if row.id in wishes and wishes[row.id] <= row.priority]
            named = {"ids": [row.id for row in meant], "priorities": [wishes[row.id] for row in meant]}
            await fetch(connection, "draw_nearer", named)
            await tell_changed(connection, kind.lifecycle, meant, {row.id: row.content_hash for row in meant}, _BY)
            return [row.id for row in meant]

        await self._items.hold_each(ids, drawn)
        await self._database.fetch("forget_wishes", {"ids": ids})
        return True


async def reserve_room(connection: Connection, kinds: Iterable[int]) -> None:
    """Reserve the room of the bounded kinds among these until this transaction ends. The caller holds the kinds,
    and no item yet."""
    for bounded in await fetch(connection, "bounded", {"kinds": sorted(kinds)}):
        await fetch(connection, "lock_letting_in", {"lock": _LOCK, "kind": bounded.id})


async def let_in_named(connection: Connection, kind: Kind, keys: Sequence[str]) -> None:
    """Admit the held-back items among these, as far as there is room, which the caller has reserved."""
    if held_back := await fetch(connection, "held_back_among", {"kind": kind.id, "keys": list(keys)}):
        await _let_some_in(connection, [row.id for row in held_back], await _room(connection, kind))


def _frontier(before: Bounds, bounds: Bounds) -> int | None:
    """Return the least depth of items of whose finds the new bounds let more count; None if there are none."""
    if _is_wider(before.breadth, bounds.breadth):
        return 0
    return before.depth if _is_wider(before.depth, bounds.depth) else None


def _is_wider(before: int | None, now: int | None) -> bool:
    return before is not None and (now is None or now > before)


def _finding(kind: Kind, bounds: Bounds) -> list[str]:
    """Return the states of items that have finished finding others."""
    lifecycle = kind.lifecycle
    done = set(lifecycle.states) - lifecycle.waiting - lifecycle.working - lifecycle.failures
    return [bounds.state] if bounds.state else sorted(done)


async def _hold_back(connection: Connection, kind: Kind) -> None:
    """Hold back items beyond the limit. Others claim meanwhile, so this repeats until no more can be held back."""
    named = {"kind": kind.id, "initial": kind.lifecycle.initial}
    while (surplus := -(await fetch(connection, "room", _asked(kind)))[0].room) > 0:
        if not await fetch(connection, "hold_back", named | {"limit": surplus}):
            return


async def _let_all_in(connection: Connection, kind: Kind) -> None:
    for state in sorted(kind.lifecycle.waiting):
        while await _let_in_next(connection, kind, state, CHUNK):
            pass


async def _let_in_next(connection: Connection, kind: Kind, state: str, limit: int) -> int:
    """Admit the next items in order; return their number."""
    named = {"kind": kind.id, "state": state, "limit": max(0, limit)}
    ids = [row.item_id for row in await fetch(connection, "next_to_let_in", named)]
    await _let_some_in(connection, ids, limit)
    return len(ids)


async def _let_some_in(connection: Connection, ids: Sequence[int], room: int) -> None:
    await fetch(connection, "let_in", {"ids": list(ids[: max(0, room)])})


async def _settle_room(connection: Connection, kind: Kind) -> int:
    """Return the room that is left, which only this transaction can fill until it ends."""
    await hold_kinds(connection, [kind.id])
    await reserve_room(connection, [kind.id])
    return await _room(connection, kind)


async def _room(connection: Connection, kind: Kind) -> int:
    return int((await fetch(connection, "room", _asked(kind)))[0].room)


def _asked(kind: Kind, states: Sequence[str] = ()) -> dict[str, Any]:
    lifecycle = kind.lifecycle
    return {
        "kind": kind.id,
        "working": sorted(lifecycle.working),
        "waiting": sorted(lifecycle.waiting),
        "asked": list(states),
    }
