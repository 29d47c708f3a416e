"""Reading and writing the graph: a node's neighbours a page at a time, the shortest path between two nodes, the
surroundings of one.

However many edges a node has, the amount read is bounded by the request: pages and levels are read through indexes
in both directions, and only as far as they are needed. Only `writing` and `aliases` write, in the transaction that
settles the items.
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
