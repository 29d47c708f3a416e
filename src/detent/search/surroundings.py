"""Searching around given nodes: what is like the query, and near."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from detent.store import Store
from detent.store.filtering import Scope
from detent.store.reading.nodes import Filters
from detent.store.reading.walking import Allowance, level

DEPTH = 3
MOST_NODES = 5000

Ranking = list[tuple[int, float]]
Semantic = Callable[[Scope, int], Awaitable[Ranking]]


class Surroundings:
    def __init__(self, store: Store, around: Sequence[int], weights: tuple[float, float]) -> None:
        self._store = store
        self._around = around
        self._weights = weights

    async def rank(
        self, semantic: Semantic, scope: Scope, notes: dict[str, None]
    ) -> Callable[[int], Awaitable[dict[str, Ranking]]]:
        """What answers with the ranking: the weighted sum of similarity and nearness."""
        hops = await self._hops(notes)
        allowed = await self._allowed(hops, scope)
        found = await semantic(replace(scope, allowed=allowed, wide=False), len(allowed)) if allowed else []
        by_meaning, by_nearness = self._weights
        scored = [(item, by_meaning * score + by_nearness / (hops[item] + 1)) for item, score in found]
        scored.sort(key=lambda pair: (-pair[1], pair[0]))

        async def ask(depth: int) -> dict[str, Ranking]:
            return {"graph": scored[:depth]}

        return ask

    async def _hops(self, notes: dict[str, None]) -> dict[int, int]:
        """How many steps each node is away, as far as is looked."""
        hops = dict.fromkeys(self._around, 0)
        allowance = Allowance()
        outermost = list(hops)
        async with self._store.database.transaction() as connection:
            for distance in range(1, DEPTH + 1):
                steps = level(connection, outermost, direction="both", filters=Filters(), allowance=allowance)
                outermost = []
                async with contextlib.aclosing(steps):
                    async for _, node in steps:
                        if node not in hops:
                            hops[node] = distance
                            outermost.append(node)
                        if len(hops) >= MOST_NODES:
                            notes[f"The nearest {MOST_NODES:,} nodes were searched."] = None
                            return hops
        return hops

    async def _allowed(self, hops: dict[int, int], scope: Scope) -> frozenset[int]:
        if scope.wide:
            async with self._store.database.connection() as connection:
                return frozenset(await scope.check(connection, list(hops)))
        return frozenset(hops) if scope.allowed is None else scope.allowed & frozenset(hops)
