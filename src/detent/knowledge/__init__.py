"""The values between the engine and its handlers: items, nodes, references and outcomes.

Handlers are functions from items to outcomes. They fetch, parse and compute; they never write. The store writes an
outcome's data in the same transaction as the item's new state, and so exactly once. The handler itself may run
again for the same item if a worker dies before that commit: its effects on the outside world must be repeatable.
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
