"""The verbs of work: claim items, keep their leases, settle what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from detent.application.lifecycles import lifecycle_named
from detent.application.verbs import Verbs, require_limit
from detent.knowledge import Item, Outcome, Step
from detent.lifecycle import Lifecycle, RetryPolicy
from detent.store import Holder, Receipt, Stage


class WorkVerbs(Verbs):
    """Claim, renew, settle and release items, for programs that do the work themselves."""

    async def claim(
        self,
        lifecycle: str | Lifecycle,
        state: str,
        *,
        owner: str,
        limit: int = 100,
        lease_seconds: float | None = None,
    ) -> list[Item]:
        """Claim up to `limit` items that wait in `state`, under one lease."""
        require_limit(limit)
        followed = lifecycle if isinstance(lifecycle, Lifecycle) else await lifecycle_named(self.store, lifecycle)
        stage = Stage(followed, state, self.settings.worker.max_attempts)
        seconds = lease_seconds or self.settings.worker.lease_seconds
        return await self.store.claim(stage, owner=owner, limit=limit, lease_seconds=seconds)

    async def renew(self, tokens: Iterable[int]) -> set[int]:
        """Renew leases; those that are not returned are lost."""
        return await self.store.renew(tokens)

    async def settle(self, outcomes: Sequence[tuple[Item, Outcome | Step]]) -> list[Receipt]:
        """Write the outcomes or steps of items, each all or nothing; returns what happened to each."""
        return await self.store.settle(outcomes, self._policy)

    async def release(self, items: Sequence[Item]) -> list[Receipt]:
        """Give items back untried."""
        return await self.store.release(items)

    async def rescue(self) -> dict[int, str]:
        """Take back the items of expired leases; returns the state of each. Workers do this by themselves."""
        return await self.store.rescue()

    async def workers(self) -> Sequence[Holder]:
        """The workers that hold items now."""
        return await self.store.workers()

    @property
    def _policy(self) -> RetryPolicy:
        retry = self.settings.retry
        return RetryPolicy(self.settings.worker.max_attempts, retry.base_seconds, retry.ceiling_seconds)
