"""The verbs of Detent for services that have an event loop."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from detent.application.connecting import connected
from detent.configuration import Configuration, Project
from detent.knowledge import Item, NewItem, Outcome
from detent.lifecycle import BUILTIN, Lifecycle, RetryPolicy
from detent.sources import Source
from detent.store import Entry, Holder, Kind, Page, Receipt, Stage, Store, Story, Tally
from detent.worker import declare, remaining, work_here
from detent.worker.duty import duties


@dataclass(frozen=True)
class Report:
    """How a run ended.

    `done` counts the steps of items that this run completed. The rest is about all items of its sources:
    `failed` counts those that have failed, now and before; `later` those that wait for a later retry, the
    first of them until `first_due`; `waiting` those that wait for anything else, because their source is
    paused, or no handler serves their state, or another worker has them.
    """

    done: int
    failed: int
    later: int
    first_due: datetime | None
    waiting: int = 0

    @property
    def ok(self) -> bool:
        """Whether everything is done."""
        return not (self.failed or self.later or self.waiting)


class AsyncDetent:
    """An open database with its verbs. Made by `detent.open_async()`."""

    def __init__(
        self, store: Store, settings: Configuration, project: Project | None, sources: Sequence[Source]
    ) -> None:
        self.store = store
        self.settings = settings
        self.project = project
        self.sources = list(sources)

    async def declare(self, source: str, label: str, lifecycle: Lifecycle) -> None:
        """Make a source's label known, with the lifecycle that its items follow."""
        await self.store.declare(source, label, lifecycle)

    async def add(self, source: str, label: str, items: Iterable[str | NewItem]) -> int:
        """Add items that are not there yet, by key or as NewItem; returns how many were new."""
        return await self.store.add(source, label, items)

    async def claim(
        self,
        lifecycle: str | Lifecycle,
        state: str,
        *,
        owner: str,
        limit: int = 100,
        lease_seconds: float | None = None,
    ) -> list[Item]:
        """Take up to `limit` items that wait in `state`, under one lease."""
        stage = Stage(self._lifecycle(lifecycle), state, self.settings.worker.max_attempts)
        seconds = lease_seconds or self.settings.worker.lease_seconds
        return await self.store.claim(stage, owner=owner, limit=limit, lease_seconds=seconds)

    async def renew(self, tokens: Iterable[int]) -> set[int]:
        """Keep leases; those that are not returned are lost."""
        return await self.store.renew(tokens)

    async def settle(self, outcomes: Sequence[tuple[Item, Outcome]]) -> list[Receipt]:
        """Write what became of items, each all or nothing; says of each what happened."""
        return await self.store.settle(outcomes, self._policy)

    async def release(self, items: Sequence[Item]) -> list[Receipt]:
        """Give items back untried."""
        return await self.store.release(items)

    async def rescue(self) -> dict[int, str]:
        """Take back the items of leases that ran out; returns where each went. Workers do this by themselves."""
        return await self.store.rescue()

    async def mark_changed(self, source: str, label: str, hashes: Mapping[str, str]) -> int:
        """Send items whose content hash is a new one round again; returns how many that were."""
        return await self.store.mark_changed(source, label, hashes)

    async def retry(self, ids: Sequence[int], *, to: str | None = None) -> int:
        """Send failed items round once more; returns how many that were."""
        return await self.store.retry(ids, to=to)

    async def reset(self, ids: Sequence[int]) -> int:
        """Put items back to the beginning; returns how many that were."""
        return await self.store.reset(ids)

    async def pause(self, source: str) -> None:
        """Let nothing more of this source be claimed."""
        await self.store.pause(source)

    async def resume(self, source: str) -> None:
        """Let this source be worked on again."""
        await self.store.resume(source)

    async def workers(self) -> Sequence[Holder]:
        """Who holds work now."""
        return await self.store.workers()

    async def count_by_state(self) -> list[Tally]:
        """How many items there are of each source and label in each state."""
        return await self.store.count_by_state()

    async def items(
        self,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """A page of items; `after` is the `next` of the page before."""
        return await self.store.list(
            source=source, label=label, state=state, error_kind=error_kind, limit=limit, after=after
        )

    async def find(self, key: str, *, source: str | None = None, label: str | None = None) -> list[int]:
        """The ids of the items that have this key."""
        return await self.store.listing.find(key, source=source, label=label)

    async def show(self, item: int) -> Story:
        """All that is known of one item."""
        return await self.store.show(item)

    async def history(self, item: int) -> list[Entry]:
        """Every move of one item, oldest first."""
        return await self.store.history(item)

    async def discover(self) -> int:
        """Let the sources say what items there are; returns how many were new."""
        await declare(self.store, self.sources)
        added = 0
        for source in self.sources:
            if source.discover is not None:
                for label, new in _by_label(source.discover()).items():
                    added += await self.store.add(source.name, label, new)
        return added

    async def run(self, *, wait: bool = True) -> Report:
        """Discover, then work in this process until nothing is left to do; with `wait=False` not for items
        that are to be tried again later."""
        await self.discover()
        kinds = await declare(self.store, self.sources)
        found = duties(self.sources, kinds, self.settings)
        async with work_here(self.store, self.sources, self.settings, server=self._own_server) as worker:
            await worker.run(until_idle=True, wait_for_later=wait)
        left = await remaining(self.store, found)
        counted = await self._counted(kinds.values())
        failed = sum(count for kind, state, count in counted if state in kind.lifecycle.failures)
        unfinished = sum(
            count for kind, state, count in counted if state in kind.lifecycle.waiting | kind.lifecycle.working
        )
        return Report(worker.completed, failed, left.later, left.first_due, waiting=unfinished - left.later)

    async def _counted(self, kinds: Iterable[Kind]) -> list[tuple[Kind, str, int]]:
        by_name = {(kind.source, kind.label): kind for kind in kinds}
        counts = await self.store.count_by_state()
        named = [(by_name.get((line.source, line.label)), line.state, line.count) for line in counts]
        return [(kind, state, count) for kind, state, count in named if kind is not None]

    @property
    def _own_server(self) -> Path | None:
        """The folder of the project's own database, if that is the one that is open."""
        return self.project.folder if self.project is not None and self.settings.database is None else None

    def _lifecycle(self, lifecycle: str | Lifecycle) -> Lifecycle:
        if isinstance(lifecycle, Lifecycle):
            return lifecycle
        return self.store.kinds.lifecycles.get(lifecycle) or BUILTIN[lifecycle]

    @property
    def _policy(self) -> RetryPolicy:
        retry = self.settings.retry
        return RetryPolicy(self.settings.worker.max_attempts, retry.base_seconds, retry.ceiling_seconds)


def _by_label(found: Iterable[NewItem]) -> dict[str, list[NewItem]]:
    by_label: dict[str, list[NewItem]] = {}
    for new in found:
        by_label.setdefault(new.label, []).append(new)
    return by_label


@contextlib.asynccontextmanager
async def open_async(
    folder: str | Path | None = None,
    *,
    database: str | None = None,
    sources: Sequence[Source] = (),
    flags: Mapping[str, object] | None = None,
) -> AsyncIterator[AsyncDetent]:
    """Open the database of a project: `folder`, or the nearest one upward, or the working directory.

    `database` names a PostgreSQL server; without it the configured one is used, and without that the
    project's own. `flags` are settings by full name, such as `{"worker.batch_size": 10}`.
    """
    async with connected(folder, database=database, flags=flags) as opened:
        detent = AsyncDetent(opened.store, opened.settings, opened.project, sources)
        await declare(opened.store, sources)
        yield detent
