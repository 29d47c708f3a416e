"""What a handler is given and what it gives back: items, nodes, references and outcomes, as plain values.

Handlers are functions from items to outcomes. They fetch and parse and compute; they never write. What an
outcome carries is written by the store in the same transaction as the item's new state, and so exactly once. The
handler itself may be called again for the same item, when a worker died before that: what it does to the world
outside must bear repetition.
"""

from detent.knowledge.embedding import UNTITLED, Embedding, Passage
from detent.knowledge.filters import Filters
from detent.knowledge.item import NO_BOUNDS, Bounds, Item, NewItem
from detent.knowledge.node import Alias, Child, Mention, Node, Reference
from detent.knowledge.outcome import NOTHING, Done, Failed, Outcome, Product, Retry, Skipped, Step

__all__ = [
    "NOTHING",
    "NO_BOUNDS",
    "UNTITLED",
    "Alias",
    "Bounds",
    "Child",
    "Done",
    "Embedding",
    "Failed",
    "Filters",
    "Item",
    "Mention",
    "NewItem",
    "Node",
    "Outcome",
    "Passage",
    "Product",
    "Reference",
    "Retry",
    "Skipped",
    "Step",
]
