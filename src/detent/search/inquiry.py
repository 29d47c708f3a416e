"""Values that pass between the parts of a search: the question, and the results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from detent.knowledge.fusion import Fused
from detent.knowledge.query import Query
from detent.store.ledger.filtering import Scope

Ranking = list[tuple[int, float]]


@dataclass(frozen=True)
class Inquiry:
    """A search's question, its scope, and the notes for the answer.

    `met`: everything in scope has the phrases of the query, and nothing that it excludes.
    """

    query: Query
    limit: int
    scope: Scope
    notes: dict[str, None]
    met: bool = False


class Found(NamedTuple):
    """Results, best first, and True if there are no more."""

    fused: list[Fused]
    exhausted: bool


Ask = Callable[[int], Awaitable[Found]]
"""Returns the best results, up to this number."""
