"""GraphReader the graph: a node's neighbours a page at a time, the shortest path between two, what is around one.

Whatever a node's number of edges, what is read is bounded by what was asked for: pages and levels are read through
indexes in both directions, and only as far as they are wanted. Nothing here writes.
"""

from detent.store.graph.neighbours import Neighbour, Neighbours
from detent.store.graph.nodes import Content, Direction, Edge, NamedNode
from detent.store.graph.reader import GraphReader
from detent.store.graph.walking import GraphPath, Subgraph

__all__ = [
    "Content",
    "Direction",
    "Edge",
    "GraphPath",
    "GraphReader",
    "NamedNode",
    "Neighbour",
    "Neighbours",
    "Subgraph",
]
