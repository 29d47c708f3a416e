"""One run from beginning to end: ask the sources, have workers do what there is, and report how it ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from detent.application.running.asking import Asking
from detent.application.running.declared import declared, nothing_declared, require_known_stages
from detent.application.running.ending import ending
from detent.application.running.news import Listener, News, OnlyEmbedding
from detent.application.running.report import AT_ONCE, GENTLY, Report
from detent.application.running.shift import Shift, Workers
from detent.errors import DatabaseAway, DetentError, DiscoveryFailed, InvalidSource
from detent.worker.configured import with_imported
from detent.worker.duty import Duty, declare, duties, waits_to_be_embedded
from detent.worker.patience import patiently
from detent.worker.remaining import is_all_done, processes_for

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.sources import Source
    from detent.store import Kind
    from detent.worker.recruit import Recruit


@dataclass(frozen=True)
class Plan:
    """The options of a run. `processes` is 0 for this process, and None to choose the number by the work."""

    wait: bool = True
    until_idle: bool = True
    watch: bool = False
    refresh: bool = False
    processes: int | None = 0

    @property
    def discovers(self) -> bool:
        """True if the run discovers items; a run that works until stopped leaves discovery to others."""
        return self.until_idle or self.watch

    @property
    def is_here(self) -> bool:
        return self.processes == 0


@dataclass(frozen=True)
class Prepared:
    """The preparation of a run. Without workers there is nothing to do."""

    kinds: Mapping[tuple[str, str], Kind]
    duties: Sequence[Duty]
    failures: Sequence[DiscoveryFailed]
    workers: Workers | None


class Run:
    """One run. `given` are the sources that a program declared; without any there are those of the modules.

    Stopping it before work begins ends it at once; what the sources have named until then is kept.
    """

    def __init__(
        self,
        opened: Connected,
        given: Sequence[Source],
        plan: Plan,
        tell: Listener | None = None,
        recruits: list[Recruit] | None = None,
    ) -> None:
        self._opened = opened
        self._store = opened.store
        self._settings = opened.settings
        self._given = given
        self._plan = plan
        self._listener = tell
        self._recruits = recruits
        self._asking: Asking | None = None
        self._preparing: asyncio.Task[Prepared | Report] | None = None
        self._shift: Shift | None = None
        self._stopped: str | None = None
        self._stopping = asyncio.Event()

    def stop(self, *, at_once: bool = False) -> None:
        """Stop it: what has begun may finish for the grace period; a second time, or `at_once`, it is given back."""
        self._stopping.set()
        if self._shift is not None:
            self._shift.stop(at_once=at_once)
            return
        self._stopped = AT_ONCE if self._stopped or at_once else GENTLY
        if self._preparing is not None:
            self._preparing.cancel()

    async def run(self) -> Report:
        """Run until nothing is left to do or it is stopped. What sources could not name is raised at the end."""
        try:
            self._preparing = asyncio.create_task(self._prepare())
            prepared = await self._preparing
            if self._stopped:  # in the last moment
                raise asyncio.CancelledError
            report = prepared if isinstance(prepared, Report) else await self._work(prepared)
        except asyncio.CancelledError:
            if not self._stopped or _is_cancelled():
                raise
            found = self._asking.found if self._asking else 0
            return Report(0, 0, 0, None, stopped=self._stopped, found=found, began=False)
        finally:
            if self._asking is not None and (self._shift is None or not self._plan.is_here):
                await self._asking.close()  # a worker of this process closes them itself
        if isinstance(prepared, Prepared) and prepared.failures:
            first, *others = prepared.failures
            first.others, first.report = tuple(others), report
            raise first
        return report

    def _tell(self, news: News) -> None:
        if self._listener is not None:
            self._listener(news)

    async def _prepare(self) -> Prepared | Report:
        known = await declared(self._opened, self._given)
        if not known and not await waits_to_be_embedded(self._store):
            return await self._without_sources()
        sources = await with_imported(self._store, known)
        self._check(known, sources)
        kinds = await declare(self._store, sources)
        found = duties(sources, kinds, self._settings)
        if not found:
            raise InvalidSource("Your sources declare no handlers, so there is nothing to do for a worker.")
        self._asking = Asking(self._store, sources, self._tell)
        failures = await self._asking.discover() if self._plan.discovers else []
        if self._plan.refresh:
            failures += await self._asking.refresh()
        return Prepared(kinds, found, failures, await self._workers(sources, found))

    def _check(self, known: Sequence[Source], sources: Sequence[Source]) -> None:
        if not known:
            self._tell(OnlyEmbedding())
        if not self._given:
            require_known_stages(self._opened, sources)
        elif not self._plan.is_here:
            raise InvalidSource(
                "Worker processes do not know the sources that were given to detent.open(). Name the module that "
                "declares them in the setting handlers.modules, or work in this process, with processes=0."
            )

    async def _without_sources(self) -> Report:
        """No source is declared, and nothing waits to be embedded: a mistake, unless everything is done."""
        if self._plan.until_idle and not self._settings.handlers.modules:
            kinds = await self._store.kinds.select()
            report = await ending(self._store, kinds, [])
            if kinds and report.complete:
                return report
        raise InvalidSource(nothing_declared(self._opened))

    async def _workers(self, sources: Sequence[Source], found: Sequence[Duty]) -> Workers | None:
        if self._plan.is_here:
            from detent.worker.in_process import InProcess

            return InProcess(
                self._store,
                sources,
                self._settings,
                server=self._opened.own_server,
                until_idle=self._plan.until_idle,
                wait_for_later=self._plan.wait,
            )
        wanted = self._plan.processes or self._settings.worker.processes
        processes = wanted or await processes_for(self._store, found)
        if self._plan.until_idle and await is_all_done(self._store, found):
            return None
        from detent.worker.crew import Crew  # not needed where there is nothing to do

        return Crew(
            self._store,
            self._settings,
            found,
            project=self._opened.place,
            modules=self._settings.handlers.modules,
            flags=dict(self._opened.located.flags),
            until_idle=self._plan.until_idle,
            wait_for_later=self._plan.wait,
            recruits=self._recruits,
            processes=processes,
        )

    async def _work(self, prepared: Prepared) -> Report:
        completed, stopped = 0, None
        if prepared.workers is not None:
            self._shift = Shift(self._opened, prepared.workers, prepared.duties, self._listener)
            beside = self._asking.keep_up() if self._asking and self._plan.watch else None
            await self._shift.run(beside)
            completed, stopped = prepared.workers.completed, self._shift.stopped
        return replace(
            await self._report(prepared, completed),
            failures=tuple(str(failure) for failure in prepared.failures),
            found=self._asking.found if self._asking else 0,
            stopped=stopped,
        )

    async def _report(self, prepared: Prepared, completed: int) -> Report:
        """The report of the run. It waits for the database, unless the run was stopped."""
        away = Report(completed, 0, 0, None, away=True)
        if self._stopping.is_set() and self._shift and self._shift.away:
            return away

        async def ended() -> Report:
            return await ending(self._store, prepared.kinds.values(), prepared.duties, completed)

        try:
            return await patiently(ended, unless=self._stopping, revive=self._revive)
        except DatabaseAway:
            return away

    async def _revive(self) -> None:
        with contextlib.suppress(DetentError):
            await self._opened.located.revive()


def _is_cancelled() -> bool:
    """Tell whether the caller is cancelled."""
    here = asyncio.current_task()
    return here is not None and here.cancelling() > 0
