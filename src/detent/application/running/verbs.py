"""The verbs of running: discover, refresh, run and stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detent.application.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detent.application.connecting import Connected
    from detent.application.discovery import Tell
    from detent.application.running.news import Listener
    from detent.application.running.report import Report
    from detent.application.running.run import Run
    from detent.sources import Source
    from detent.worker.recruit import Recruit


class RunVerbs(Verbs):
    """Discover, refresh, run and stop."""

    def __init__(self, opened: Connected, sources: Sequence[Source] = ()) -> None:
        super().__init__(opened, sources)
        self.recruits: list[Recruit] = []
        """Worker processes that `recruiting()` has started before; a run with processes takes them."""
        self._runs: list[Run] = []

    async def run(
        self,
        *,
        wait: bool = True,
        watch: bool = False,
        refresh: bool = False,
        until_idle: bool = True,
        processes: int | None = 0,
        tell: Listener | None = None,
    ) -> Report:
        """Discover, then work until nothing is left to do; with `wait=False` not for items of a later retry.

        With `watch` it goes on and keeps up with sources that tell of changes, and with `until_idle=False` it works
        on whatever there is and does not discover; both until `stop()`. `refresh` asks the sources what has changed.

        `processes` is the number of worker processes, which import the modules of the setting `handlers.modules`; None
        stands for as many as the settings say or are worth it, and 0 for this process. `tell` is called with what
        happens meanwhile, such as `Progress`.

        If a source fails to name its items, everything there is gets worked on all the same, and DiscoveryFailed
        is raised at the end; its `report` is the one that would have been returned.
        """
        from detent.application.running.run import Plan, Run

        plan = Plan(wait, until_idle and not watch, watch, refresh, processes)
        run = Run(self.opened, self.sources, plan, tell, self.recruits)
        self._runs.append(run)
        try:
            return await run.run()
        finally:
            self._runs.remove(run)

    async def stop(self, *, at_once: bool = False) -> bool:
        """Stop what `run` is doing; returns whether it was doing anything.

        What has begun may finish for `worker.grace_seconds`. A second call, or `at_once`, does not wait for that. What
        is unfinished is given back and does not count as an attempt.
        """
        for run in self._runs:
            run.stop(at_once=at_once)
        return bool(self._runs)

    async def discover(self, tell: Tell | None = None) -> int:
        """Let the sources name their items; returns the number of new ones.

        They are added while the sources name them, some thousands at a time, or about every second; after each time,
        `tell` is called with the number of items named so far. A source that fails does not keep the others from being
        asked: DiscoveryFailed is raised when all were, and what was named is kept.
        """
        from detent.application.discovery import discover

        found = await discover(self.store, await self._declared(), tell)
        if found.failure is not None:
            raise found.failure
        return found.added

    async def refresh(self, tell: Tell | None = None) -> int:
        """Ask the sources that can tell what has changed of what was done or failed; returns the number of items that
        are worked on again, because they have changed, or failed for a reason that may have passed. `tell` is called
        with the number of items asked for so far. It fails as `discover` does."""
        from detent.application.refreshing import refresh

        refreshed = await refresh(self.store, await self._declared(), tell)
        if refreshed.failures:
            first, *others = refreshed.failures
            first.others = tuple(others)
            raise first
        return refreshed.changed + refreshed.again

    async def _declared(self) -> list[Source]:
        """The sources of this program, declared in the database."""
        from detent.application.running.declared import declared
        from detent.worker.duty import declare

        sources = await declared(self.opened, self.sources)
        await declare(self.store, sources)
        return sources
