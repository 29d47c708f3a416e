"""The verbs of running: discover, refresh, and work until nothing is left to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from detent.application.verbs import Verbs

if TYPE_CHECKING:
    from detent.application.discovery import Discovery, Tell
    from detent.sources import Source
    from detent.store import Kind


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


class RunVerbs(Verbs):
    """Discover, refresh and run."""

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
        from detent.worker.duty import declare

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
        from detent.worker.configured import with_imported
        from detent.worker.duty import declare
        from detent.worker.in_process import work_here
        from detent.worker.patience import patiently

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
        from detent.application.discovery import discover
        from detent.worker.duty import declare

        sources = await self._sources()
        await declare(self.store, sources)
        return await discover(self.store, sources, tell)

    async def _sources(self) -> list[Source]:
        """Those that the program was given, and those that were added to the database."""
        from detent.worker.configured import with_configured

        return await with_configured(self.store, self.sources)

    async def _report(self, kinds: Mapping[tuple[str, str], Kind], sources: Sequence[Source], completed: int) -> Report:
        from detent.worker.duty import duties
        from detent.worker.remaining import remaining

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
