"""What passes between the parts of a search: what is asked, and what is found for it."""

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
    """What is asked for, where, and what is to be told with the answer. `met`: all that is there has the phrases of
    the query, and nothing that it excludes."""

    query: Query
    limit: int
    scope: Scope
    notes: dict[str, None]
    met: bool = False


class Found(NamedTuple):
    """What was found, best first, and whether there is no more of it."""

    fused: list[Fused]
    exhausted: bool


Ask = Callable[[int], Awaitable[Found]]
"""Asks for so many of the best."""
