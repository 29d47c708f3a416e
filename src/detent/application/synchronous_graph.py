"""The same verbs of the graph for scripts, as `db.graph` offers them."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from detent.application.exporting import Written
from detent.application.graph import AsyncGraph
from detent.store.exchange import Digest, Loaded
from detent.store.exchange.load import Tell
from detent.store.graph import Content, Direction, GraphPath, NamedNode, Neighbours, Subgraph

T = TypeVar("T")


class Wait(Protocol):
    """Runs a coroutine, and returns its result."""

    def __call__(self, work: Coroutine[Any, Any, T]) -> T: ...


class Graph:
    """Reads the graph of an open database, and writes it into files. Nodes are named by their items' numbers."""

    def __init__(self, asynchronous: AsyncGraph, wait: Wait) -> None:
        self._graph = asynchronous
        self._wait = wait

    def find(self, key: str, *, source: str | None = None, label: str | None = None) -> list[NamedNode]:
        """The nodes that are known by this key or alias; an empty list if there is none."""
        return self._wait(self._graph.find(key, source=source, label=label))

    def node(self, node: int) -> Content:
        """All that a node has: title, text, properties, what it belongs to, its aliases."""
        return self._wait(self._graph.node(node))

    def neighbours(
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
        return self._wait(
            self._graph.neighbours(
                node, direction=direction, types=types, labels=labels, sources=sources, limit=limit, after=after
            )
        )

    def path(
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
        return self._wait(
            self._graph.path(
                start, goal, direction=direction, types=types, labels=labels, sources=sources, max_length=max_length
            )
        )

    def subgraph(
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
        return self._wait(
            self._graph.subgraph(
                node, depth=depth, limit=limit, direction=direction, types=types, labels=labels, sources=sources
            )
        )

    def digest(self, source: str | None = None) -> Digest:
        """A digest of all content, or of one source's: the same for the same content, whatever its order."""
        return self._wait(self._graph.digest(source))

    def export(
        self,
        target: str | Path,
        form: str | None = None,
        *,
        source: str | None = None,
        tell: Written | None = None,
    ) -> int:
        """Write the graph into a file: `jsonl`, `graphml` or `parquet`; returns how many records that are."""
        return self._wait(self._graph.export(target, form, source=source, tell=tell))

    def import_file(self, file: str | Path, *, tell: Tell | None = None) -> Loaded:
        """Read in a file that was exported as JSONL; what is there under the same keys is replaced."""
        return self._wait(self._graph.import_file(file, tell=tell))

    def to_networkx(self, source: str | None = None, *, texts: bool = False) -> Any:
        """The graph, or one source's, as a networkx.MultiDiGraph in memory; with `texts` also the nodes' texts."""
        return self._wait(self._graph.to_networkx(source, texts=texts))
