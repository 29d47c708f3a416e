"""Kinds: the common properties of the items of one source and label, and the lifecycle they follow."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from detent.errors import SourceConflict, UnknownName
from detent.knowledge import NO_BOUNDS, Bounds
from detent.lifecycle import Event, Lifecycle
from detent.store.database import Connection, Database, fetch
from detent.store.values import check_key

LOCK = 0x0DE7E27_02
MOST_NAMES = 30
"""Largest number of names that an error lists."""


@dataclass(frozen=True)
class Kind:
    id: int
    source: str
    label: str
    lifecycle: Lifecycle
    paused: bool
    removed: bool = False
    bounds: Bounds = NO_BOUNDS
    version: str | None = None

    def __str__(self) -> str:
        return f"{self.source}/{self.label}"


class Kinds:
    """The kinds and lifecycles of a database, cached and read again when something unknown is requested.

    A lifecycle is built once, and again when the database has another one under its name.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._by_id: dict[int, Kind] = {}
        self._by_name: dict[tuple[str, str], Kind] = {}
        self.lifecycles: dict[str, Lifecycle] = {}
        self._digests: dict[str, str] = {}

    async def refresh(self) -> None:
        async with self._database.connection() as connection:
            await self._read(connection)

    async def declare(self, source: str, label: str, lifecycle: Lifecycle) -> Kind:
        """Declare a kind with this lifecycle.

        A changed lifecycle replaces the stored one, unless that would leave items where they cannot go on.
        """
        check_key("the source's name", source)
        check_key("the label", label)
        async with self._database.transaction() as connection:
            await fetch(connection, "lock_lifecycles", {"lock": LOCK})
            await self._read(connection)
            await refuse_removed(connection, source)
            await self._keep_lifecycle(connection, lifecycle)
            await fetch(connection, "declare_source", {"name": source})
            named = {"source": source, "label": label, "lifecycle": lifecycle.name}
            await fetch(connection, "declare_kind", named)
            await self._read(connection)
        kind = self._by_name[source, label]
        if kind.lifecycle.name != lifecycle.name:
            raise SourceConflict(
                f"{kind} follows the lifecycle {kind.lifecycle.name!r}, and cannot follow {lifecycle.name!r} too. "
                f"Give the label another name, or remove the source first: {shlex.join(['detent', 'remove', source])}"
            )
        return kind

    def declared(self, source: str, label: str, lifecycle: Lifecycle) -> Kind | None:
        """Return the kind, if the cache has it with this lifecycle."""
        kind = self._by_name.get((source, label))
        is_alike = kind is not None and not kind.removed and kind.lifecycle.as_data() == lifecycle.as_data()
        return kind if is_alike else None

    async def get(self, source: str, label: str) -> Kind:
        if (source, label) not in self._by_name:
            await self.refresh()
        try:
            return self._by_name[source, label]
        except KeyError:
            known = [str(kind) for kind in self._by_id.values()]
            raise unknown("kind of item", f"{source}/{label}", known) from None

    async def by_id(self, number: int, connection: Connection | None = None) -> Kind:
        if number not in self._by_id:
            await (self._read(connection) if connection else self.refresh())
        return self._by_id[number]

    async def read(self, connection: Connection, number: int) -> Kind:
        """Return a kind as it is in this transaction."""
        await self._read(connection)
        return self._by_id[number]

    async def lifecycle(self, name: str) -> Lifecycle:
        if name not in self.lifecycles:
            await self.refresh()
        return self.lifecycles[name]

    async def select(self, source: str | None = None, label: str | None = None) -> list[Kind]:
        """Return the kinds of a source, of a label, or all; an unknown name is an error."""
        await self.refresh()
        kinds = list(self._by_id.values())
        _require("source", source, {kind.source for kind in kinds})
        _require("label", label, {kind.label for kind in kinds})
        return [kind for kind in kinds if source in (None, kind.source) and label in (None, kind.label)]

    async def chosen(self, sources: Collection[str], labels: Collection[str]) -> list[Kind]:
        """Return the kinds of these sources and labels, none meaning all; an unknown name is an error."""
        kinds = await self.select()
        for name in sources:
            _require("source", name, {kind.source for kind in kinds})
        for name in labels:
            _require("label", name, {kind.label for kind in kinds})
        return [
            kind for kind in kinds if (not sources or kind.source in sources) and (not labels or kind.label in labels)
        ]

    async def _keep_lifecycle(self, connection: Connection, lifecycle: Lifecycle) -> None:
        kept = self.lifecycles.get(lifecycle.name)
        if kept is not None and kept.as_data() == lifecycle.as_data():
            return
        if kept is not None:
            await self._refuse_stranding(connection, kept, lifecycle)
        definition = Jsonb(lifecycle.as_data())
        await fetch(connection, "keep_lifecycle", {"name": lifecycle.name, "definition": definition})

    async def _refuse_stranding(self, connection: Connection, kept: Lifecycle, lifecycle: Lifecycle) -> None:
        following = {kind.id for kind in self._by_id.values() if kind.lifecycle.name == lifecycle.name}
        occupied = {row.state for row in await fetch(connection, "count") if row.kind_id in following}
        for state in sorted(occupied):
            if state not in lifecycle.states:
                change = f"no longer has the state {state!r}"
            elif (state in kept.working) != (state in lifecycle.working):
                change = f"gives the state {state!r} another meaning"
            elif not _ways_out(kept, state) <= set(lifecycle.states):
                change = f"no longer has the states that work in {state!r} leads back to"
            else:
                continue
            raise SourceConflict(
                f"The lifecycle {lifecycle.name!r} has changed and {change}, "
                "in which there are items. Keep that state, or reset those items first."
            )

    async def _read(self, connection: Connection) -> None:
        rows = await fetch(connection, "kinds")
        if not rows or rows[0].digests != self._digests:
            await self._read_lifecycles(connection)
        kinds = [
            Kind(
                row.id,
                row.source,
                row.label,
                self.lifecycles[row.lifecycle],
                row.paused,
                row.removed,
                Bounds(row.depth, row.most, row.most_state, row.breadth),
                row.version,
            )
            for row in rows
        ]
        self._by_id = {kind.id: kind for kind in kinds}
        self._by_name = {(kind.source, kind.label): kind for kind in kinds}

    async def _read_lifecycles(self, connection: Connection) -> None:
        """Build the lifecycles that have changed since they were last read."""
        rows = await fetch(connection, "lifecycles")
        unchanged = {row.name for row in rows if self._digests.get(row.name) == row.digest}
        self.lifecycles = {
            row.name: self.lifecycles[row.name] if row.name in unchanged else Lifecycle(**row.definition)
            for row in rows
        }
        self._digests = {row.name: row.digest for row in rows}


