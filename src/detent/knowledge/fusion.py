"""Rank fusion: one ranking made of several whose scores cannot be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

PLACES = 1
"""The constant of reciprocal rank fusion. The larger it is, the less the top ranks differ.

It is small because words and meaning fail on different queries: the top result of one ranking must not fall behind
results from the middle of both. The usual 60 was chosen for many rankings of about equal quality.
"""


class Fused(NamedTuple):
    """A result, its score, and its rank and score in each ranking, by the ranking's name."""

    item_id: int
    score: float
    parts: Mapping[str, tuple[int, float]]


def fuse(
    rankings: Mapping[str, Sequence[tuple[int, float]]],
    *,
    weights: Mapping[str, float] | None = None,
    places: int = PLACES,
) -> list[Fused]:
    """Reciprocal rank fusion: the sum of weight / (places + place) over the rankings that contain the item, best
    first.

    A ranking is a sequence of (item, score), best first; its default weight is 1. Equal scores are ordered by item
    number. The sum is rounded once, so that the order of the rankings does not matter.
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
