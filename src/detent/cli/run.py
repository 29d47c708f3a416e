"""`detent run` and `detent work`: a crew of worker processes, until nothing is left or until stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from detent.cli.options import Command, with_session
from detent.cli.session import Session
from detent.configuration import SETTINGS, Setting
from detent.errors import InvalidSource

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.cli.ending import Ending
    from detent.cli.shift import Shift
    from detent.configuration import Project
    from detent.errors import DiscoveryFailed
    from detent.sources import Source
    from detent.store import Kind
    from detent.worker.crew import Crew
    from detent.worker.duty import Duty
    from detent.worker.recruit import Recruit

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_SECTIONS = ("worker", "retry", "handlers")
"""The sections of the settings for which a crew has flags."""


@dataclass(frozen=True)
class Plan:
    """What a crew is to do, and how it is told to."""

    flags: dict[str, object]
    until_idle: bool
    wait_for_later: bool = True
    watch: bool = False
    refresh: bool = False


def worker_options(command: F) -> F:
    """A flag for each setting that a crew heeds; they go to the configuration as they are."""
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
@click.option("--no-wait", is_flag=True, help="Do not wait for items that are to be tried again later.")
@click.option("--watch", is_flag=True, help="Go on, and keep up with sources that tell of changes, until stopped.")
@click.option("--refresh", is_flag=True, help="Ask the sources what has changed of all that was done or failed.")
@with_session
def run(session: Session, no_wait: bool, watch: bool, refresh: bool, **flags: str | None) -> int:
    """Let the sources say what items there are, and work until nothing is left to do.

    Items that failed for a passing reason are tried again after a while, and run waits for them. The last lines
    say how it ended, and so does the exit status: 0 everything is done; 1 items failed, or a source could not name
    all of its items, which keeps nothing else from being worked on; 3 nothing failed, but items are left that wait
    for a later retry (--no-wait), belong to a paused source, or have no handler.

    Ctrl-C or SIGTERM stops gently: no new work is taken, what has been begun may finish, and the rest is given
    back without counting as an attempt. A second Ctrl-C stops at once. The exit status is then 130 (143 for
    SIGTERM), and the next run goes on from there.

    How much is done at a time is said, in rising precedence, by [worker] in detent.toml, by a handler itself, by
    [stage.NAME] in detent.toml, by the environment, and by these options; `detent config` shows the settings.

    Sources that name all there is, as folders do, notice by themselves what has changed. Of a wiki, --refresh asks.

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


@click.command(cls=Command, short_help="Work, and keep up with folders as they change.")
@worker_options
@with_session
def watch(session: Session, **flags: str | None) -> int:
    """Do what `detent run` does, and keep up with sources that tell of changes, such as folders, until stopped.

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
    """Work on whatever there is, and wait for more, until stopped by Ctrl-C or SIGTERM.

    It can run any number of times, on any machine that reaches the database. It stops as `detent run` does, but
    with exit status 0, since being stopped is how it ends; 130 or 143 if it was stopped at once.

    \b
    Examples:
      detent work
      detent work --processes 8
      detent --database postgresql://db.example/detent work --modules my_sources
    """
    return _begin(session, Plan(_given(flags), until_idle=False))


def _begin(session: Session, plan: Plan) -> int:
    return session.finish(lambda: _with_recruits(session, plan))


def _given(flags: dict[str, str | None]) -> dict[str, object]:
    """The flags that were used, by the full names of their settings."""
    named = {setting.name: flags[_parameter(setting)] for setting in _heeded()}
    return {name: value for name, value in named.items() if value is not None}


async def _with_recruits(session: Session, plan: Plan) -> int:
    """Work. The crew's first process starts at once: until there is something for it to do takes as long."""
    from detent.worker.recruit import recruiting

    async with recruiting() as recruits:
        _require_anything(session, plan)
        async with session.opened(plan.flags) as opened:
            return await _work(session, opened, plan, recruits)


def _require_anything(session: Session, plan: Plan) -> None:
    """Make no project where there is nothing to do for one."""
    if not session.settings(plan.flags).handlers.modules:
        session.require_project()


