"""Reading the graph: a node's neighbours a page at a time, the shortest path between two, what is around one.

Whatever a node's number of edges, what is read is bounded by what was asked for: pages and levels are read through
indexes in both directions, and only as far as they are wanted. Nothing here writes.
"""

from detent.store.reading.neighbours import Neighbour, Neighbours
from detent.store.reading.nodes import Content, Direction, Edge, NamedNode
from detent.store.reading.reading import Reading
from detent.store.reading.walking import GraphPath, Subgraph

__all__ = [
    "Content",
    "Direction",
    "Edge",
    "GraphPath",
    "NamedNode",
    "Neighbour",
    "Neighbours",
    "Reading",
    "Subgraph",
]
