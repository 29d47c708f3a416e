"""NetworkX: a graph in memory, for its algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx

from detent.projections.writer import Record


class Network:
    """Fills a MultiDiGraph. Its nodes are keyed by number, and carry names, titles and properties."""

    def __init__(self, *, texts: bool = False) -> None:
        self.graph: Any = networkx.MultiDiGraph()
        self._names = ("source", "label", "key", "title", "state", "properties", *(["text"] if texts else []))

    def nodes(self, records: Sequence[Record]) -> None:
        self.graph.add_nodes_from((record["id"], {name: record[name] for name in self._names}) for record in records)

    def edges(self, records: Sequence[Record]) -> None:
        self.graph.add_edges_from(
            (record["from_id"], record["to_id"], {"type": record["type"], "properties": record["properties"]})
            for record in records
        )

    def close(self) -> None:
        """Do nothing: the graph is complete already."""
