"""Search around given nodes: results that are similar to the query and near in the graph."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from detent.knowledge.fusion import Fused
from detent.search.inquiry import Ask, Found, Ranking
from detent.store import Store
from detent.store.graph.nodes import EdgeFilters
from detent.store.graph.walking import Allowance, level
from detent.store.ledger.filtering import Scope

DEPTH = 3
MOST_NODES = 5000

Semantic = Callable[[Scope, int], Awaitable[Ranking]]


class Surroundings:
    def __init__(self, store: Store, around: Sequence[int], weights: tuple[float, float]) -> None:
        self._store = store
        self._around = around
        self._weights = weights

    async def rank(self, semantic: Semantic, scope: Scope, notes: dict[str, None]) -> Ask:
        """Return an Ask for the ranking: the weighted sum of similarity and nearness."""
        hops = await self._hops(notes)
        allowed = await self._allowed(hops, scope)
        found = await semantic(replace(scope, allowed=allowed, wide=False), len(allowed)) if allowed else []
        scored = self._scored(found, hops)

        async def ask(depth: int) -> Found:
            return Found(scored[:depth], len(scored) < depth)

        return ask

    def _scored(self, found: Ranking, hops: dict[int, int]) -> list[Fused]:
        by_meaning, by_nearness = self._weights
        nearness = {item: 1 / (hops[item] + 1) for item, _ in found}
        scores = {item: by_meaning * similarity + by_nearness * nearness[item] for item, similarity in found}
        ordered = sorted(found, key=lambda pair: (-scores[pair[0]], pair[0]))
        return [
            Fused(item, scores[item], {"similarity": (place, similarity), "nearness": (place, nearness[item])})
            for place, (item, similarity) in enumerate(ordered, start=1)
        ]

    async def _hops(self, notes: dict[str, None]) -> dict[int, int]:
        """Return the distance in steps of each node within the limit."""
        hops = dict.fromkeys(self._around, 0)
        allowance = Allowance()
        outermost = list(hops)
        async with self._store.database.transaction() as connection:
            for distance in range(1, DEPTH + 1):
                steps = level(connection, outermost, direction="both", filters=EdgeFilters(), allowance=allowance)
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
