"""The values that the verbs take and return, from whichever room they come."""

from detent.application.running import Report
from detent.search import Answer, Hit, Suggestion
from detent.store import Entry, Holder, Kind, Listed, Page, Receipt, Settled, Story, Tally
from detent.store.exchange import Digest, Loaded
from detent.store.graph import Content, Direction, Edge, GraphPath, NamedNode, Neighbour, Neighbours, Subgraph

__all__ = [
    "Answer",
    "Content",
    "Digest",
    "Direction",
    "Edge",
    "Entry",
    "GraphPath",
    "Hit",
    "Holder",
    "Kind",
    "Listed",
    "Loaded",
    "NamedNode",
    "Neighbour",
    "Neighbours",
    "Page",
    "Receipt",
    "Report",
    "Settled",
    "Story",
    "Subgraph",
    "Suggestion",
    "Tally",
]