async def _work(session: Session, opened: Connected, plan: Plan, recruits: list[Recruit]) -> int:
    """Discover, employ a crew, and say how it ended."""
    from detent.cli import asking
    from detent.cli.display import display
    from detent.cli.ending import SOME_FAILED
    from detent.cli.shift import Shift
    from detent.worker.configured import with_configured, with_imported
    from detent.worker.duty import declare, duties, waits_to_be_embedded
    from detent.worker.remaining import is_all_done, processes_for

    project = _project(opened)
    declared = await with_configured(opened.store, _declared(opened, project))
    if not declared and not await waits_to_be_embedded(opened.store):
        return await _without_sources(session, opened, project, plan)
    sources = await with_imported(opened.store, declared)
    if not declared:
        session.say("No sources are declared, so that nothing is done but to embed what waits for it.")
    _require_stages(opened, project, sources)
    failures: Sequence[DiscoveryFailed] = ()
    with display(session.err) as shown:
        kinds = await declare(opened.store, sources)
        found = duties(sources, kinds, opened.settings)
        if not found:
            raise InvalidSource("Your sources declare no handlers, so there is nothing to do for a worker.")
        if plan.until_idle or plan.watch:
            failures = await asking.discover_all(opened, sources, shown)
        if plan.refresh:
            failures = [*failures, *await asking.refresh_all(opened, sources, shown)]
        processes = await processes_for(opened.store, found)
        crew = _crew(opened, project, found, plan, recruits=recruits, processes=processes)
        shift = Shift(opened, crew, found, shown)
        if not plan.until_idle or not await is_all_done(opened.store, found):
            await shift.run(asking.keep_up(opened, sources, shown) if plan.watch else None)
    ended = await _ending(opened, shift, list(kinds.values()), found)
    session.say(ended.sentence)
    for failure in failures:
        session.say(str(failure))
    if not plan.until_idle and not shift.killed:
        return 0
    return SOME_FAILED if failures and shift.signal is None else ended.status


def _project(opened: Connected) -> Project:
    """The project whose folder the modules are looked for in."""
    from pathlib import Path

    from detent.configuration import Project

    return opened.project or Project(Path.cwd())


def _declared(opened: Connected, project: Project) -> list[Source]:
    from detent.worker.modules import load_sources

    modules = opened.settings.handlers.modules
    try:
        return load_sources(modules, project)
    except SystemExit as left:
        raise InvalidSource(
            f"The program was ended by sys.exit({left.code!r}) while the modules {', '.join(modules)} were imported. "
            'What only a script does belongs below `if __name__ == "__main__":`.'
        ) from left


async def _without_sources(session: Session, opened: Connected, project: Project, plan: Plan) -> int:
    """No module declares a source, and nothing waits to be embedded: a mistake, unless everything is done."""
    from detent.cli.ending import ALL_DONE, ending

    if plan.until_idle and not opened.settings.handlers.modules:
        kinds = await opened.store.kinds.select()
        ended = await ending(opened.store, kinds, [], None)
        if kinds and ended.status == ALL_DONE:
            session.say(ended.sentence)
            return ALL_DONE
    raise InvalidSource(_nothing_declared(opened, project))


def _nothing_declared(opened: Connected, project: Project) -> str:
    modules = opened.settings.handlers.modules
    if modules:
        return f"The modules {', '.join(modules)} declare no sources: their lists SOURCES are empty."
    return (
        "No sources are configured. Add a folder with `detent add files NAME FOLDER` or a wiki with `detent add wiki`; "
        f"or name the Python modules that declare your own in {project.file}, as "
        'modules = ["my_module"] under [handlers], or with --modules; `detent init` writes that file.'
    )


def _require_stages(opened: Connected, project: Project, sources: Sequence[Source]) -> None:
    """Refuse settings of stages that do not exist, unless these are not all of the project's modules."""
    from detent.configuration import load, require_stages

    modules = load(project, environment={}).handlers.modules
    if set(modules) <= set(opened.settings.handlers.modules):
        lifecycles = [lifecycle for source in sources for lifecycle in source.lifecycles.values()]
        places = [(lifecycle.name, state) for lifecycle in lifecycles for state in lifecycle.working]
        require_stages(
            opened.settings, [name for lifecycle, state in places for name in (state, f"{lifecycle}.{state}")]
        )


def _crew(
    opened: Connected, project: Project, found: Sequence[Duty], plan: Plan, *, recruits: list[Recruit], processes: int
) -> Crew:
    from detent.worker.crew import Crew

    return Crew(
        opened.store,
        opened.settings,
        found,
        project=project,
        modules=opened.settings.handlers.modules,
        flags=plan.flags,
        until_idle=plan.until_idle,
        wait_for_later=plan.wait_for_later,
        recruits=recruits,
        processes=processes,
    )


async def _ending(opened: Connected, shift: Shift, kinds: Sequence[Kind], found: Sequence[Duty]) -> Ending:
    from detent.cli.ending import Ending, ending

    if shift.signal is None or not shift.away:
        return await ending(opened.store, kinds, found, shift.signal)
    seconds = opened.settings.worker.lease_seconds
    return Ending(
        "Stopped while the database does not answer. Nothing is lost: what was being worked on is given back "
        f"{seconds:g} s after its last renewal.",
        128 + shift.signal,
    )
