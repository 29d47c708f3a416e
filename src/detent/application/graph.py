"""The verbs of the graph, as `db.graph` offers them to programs with an event loop."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from detent.application.naming import node_named
from detent.errors import FormatMissing

if TYPE_CHECKING:
    from detent.application.exporting import Written
    from detent.application.migrating import Migrated
    from detent.store import Store
    from detent.store.exchange import Digest, Loaded
    from detent.store.exchange.load import TellOf
    from detent.store.graph import Content, Direction, GraphPath, NamedNode, Neighbours, Subgraph


class AsyncGraph:
    """Reads the graph of an open database, and writes it into files. Nodes are named by their items' numbers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reading = store.reading

    async def find(self, key: str, *, source: str | None = None, label: str | None = None) -> list[NamedNode]:
        """The nodes that are known by this key or alias; an empty list if there is none."""
        return await self._reading.find(key, source=source, label=label)

    async def find_one(self, key: str, *, source: str | None = None, label: str | None = None) -> int:
        """The number of the one node that is known by this key or alias; Ambiguous if several are."""
        return await node_named(self._store, key, source, label)

    async def node(self, node: int) -> Content:
        """All that a node has: title, text, properties, what it belongs to, its aliases."""
        return await self._reading.node(node)

    async def neighbours(
        self,
        node: int,
        *,
        direction: Direction = "both",
        types: Iterable[str] | None = None,
        labels: Iterable[str] | None = None,
        sources: Iterable[str] | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> Neighbours:
        """A page of a node's edges with their other ends; `after` is the `next` of the page before."""
        return await self._reading.neighbours(
            node, direction=direction, types=types, labels=labels, sources=sources, limit=limit, after=after
        )

    async def path(
        self,
        start: int,
        goal: int,
        *,
        direction: Direction = "out",
        types: Iterable[str] | None = None,
        labels: Iterable[str] | None = None,
        sources: Iterable[str] | None = None,
        max_length: int = 10,
    ) -> GraphPath:
        """A shortest path from one node to another. Without nodes there is none; `complete` says whether that is
        certain."""
        return await self._reading.path(
            start, goal, direction=direction, types=types, labels=labels, sources=sources, max_length=max_length
        )

    async def subgraph(
        self,
        node: int,
        *,
        depth: int = 1,
        limit: int = 100,
        direction: Direction = "both",
        types: Iterable[str] | None = None,
        labels: Iterable[str] | None = None,
        sources: Iterable[str] | None = None,
    ) -> Subgraph:
        """The nodes within `depth` edges of one, nearest first, at most `limit`, and the edges among them."""
        return await self._reading.subgraph(
            node, depth=depth, limit=limit, direction=direction, types=types, labels=labels, sources=sources
        )

    async def digest(self, source: str | None = None) -> Digest:
        """A digest of all content, or of one source's: the same for the same content, whatever its order."""
        from detent.store.exchange import digest

        return await digest(self._store.database, self._store.kinds, source)

    async def export(
        self,
        target: str | Path | BinaryIO,
        form: str | None = None,
        *,
        source: str | None = None,
        tell: Written | None = None,
    ) -> int:
        """Write the graph into a file, or a stream: `jsonl`, `graphml` or `parquet`; returns the number of records.

        Default: the format that the file's name ends with, or `jsonl`.
        """
        from detent.application.exporting import export, format_of

        where = Path(target) if isinstance(target, str) else target
        chosen = format_of(where if isinstance(where, Path) else None, form)
        return await export(self._store, where, chosen, source=source, tell=tell)

    async def import_file(self, file: str | Path, *, tell: TellOf | None = None) -> Loaded:
        """Read in a file that was exported as JSONL; what is there under the same keys is replaced."""
        from detent.application.exporting import import_file

        return await import_file(self._store, Path(file), tell)

    async def migrate_flags(
        self, file: str | Path, *, source: str | None = None, label: str | None = None, tell: TellOf | None = None
    ) -> Migrated:
        """Read in nodes with boolean flags, which were exported from Neo4j; their flags become states.

        They go to `source`. Default: the one named after their project. With `label`, only nodes that have it are read
        in, and those without a label get it.
        """
        from detent.application.migrating import migrate_flags

        return await migrate_flags(self._store, Path(file), source=source, label=label, tell=tell)

    async def to_networkx(self, source: str | None = None, *, texts: bool = False) -> Any:
        """The graph, or one source's, as a networkx.MultiDiGraph in memory; with `texts` also the nodes' texts."""
        from detent.application.exporting import fill
        from detent.store.exchange import Dump

        try:
            from detent.projections.networks import Network
        except ModuleNotFoundError as error:
            raise FormatMissing("A NetworkX graph", "networkx", error) from None
        network = Network(texts=texts)
        async with Dump.open(self._store.database, self._store.kinds, source) as dump:
            await fill(dump, network)
        return network.graph
