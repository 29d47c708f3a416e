"""The choice of blocks to merge next: a decision on their sizes alone.

Every step of indexing adds small blocks. Eight of about the same size become one, and so each text is moved a few
times until it is in a block that is at least half full, where it stays. So there are never many blocks, and never
many small ones.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from detent.store.texts.blocks import MOST_TEXTS, MOST_WORDS

TOGETHER = 8
TOLERANCE = 0.2
"""Dead part of a block above which it is rewritten."""


@dataclass(frozen=True)
class Size:
    """A block's size: its texts and words, and the number of dead ones."""

    id: int
    kind_id: int
    count: int
    words: int
    dead_count: int
    dead_words: int

    @property
    def fullness(self) -> float:
        """The living texts' share of a block's capacity."""
        return max((self.count - self.dead_count) / MOST_TEXTS, (self.words - self.dead_words) / MOST_WORDS)

    @property
    def tier(self) -> int:
        return math.ceil(-math.log(max(self.fullness, 1e-9), TOGETHER))


def choose(blocks: Iterable[Size], tolerance: float = TOLERANCE) -> list[Size]:
    """Return the blocks of one kind to merge into one; none if nothing is worth merging."""
    kinds = defaultdict(list)
    for block in blocks:
        if block.dead_count > tolerance * block.count:
            return [block]
        if block.fullness <= 0.5:
            kinds[block.kind_id].append(block)
    for some in kinds.values():
        if chosen := _fill(some) or _tier(some):
            return chosen
    return []


def _fill(blocks: Sequence[Size]) -> list[Size]:
    """Return blocks that together fill more than half a block, and at most one."""
    chosen: list[Size] = []
    filled = 0.0
    for block in sorted(blocks, key=lambda block: -block.fullness):
        if filled + block.fullness <= 1:
            chosen.append(block)
            filled += block.fullness
    return chosen if filled > 0.5 else []


def _tier(blocks: Sequence[Size]) -> list[Size]:
    """Return many blocks of about the same size."""
    tiers = defaultdict(list)
    for block in blocks:
        tiers[block.tier].append(block)
    return next((tier for tier in tiers.values() if len(tier) >= TOGETHER), [])
