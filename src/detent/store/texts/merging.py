"""Which blocks are merged next: a decision on their sizes alone.

Small blocks come with every step of indexing. Eight of about the same size become one, and so each text is moved
a few times until it is in a block that is at least half full, where it stays. So there are never many blocks, and
never many that are small.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from detent.store.texts.blocks import MOST_TEXTS, MOST_WORDS

TOGETHER = 8
TOLERANCE = 0.2
"""What part of a block may be dead before it is rewritten."""


@dataclass(frozen=True)
class Size:
    """A block's size: its texts and words, and how many of them are dead."""

    id: int
    kind_id: int
    count: int
    words: int
    dead_count: int
    dead_words: int

    @property
    def fullness(self) -> float:
        """The part that its living texts take of what a block may have."""
        return max((self.count - self.dead_count) / MOST_TEXTS, (self.words - self.dead_words) / MOST_WORDS)

    @property
    def tier(self) -> int:
        return math.ceil(-math.log(max(self.fullness, 1e-9), TOGETHER))


def choose(blocks: Iterable[Size], tolerance: float = TOLERANCE) -> list[Size]:
    """The blocks of one kind to make one of; none if all is well."""
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
    """Blocks that together are more than half a block, and not more than one."""
    chosen: list[Size] = []
    filled = 0.0
    for block in sorted(blocks, key=lambda block: -block.fullness):
        if filled + block.fullness <= 1:
            chosen.append(block)
            filled += block.fullness
    return chosen if filled > 0.5 else []


def _tier(blocks: Sequence[Size]) -> list[Size]:
    """Many blocks of about the same size."""
    tiers = defaultdict(list)
    for block in blocks:
        tiers[block.tier].append(block)
    return next((tier for tier in tiers.values() if len(tier) >= TOGETHER), [])
