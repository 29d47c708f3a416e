"""Counts per source, label and state: updated by every move, never by scanning; checked and repaired on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from detent.knowledge.value import Value
from detent.store.database import Connection, Database, fetch
from detent.store.ledger.kinds import Kind, Kinds
from detent.store.ledger.leases import WaysOut, ways_out

LOCK = 0x0DE7E27_04
MANY = 200


@dataclass(frozen=True)
class Tally(Value):
    source: str
    label: str
    lifecycle: str
    state: str
    count: int


class Tallies:
    def __init__(self, database: Database, kinds: Kinds) -> None:
        self._database = database
        self._kinds = kinds

    async def count(self) -> list[Tally]:
        """Count the items of each kind in each state, in the lifecycle's order of states."""
        rows = await self._database.fetch("count")
        counted = [(await self._kinds.by_id(row.kind_id), row.state, row.count) for row in rows]
        counted.sort(key=lambda line: (line[0].source, line[0].label, _order(line[0], line[1])))
        return [Tally(kind.source, kind.label, kind.lifecycle.name, state, count) for kind, state, count in counted]

    async def fold(self) -> None:
        """Add up the tally's rows, if there are many. A duty of workers, harmless at any time."""
        await self._database.fetch("fold", {"lock": LOCK, "many": MANY})

    async def later(self, places: list[tuple[Kind, str]]) -> tuple[int, datetime | None, float | None]:
        """Return the number of items in these states that wait for a later time, the time when the first is due,
        and the seconds until then."""
        parameters = {"kinds": [kind.id for kind, _ in places], "states": [state for _, state in places]}
        rows = await self._database.fetch("next_wake", parameters)
        return rows[0].count, rows[0].first, rows[0].seconds

    async def reasons(self, places: list[tuple[Kind, str]]) -> list[str]:
        """Return the reasons why items wait for a later time in these states: the failure of the first one due in
        each."""
        parameters = {"kinds": [kind.id for kind, _ in places], "states": [state for _, state in places]}
        return [row.message for row in await self._database.fetch("reasons_to_wait", parameters)]

    async def check(self) -> list[str]:
        """Return what is wrong with counts, places and leases, a sentence each; nothing in a sound database.

        This scans all items, as of one moment, and blocks nobody.
        """
        async with self._database.connection() as connection, connection.transaction():
            await fetch(connection, "one_moment")
            await _allow_scans(connection)
            miscounts = await fetch(connection, "miscounts")
            misplaced = await fetch(connection, "misplaced")
            doubled = await fetch(connection, "doubly_placed")
            misheld = await fetch(connection, "misheld")
        return [
            *await self._stranded(),
            *[f"kind {r.kind_id}, {r.state}: {r.tallied} tallied, {r.counted} counted" for r in miscounts],
            *[_misplaced(r) for r in misplaced],
            *[f"item {r.item_id} has {r.places} places" for r in doubled],
            *[f"lease {r.token} counts {r.open} items and holds {r.held}" for r in misheld],
        ]

    async def _stranded(self) -> list[str]:
        """Return a sentence on items in states that their lifecycle no longer has: an older program put them there."""
        await self._kinds.refresh()
        return [
            f"{line.count} items of {line.source}/{line.label} are {line.state}, a state that the lifecycle "
            f"{line.lifecycle} no longer has; `detent reset` puts them back to the beginning"
            for line in await self.count()
            if line.state not in self._kinds.lifecycles[line.lifecycle].states
        ]

    async def repair(self) -> None:
        """Correct the counts, and put lost items back where they can go on. Blocks nobody."""
        kinds = await self._kinds.select()
        async with self._database.connection() as connection, connection.transaction():
            await fetch(connection, "one_moment")
            await fetch(connection, "lock_repair")
            await _allow_scans(connection)
            await fetch(connection, "correct")
            await fetch(connection, "drop_misplaced")
            await fetch(connection, "replace", _resting(kinds))
            await fetch(connection, "lease_strays", _working(kinds))


async def _allow_scans(connection: Connection) -> None:
    for setting in ("enable_seqscan", "enable_hashjoin", "enable_mergejoin"):
        await connection.execute("SELECT set_config(%s, 'on', true)", [setting])


def _resting(kinds: Sequence[Kind]) -> dict[str, object]:
    """Return the states of each kind in which no worker has the item."""
    pairs = [
        (kind.id, state) for kind in kinds for state in kind.lifecycle.states if state not in kind.lifecycle.working
    ]
    return {"kinds": [number for number, _ in pairs], "states": [state for _, state in pairs]}


def _working(kinds: Sequence[Kind]) -> dict[str, object]:
    """Return the states of each kind in which a worker has the item, and the ways out of them."""
    lines = [(kind.id, state, kind.lifecycle) for kind in kinds for state in sorted(kind.lifecycle.working)]
    ways = [ways_out(lifecycle, state) for _, state, lifecycle in lines]
    columns = {f"{name}s": [getattr(way, name) for way in ways] for name in WaysOut._fields}
    return {"kinds": [number for number, _, _ in lines], "states": [state for _, state, _ in lines], **columns}


def _misplaced(row: Any) -> str:
    if row.state is None:
        return f"there is no item {row.item_id}, and it has a place in {row.place_state}"
    if row.place_state is None:
        return f"item {row.item_id} is {row.state}, and has neither a place nor a lease"
    if row.leased:
        return f"item {row.item_id} is {row.state}, and has both a place and a lease"
    return f"item {row.item_id} is {row.state}, and its place says {row.place_state} or another time"


def _order(kind: Kind, state: str) -> int:
    states = kind.lifecycle.states
    return states.index(state) if state in states else len(states)
