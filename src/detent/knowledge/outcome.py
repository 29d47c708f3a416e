"""Outcomes of an item: done, retry, failed or skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from detent.knowledge.embedding import Embedding
from detent.knowledge.item import NewItem
from detent.knowledge.node import Alias, Child, Mention, Node, Reference
from detent.lifecycle import Trouble


@dataclass(frozen=True, slots=True)
class Product:
    """Data that a stage, or one step of it, writes."""

    node: Node | None = None
    references: Sequence[Reference] | None = None
    found: Sequence[NewItem] = ()
    checkpoint: Mapping[str, Any] | None = None
    content_hash: str | None = None
    to: str | Sequence[str] | None = None
    note: str | None = None
    children: Sequence[Child] | None = None
    mentions: Sequence[Mention] = ()
    aliases: Sequence[str | Alias] | None = None
    alias_of: str | None = None
    emptied: bool = False
    embedding: Embedding | None = None

    @property
    def leaves(self) -> bool:
        """True if everything that the item owns leaves the graph."""
        return self.emptied or self.alias_of is not None

    @property
    def carries_data(self) -> bool:
        """True if there is anything to write besides the item's own row."""
        return bool(
            self.node is not None
            or self.references is not None
            or self.children is not None
            or self.aliases is not None
            or self.leaves
            or self.embedding is not None
            or self.checkpoint is not None
            or self.mentions
            or self.found
        )


@dataclass(frozen=True, slots=True)
class Done(Product):
    """The stage succeeded; this is its result. A handler that returns None means `Done()`: success, and nothing to
    write.

    `references`, `children` and `aliases` are complete sets: the item's links, the nodes that belong to it and the
    other keys it is known by. What is missing from a set leaves the graph; None keeps the present set. `aliases`
    may also contain `Alias` values about keys other than the item's own. `alias_of`: this item is only another key
    of the item with that key (a wiki's redirect); everything it owned leaves the graph. `emptied`: the item has no
    content any more, and everything it owned leaves the graph. `mentions` are nodes that many items may name. `to`
    names the state after success where the lifecycle has several, or the whole path of states to it, each of which
    is written to the journal.
    """


@dataclass(frozen=True, slots=True)
class Step(Product):
    """A commit in the middle of work: its data is written, the item stays with its worker, and the handler goes
    on.

    A handler yields any number of steps and ends with an outcome. A step takes what `Done` takes. `to` names the
    working state that the step leads to, or the whole path of states to it; without `to`, the item goes once
    through the next phases of its lifecycle (a page of a crawl: `fetching`, `processing`, `saving`). After a crash
    the item is claimed again with the checkpoint of its last step.
    """


NOTHING = Done()
"""Done, with nothing to write: the meaning of None."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The stage cannot succeed now. The retry policy decides whether and when the item is retried.

    `alone`: retry it with nothing beside it, because it may harm its neighbours. `blameless`: the item is not at
    fault, as when a service is away, so the attempt does not count.
    """

    reason: str
    trouble: Trouble = Trouble.UNKNOWN
    retry_after: float | None = None
    alone: bool = False
    blameless: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The stage failed for good.

    `content_hash` is the hash of the content that failed, if it was read: different content is worth another
    attempt. `emptied`: the content is gone, and everything the item owned leaves the graph; otherwise that stays.
    `to` names the final state where the lifecycle leads on from failure; the reason stays on the item.
    """

    reason: str
    trouble: Trouble = Trouble.REJECTED
    content_hash: str | None = None
    emptied: bool = False
    to: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """There is nothing to do for this item; `reason` says why."""

    reason: str


Outcome = Done | Retry | Failed | Skipped
