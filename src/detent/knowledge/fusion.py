"""Rank fusion: one ranking made of several that cannot be compared by their scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

PLACES = 1
"""How little the first places differ from each other: the larger, the less.

It is small since words and meaning fail on different queries: what one of the rankings puts first must not be pushed
down by what is in the middle of both. The usual 60 was made for many rankings that are about equally good."""


class Fused(NamedTuple):
    """What was found, its score, and what each ranking made of it: place and score there, by the ranking's name."""

    item_id: int
    score: float
    parts: Mapping[str, tuple[int, float]]


def fuse(
    rankings: Mapping[str, Sequence[tuple[int, float]]],
    *,
    weights: Mapping[str, float] | None = None,
    places: int = PLACES,
) -> list[Fused]:
    """Reciprocal rank fusion: the sum of weight / (places + place) over the rankings that have it, best first.

    A ranking is a sequence of (item, score), best first; its weight is 1 unless another is given. What is equal is in
    the order of the items' numbers. The sum is rounded once, so that the order of the rankings does not matter.
    """
    parts: dict[int, dict[str, tuple[int, float]]] = {}
    for name, ranking in rankings.items():
        for place, (item, score) in enumerate(ranking, start=1):
            parts.setdefault(item, {}).setdefault(name, (place, score))
    weighed = weights or {}
    fused = [
        Fused(item, math.fsum(weighed.get(name, 1.0) / (places + place) for name, (place, _) in found.items()), found)
        for item, found in parts.items()
    ]
    return sorted(fused, key=lambda each: (-each.score, each.item_id))
