"""What queries cost, kept with what workers have spent: a budget is one for all of them."""

from __future__ import annotations

import asyncio

from detent.embedding import Budget, Provider
from detent.store.spending import Spending

_OWNER = "search"


class Account:
    """All searches of a database add to one account, so that each query is one number more and not one row."""

    def __init__(self, spending: Spending) -> None:
        self._spending = spending
        self._kept: dict[Budget, int] = {}
        self._keeping = asyncio.Lock()

    async def keep(self, provider: Provider) -> None:
        """Keep what was spent by way of a provider since the last time, and tell its budget what others have."""
        budget = provider.budget
        if budget is None or budget.limit is None:
            return
        async with self._keeping:
            spent = budget.spent
            total = await self._spending.add(_OWNER, provider.name, spent - self._kept.get(budget, 0))
            self._kept[budget] = spent
            budget.elsewhere = lambda: total - spent
