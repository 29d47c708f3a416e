"""The kinds that a file names: created if they are missing. The database's own declarations win."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from psycopg.types.json import Jsonb

from detent.errors import LineRefused, SourceConflict
from detent.lifecycle import Event, Lifecycle
from detent.store.database import Connection, fetch
from detent.store.exchange.records import Chunk, KindLine
from detent.store.ledger.kinds import LOCK, hold_kinds, refuse_removed
from detent.store.ledger.sources import IMPORTED
from detent.store.vectors.embeddings import STAGE, embedded_states


class Target:
    """A kind of the target database."""

    def __init__(self, number: int, lifecycle: Lifecycle) -> None:
        self.id = number
        self.lifecycle = lifecycle
        self._resting: dict[str, str] = {}

    def resting(self, state: str) -> str:
        """Return the resting state of an item exported in this state: work under way begins again, and an unknown
        state leads to the initial one."""
        if state not in self._resting:
            lifecycle = self.lifecycle
            known = state if state in lifecycle.states else lifecycle.initial
            self._resting[state] = lifecycle.path(state, Event.BACK).to if state in lifecycle.working else known
        return self._resting[state]

    def unembedded(self, state: str) -> str:
        """Return the resting state of an item without a vector, since files contain none: states after embedding
        lead back to the state that waits for it."""
        return self._where_embedding_waits if state in self._embedded else state

    @cached_property
    def _embedded(self) -> frozenset[str]:
        return embedded_states(self.lifecycle)

    @cached_property
    def _where_embedding_waits(self) -> str:
        return self.lifecycle.path(STAGE, Event.BACK).to


class Targets:
    """The kinds of the target database, by source and label."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], Target] = {}
        self._lifecycles: dict[str, Lifecycle] = {}
        self._bounded: set[int] = set()

    def find(self, source: str, label: str) -> Target | None:
        return self._by_name.get((source, label))

    def get(self, source: str, label: str, line: int) -> Target:
        try:
            return self._by_name[source, label]
        except KeyError:
            raise LineRefused(line, f"no line before it declares the kind {source}/{label}") from None

    def is_working(self, kind: int, state: str) -> bool:
        """True if items of a kind, by its number, are being worked on in this state."""
        return any(each.id == kind and state in each.lifecycle.working for each in self._by_name.values())

    def holds_back(self, kind: int, state: str) -> bool:
        """True if items of a kind, by its number, need admission before they wait in this state."""
        if kind not in self._bounded:
            return False
        return any(each.id == kind and state in each.lifecycle.waiting for each in self._by_name.values())

    async def declare(self, connection: Connection, chunk: Chunk) -> None:
        """Create the kinds that a chunk declares, and read the existing ones. Removed sources of which the chunk has
        items come back."""
        self._lifecycles.update(chunk.lifecycles)
        sources = sorted({line.name.source for line in chunk.items} | {line.source for line in chunk.aliases})
        removed = await fetch(connection, "removed_sources", {"names": sources})
        if self._by_name and not chunk.kinds and not removed:
            return
        async with connection.transaction():
            await fetch(connection, "lock_lifecycles", {"lock": LOCK})
            for source in removed:
                await _declare_source(connection, source.name)
            await self._read(connection)
            for kind in chunk.kinds:
                if (kind.source, kind.label) not in self._by_name:
                    await self._make(connection, kind)
            await self._read(connection)

    async def hold(self, connection: Connection, named: Mapping[tuple[str, str], int]) -> None:
        """Lock the sources of these kinds against being dropped, and their bounds against change, until the
        transaction ends."""
        sources = {self.get(*name, line).id: name[0] for name, line in named.items()}
        if gone := await hold_kinds(connection, list(sources)):
            raise SourceConflict(
                f"The source {sources[gone[0]]!r} was removed while it was imported. Import the file again."
            )
        self._bounded = {row.id for row in await fetch(connection, "bounded", {"kinds": list(sources)})}

    async def _make(self, connection: Connection, kind: KindLine) -> None:
        if kind.lifecycle not in self._lifecycles:
            raise LineRefused(kind.line, f"no line before it has the lifecycle {kind.lifecycle!r}")
        known = {source for source, _ in self._by_name}
        await _declare_source(connection, kind.source)
        definition = self._lifecycles[kind.lifecycle].as_data()
        await fetch(connection, "keep_lifecycle", {"name": kind.lifecycle, "definition": Jsonb(definition)})
        named = {"source": kind.source, "label": kind.label, "lifecycle": kind.lifecycle}
        await fetch(connection, "declare_kind", named)
        if kind.source not in known:
            await fetch(connection, "set_language", {"name": kind.source, "language": kind.language})
            await fetch(connection, "mark_imported", {"name": kind.source, "type": IMPORTED})

    async def _read(self, connection: Connection) -> None:
        """Read the kinds of the database, which win over the file's."""
        rows = await fetch(connection, "lifecycles")
        self._lifecycles.update({row.name: Lifecycle(**row.definition) for row in rows})
        self._by_name = {
            (row.source, row.label): Target(row.id, self._lifecycles[row.lifecycle])
            for row in await fetch(connection, "kinds")
        }


async def _declare_source(connection: Connection, name: str) -> None:
    await refuse_removed(connection, name)
    await fetch(connection, "declare_source", {"name": name})
