"""The verbs of Detent for services that have an event loop."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from detent.application.connecting import connected
from detent.application.discovery import Discovery, Tell, discover
from detent.application.graph import AsyncGraph
from detent.application.removing import remove_source
from detent.application.searching import WEIGHTS, Searching
from detent.configuration import Configuration, Project
from detent.errors import InvalidLimit
from detent.knowledge import Item, NewItem, Outcome
from detent.knowledge.filters import Filters
from detent.lifecycle import BUILTIN, Lifecycle, RetryPolicy
from detent.sources import Source, require_sources
from detent.store import Entry, Holder, Kind, Page, Receipt, Stage, Store, Story, Tally
from detent.store.ledger.kinds import unknown
from detent.worker.configured import with_configured, with_imported
from detent.worker.duty import declare, duties
from detent.worker.in_process import work_here
from detent.worker.patience import patiently
from detent.worker.remaining import remaining

if TYPE_CHECKING:
    from detent.search import Answer, Suggestion


@dataclass(frozen=True)
class Report:
    """How a run ended. `done` is about this run; everything else is about all items of its sources as they are now."""

    done: int
    """How many steps of items this run completed; an item that went through three stages counts three times."""

    failed: int
    """How many items have failed, in this run or before it."""

    later: int
    """How many items wait for a later retry."""

    first_due: datetime | None
    """When the first of those is tried again."""

    waiting: int = 0
    """How many items wait for anything else: their source is paused, no handler serves their state, or another
    worker has them."""

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
        self.graph = AsyncGraph(store)
        """The graph: neighbours, paths, digest, export and import."""
        self._searching = Searching(store, settings.embedding)

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
        _require_limit(limit)
        stage = Stage(await self._lifecycle(lifecycle), state, self.settings.worker.max_attempts)
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

    async def remove(self, source: str, label: str, keys: Sequence[str]) -> int:
        """Take items that vanished at the source out of the graph, with all that belongs to them; returns how many."""
        return await self.store.remove(source, label, keys)

    async def remove_source(self, name: str, *, tell: Tell | None = None) -> int:
        """Remove a source with all it brought; returns how many items that were.

        It goes in steps, and after each `tell` is called with how many are gone. After an interruption call it again.
        """
        gone = 0
        async with contextlib.aclosing(remove_source(self.store, name)) as steps:
            async for gone in steps:
                if tell is not None:
                    tell(gone)
        return gone

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
        """A page of at most `limit` items; `after` is the `next` of the page before."""
        _require_limit(limit)
        return await self.store.list(
            source=source, label=label, state=state, error_kind=error_kind, limit=limit, after=after
        )

    async def find(self, key: str, *, source: str | None = None, label: str | None = None) -> list[int]:
        """The ids of the items that have this key, of all sources and labels or of those named.

        A key that no item has is an UnknownName, with a suggestion; the list is never empty.
        """
        return await self.store.listing.find(key, source=source, label=label)

    async def show(self, item: int) -> Story:
        """All that is known of one item, by its number; an UnknownName if there is none."""
        return await self.store.show(item)

    async def history(self, item: int) -> list[Entry]:
        """Every move of one item, oldest first, by its number; an UnknownName if there is none."""
        return (await self.store.show(item)).history

    async def search(
        self,
        text: str,
        *,
        mode: str | None = None,
        limit: int = 10,
        filters: Filters | None = None,
        grouped: bool = True,
        around: Sequence[str | int] = (),
        weights: tuple[float, float] = WEIGHTS,
        marks: tuple[str, str] = ("", ""),
    ) -> Answer:
        """The best results for free text: the `hits`, best first, and `notes` that the reader should see.

        `mode` is `hybrid` (words and meaning), `text`, `semantic` or `graph`, which searches around the items that
        `around` names by key or number, and is chosen where that is given. There, `weights` are those of similarity
        and of nearness. `grouped`: of all passages of one article or file the best stands for all. `marks` are put
        around what matches in a snippet.
        """
        return await self._searching.search(
            text,
            mode=mode,
            limit=limit,
            filters=filters,
            grouped=grouped,
            around=around,
            weights=weights,
            marks=marks,
        )

    async def similar(
        self,
        key: str | int,
        *,
        source: str | None = None,
        label: str | None = None,
        limit: int = 10,
        filters: Filters | None = None,
        grouped: bool = True,
    ) -> Answer:
        """What is nearest in meaning to an item, by its key or number. `source` and `label` say which one is meant
        where several have the key; what is found is restricted by `filters`."""
        return await self._searching.similar(
            key, source=source, label=label, limit=limit, filters=filters, grouped=grouped
        )

    async def suggest(self, prefix: str, *, limit: int = 10, filters: Filters | None = None) -> list[Suggestion]:
        """Nodes whose titles begin so. Of the filters, sources and labels are heeded."""
        return await self._searching.suggest(prefix, limit=limit, filters=filters)

    async def discover(self, tell: Tell | None = None) -> int:
        """Let the sources say what items there are; returns how many were new.

        They are added while the sources name them, some thousands at a time, or about every second; after each time,
        `tell` is called with how many were named so far. A source that fails does not keep the others from being
        asked: DiscoveryFailed is raised when all were, and what was named is kept.
        """
        found = await self._discover(tell)
        if found.failure is not None:
            raise found.failure
        return found.added

    async def refresh(self, tell: Tell | None = None) -> int:
        """Ask the sources that can tell how what was done or failed stands now; returns how many items go round again,
        because they have changed, or failed for a reason that may have passed. `tell` is called with how many were
        asked for so far. It fails as `discover` does."""
        from detent.application.refreshing import refresh

        sources = await self._sources()
        await declare(self.store, sources)
        refreshed = await refresh(self.store, sources, tell)
        if refreshed.failures:
            first, *others = refreshed.failures
            first.others = tuple(others)
            raise first
        return refreshed.changed + refreshed.again

    async def run(self, *, wait: bool = True) -> Report:
        """Discover, then work in this process until nothing is left to do; with `wait=False` not for items
        that are to be tried again later.

        If a source fails to name its items, everything there is gets worked on all the same, and DiscoveryFailed
        is raised at the end; its `report` is the one that would have been returned.
        """
        found = await self._discover()
        sources = await with_imported(self.store, await self._sources())
        kinds = await declare(self.store, sources)
        async with work_here(self.store, sources, self.settings, server=self._own_server) as worker:
            await worker.run(until_idle=True, wait_for_later=wait)
            report = await patiently(lambda: self._report(kinds, sources, worker.completed))
        if found.failure is not None:
            found.failure.report = report
            raise found.failure
        return report

    async def _discover(self, tell: Tell | None = None) -> Discovery:
        sources = await self._sources()
        await declare(self.store, sources)
        return await discover(self.store, sources, tell)

    async def _sources(self) -> list[Source]:
        """Those that the program was given, and those that were added to the database."""
        return await with_configured(self.store, self.sources)

    async def _report(self, kinds: Mapping[tuple[str, str], Kind], sources: Sequence[Source], completed: int) -> Report:
        left = await remaining(self.store, duties(sources, kinds, self.settings))
        counted = await self._counted(kinds.values())
        failed = sum(count for kind, state, count in counted if state in kind.lifecycle.failures)
        unfinished = sum(
            count for kind, state, count in counted if state in kind.lifecycle.waiting | kind.lifecycle.working
        )
        return Report(completed, failed, left.later, left.first_due, waiting=unfinished - left.later - left.held_back)

    async def _counted(self, kinds: Iterable[Kind]) -> list[tuple[Kind, str, int]]:
        by_name = {(kind.source, kind.label): kind for kind in kinds}
        counts = await self.store.count_by_state()
        named = [(by_name.get((line.source, line.label)), line.state, line.count) for line in counts]
        return [(kind, state, count) for kind, state, count in named if kind is not None]

    @property
    def _own_server(self) -> Path | None:
        """The folder of the project's own database, if that is the one that is open."""
        return self.project.folder if self.project is not None and self.settings.database is None else None

    async def _lifecycle(self, lifecycle: str | Lifecycle) -> Lifecycle:
        if isinstance(lifecycle, Lifecycle):
            return lifecycle
        if lifecycle not in self.store.kinds.lifecycles:
            await self.store.kinds.refresh()
        known = {**BUILTIN, **self.store.kinds.lifecycles}
        if lifecycle not in known:
            raise unknown("lifecycle", lifecycle, known)
        return known[lifecycle]

    @property
    def _policy(self) -> RetryPolicy:
        retry = self.settings.retry
        return RetryPolicy(self.settings.worker.max_attempts, retry.base_seconds, retry.ceiling_seconds)


@contextlib.asynccontextmanager
async def open_async(
    folder: str | Path | None = None,
    *,
    database: str | None = None,
    sources: Source | Sequence[Source] = (),
    flags: Mapping[str, object] | None = None,
) -> AsyncIterator[AsyncDetent]:
    """Open the database of a project: `folder`, or the nearest one upward, or the working directory.

    A folder that is named must be there.

    `database` names a PostgreSQL server; without it the configured one is used, and without that the
    project's own. `flags` are settings by full name, such as `{"worker.batch_size": 10}`.
    """
    declared = require_sources(sources)
    async with connected(folder, database=database, flags=flags) as opened:
        detent = AsyncDetent(opened.store, opened.settings, opened.project, declared)
        await declare(opened.store, declared)
        with contextlib.closing(detent._searching):
            yield detent


def _require_limit(limit: int) -> None:
    if limit < 1:
        raise InvalidLimit(limit)
