"""`detent run` and `detent work`: a crew of worker processes, until nothing is left or until stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from detent.cli.options import Command, with_session
from detent.cli.session import Session
from detent.configuration import SETTINGS, Setting

if TYPE_CHECKING:
    from detent.application import AsyncDetent
    from detent.application.running.report import Report
    from detent.application.values import Recruit
    from detent.cli.news import Telling

F = TypeVar("F", bound=Callable[..., Any])
AT_ONCE = "at once"

_SECTIONS = ("worker", "retry", "handlers")
"""The sections of the settings for which a crew has flags."""


@dataclass(frozen=True)
class Plan:
    """The options of a run, and the settings given by flags."""

    flags: dict[str, object]
    until_idle: bool
    wait_for_later: bool = True
    watch: bool = False
    refresh: bool = False


def worker_options(command: F) -> F:
    """Add a flag for each setting that a crew uses; the values go to the configuration unchanged."""
    for setting in reversed(_heeded()):
        shape = "A,B" if setting.type is tuple else "N"
        command = click.option(setting.flag, _parameter(setting), metavar=shape, help=setting.description)(command)
    return command


def _heeded() -> list[Setting]:
    return [setting for setting in SETTINGS.values() if setting.section in _SECTIONS]


def _parameter(setting: Setting) -> str:
    return setting.name.replace(".", "_")


@click.command(cls=Command, short_help="Work until nothing is left to do.")
@worker_options
@click.option("--no-wait", is_flag=True, help="Do not wait for items that are retried later.")
@click.option("--watch", is_flag=True, help="Watch sources for changes until stopped; restart to pick up new sources.")
@click.option("--refresh", is_flag=True, help="Check with the sources whether finished or failed items have changed.")
@with_session
def run(session: Session, no_wait: bool, watch: bool, refresh: bool, **flags: str | None) -> int:
    """Discover the items of the sources, and process them until nothing is left to do.

    Items that failed for a temporary reason are retried after a delay, and run waits for them. The last lines
    report the result, and so does the exit status: 0 everything is done; 1 items failed, or a source could not be
    discovered completely, while everything else is still processed; 3 nothing failed, but items are left that wait
    for a later retry (--no-wait), belong to a paused source, or have no handler.

    Ctrl-C or SIGTERM stops gracefully: no new items are claimed, items in progress may finish, and the rest are
    released without counting an attempt. A second Ctrl-C stops at once. The exit status is then 130 (143 for
    SIGTERM), and the next run continues from there.

    Concurrency and limits are set, in rising precedence, by [worker] in detent.toml, by a handler itself, by
    [stage.NAME] in detent.toml, by the environment, and by these options; `detent config` shows the settings.

    Sources that list all of their items, such as folders, detect changes on every run. For a wiki, use --refresh.

    \b
    Examples:
      detent run
      detent run --refresh
      detent run --processes 4 --concurrency 32
      detent run --modules my_sources --no-wait
    """
    if watch:
        return _begin(session, Plan(_given(flags), until_idle=False, watch=True, refresh=refresh))
    return _begin(session, Plan(_given(flags), until_idle=True, wait_for_later=not no_wait, refresh=refresh))


@click.command(cls=Command, short_help="Process items, and watch folders for changes.")
@worker_options
@with_session
def watch(session: Session, **flags: str | None) -> int:
    """Do what `detent run` does, then watch sources such as folders for changes until stopped. Restart to pick up
    new sources.

    \b
    Examples:
      detent watch
      detent watch --processes 2
    """
    return _begin(session, Plan(_given(flags), until_idle=False, watch=True))


@click.command(cls=Command, short_help="Work until stopped.")
@worker_options
@with_session
def work(session: Session, **flags: str | None) -> int:
    """Process all items, and wait for more, until stopped by Ctrl-C or SIGTERM.

    Any number can run at the same time, on any machine that reaches the database. It stops as `detent run` does,
    but with exit status 0, the normal end; 130 or 143 if it was stopped at once.

    \b
    Examples:
      detent work
      detent work --processes 8
      detent --database postgresql://db.example/detent work --modules my_sources
    """
    return _begin(session, Plan(_given(flags), until_idle=False))


def _given(flags: dict[str, str | None]) -> dict[str, object]:
    """The flags that were used, by the full names of their settings."""
    named = {setting.name: flags[_parameter(setting)] for setting in _heeded()}
    return {name: value for name, value in named.items() if value is not None}


def _begin(session: Session, plan: Plan) -> int:
    return session.finish(lambda: _with_recruits(session, plan))


async def _with_recruits(session: Session, plan: Plan) -> int:
    """Start the crew's first process at once, then work: it starts while the database opens and items are found."""
    from detent.application.running import recruiting

    async with recruiting() as recruits:
        _require_anything(session, plan)
        return await _work(session, plan, recruits)


def _require_anything(session: Session, plan: Plan) -> None:
    """Require a project, unless modules are configured; create none here."""
    if not session.settings(plan.flags).handlers.modules:
        session.require_project()


async def _work(session: Session, plan: Plan, recruits: list[Recruit]) -> int:
    """Run, show the progress, and report the result."""
    from detent.application import open_async
    from detent.cli.ending import sentence, status
    from detent.cli.news import Telling

    async with open_async(session.project, database=session.database, flags=plan.flags) as db:
        with Telling(session) as telling, _stopping_by_signals(db) as signals:
            db.recruits = recruits
            report = await _ran(db, plan, telling)
            if not report.began:
                return _stopped_early(session, telling, report, signals)
        session.say(sentence(report, db.settings.worker.lease_seconds))
        for failure in report.failures:
            session.say(failure)
    if not plan.until_idle and report.stopped != AT_ONCE:
        return 0
    return 128 + signals[0] if report.stopped else status(report)


async def _ran(db: AsyncDetent, plan: Plan, telling: Telling) -> Report:
    """Run. Failures of discovery are part of the report."""
    from detent.errors import DiscoveryFailed

    try:
        return await db.run(
            wait=plan.wait_for_later,
            watch=plan.watch,
            refresh=plan.refresh,
            until_idle=plan.until_idle,
            processes=None,
            tell=telling.tell,
        )
    except DiscoveryFailed as failed:
        if failed.report is None:
            raise
        return cast("Report", failed.report)


def _stopped_early(session: Session, telling: Telling, report: Report, signals: Sequence[int]) -> int:
    """Report a run that was stopped during discovery; items found until then are kept."""
    from detent.cli.output import counted

    if report.found:
        telling.say(f"Stopped. Items found so far are kept: {counted(report.found, 'item')}.")
    else:
        session.err.print("Stopped.")
    return 128 + signals[0]


@contextlib.contextmanager
def _stopping_by_signals(db: AsyncDetent) -> Iterator[list[int]]:
    """Stop the run on Ctrl-C and SIGTERM, at once on a second one; yield the signals received."""
    import asyncio
    import signal

    came: list[int] = []
    stops = set()
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        came.append(number)
        stops.add(loop.create_task(db.stop()))

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop, int(each))
    try:
        yield came
    finally:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)