async def hold_kinds(connection: Connection, numbers: list[int]) -> list[int]:
    """Keep the sources of kinds from being dropped until the transaction ends; return the kinds that are gone."""
    rows = await fetch(connection, "hold_kinds", {"kinds": numbers}) if numbers else []
    return sorted(set(numbers) - {row.id for row in rows})


async def refuse_removed(connection: Connection, source: str) -> None:
    """Raise if a source is being removed, and still has items."""
    if await fetch(connection, "being_removed", {"name": source}):
        again = shlex.join(["detent", "remove", source])
        raise SourceConflict(f"The source {source!r} is being removed. Finish it first: {again}")


def _ways_out(lifecycle: Lifecycle, state: str) -> set[str]:
    """Return the states to which leases given under a lifecycle send items of a working state."""
    if state not in lifecycle.working:
        return set()
    back = lifecycle.path(state, Event.BACK).to
    return {back, lifecycle.changed(back) or back, lifecycle.path(state, Event.FAIL).to}


def unknown(what: str, name: str, known: Iterable[str]) -> UnknownName:
    """Return the error for an unknown name, with the nearest known one."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    listed = f" There are: {', '.join(names[:MOST_NAMES])}{more}." if names else ""
    hint = f" Did you mean {near[0]!r}?" if near else listed
    return UnknownName(f"There is no {what} {name!r}.{hint}")


def _require(what: str, name: str | None, known: set[str]) -> None:
    if name is not None and name not in known:
        raise unknown(what, name, known)
