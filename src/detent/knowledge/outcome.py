"""What became of an item: done, to be tried again, failed, or skipped."""

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
    """What a stage, or a step of one, writes."""

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
        """Whether all that the item had of its own leaves the graph."""
        return self.emptied or self.alias_of is not None

    @property
    def carries_data(self) -> bool:
        """Whether there is anything to write beside the item's own row."""
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
    """The stage succeeded, and this is what it produced. A handler that returns None means `Done()`: it succeeded,
    and there is nothing to write.

    `references`, `children` and `aliases` are complete sets, of the item's links, of the nodes that belong to it and
    of the other keys it is known by: what is not in them any more leaves the graph. None leaves those it has.
    Among `aliases` may also be what the item says about other keys than its own, as `Alias`. `alias_of`: this item is
    nothing but another key of the item with that key (a wiki's redirect); what it had of its own leaves the graph.
    `emptied`: it has nothing of its own any more, and what it had leaves the graph.
    `mentions` are nodes that many may name. `to` names the state after success where the lifecycle has several, or all
    the states that the item goes through on its way there, each of which the journal then has.
    """


@dataclass(frozen=True, slots=True)
class Step(Product):
    """A commit in the middle of work: what it carries is written, the item stays with its worker, and the handler goes
    on. A handler yields any number of steps, and ends with an outcome.

    It takes what `Done` takes. `to` names the working state that the step leads to, or all the states that it goes
    through; without it, the item goes through the phases that follow in its lifecycle, once round (a page of a crawl:
    `fetching`, `processing`, `saving`). After a crash the item is claimed again with the checkpoint of its last step.
    """


NOTHING = Done()
"""Done, with nothing to write: what None means."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The stage could not succeed now. Whether and when it is tried again is decided by the retry policy.

    `alone`: with nothing beside it, because it may do harm to its neighbours. `blameless`: it has nothing to do with
    the item, as when a service is away, so that the attempt does not count.
    """

    reason: str
    trouble: Trouble = Trouble.UNKNOWN
    retry_after: float | None = None
    alone: bool = False
    blameless: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The stage failed for good.

    `content_hash` is that of the content it failed on, if it was seen: another one is worth another try. `emptied`:
    there is nothing to be had of it any more, and what it had leaves the graph; otherwise that stays. `to` names the
    state to end in where the lifecycle leads on from failure; the reason stays on the item.
    """

    reason: str
    trouble: Trouble = Trouble.REJECTED
    content_hash: str | None = None
    emptied: bool = False
    to: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """There is nothing to do for this item, for this reason."""

    reason: str


Outcome = Done | Retry | Failed | Skipped
