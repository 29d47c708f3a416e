"""Walks through graphs at random are those of NetworkX, from each node to each other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from tests.store.graph import walks

if TYPE_CHECKING:
    from tests.soak.conftest import Budget


def test_walks_agree_with_a_model(database: str, budget: Budget) -> None:
    @settings(max_examples=10, database=None, suppress_health_check=list(HealthCheck))
    @given(edges=walks.EDGES)
    def agree(edges: list[walks.Edge]) -> None:
        asyncio.run(walks.compare(database, edges, range(8)))

    for _ in budget.seeds():
        agree()
