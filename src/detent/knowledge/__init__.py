"""What a handler is given and what it gives back: items, nodes, references and outcomes, as plain values.

Handlers are functions from items to outcomes. They fetch and parse and compute; they never write. What an
outcome carries is written by the store in the same transaction as the item's new state.
"""

from detent.knowledge.item import Item, NewItem
from detent.knowledge.node import Node, Reference
from detent.knowledge.outcome import Done, Failed, Outcome, Retry, Skipped

__all__ = ["Done", "Failed", "Item", "NewItem", "Node", "Outcome", "Reference", "Retry", "Skipped"]
