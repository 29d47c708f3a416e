"""`detent run` and `detent work`: a crew of worker processes, until nothing is left or until stopped."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from detent.cli.options import Command, with_session
from detent.cli.session import Session
from detent.errors import InvalidSource

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.cli.ending import Ending
    from detent.cli.shift import Shift
    from detent.configuration import Project
    from detent.sources import Source
    from detent.store import Kind
    from detent.worker import Crew
    from detent.worker.duty import Duty

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS = {
    "worker.processes": "How many worker processes.",
    "worker.batch_size": "How many items one claim takes at most.",
    "worker.concurrency": "How many items of a stage one process works on at the same time.",
    "worker.lease_seconds": "How long a claim holds after its last renewal.",
    "worker.time_limit_seconds": "How long a handler may take for an item.",
    "worker.max_attempts": "How often an item is tried before it has failed.",
    "worker.grace_seconds": "How long workers that are asked to stop may finish what they have begun.",
    "worker.poll_seconds": "How long an idle worker waits before it looks again.",
    "handlers.modules": "The Python modules with your sources, separated by commas.",
}


@dataclass(frozen=True)
class Plan:
    """What a crew is to do, and how it is told to."""

    flags: dict[str, object]
    until_idle: bool
    wait_for_later: bool = True


def worker_options(command: F) -> F:
    """A flag for each setting that a crew heeds; they go to the configuration as they are."""
    for name, words in reversed(_FLAGS.items()):
        key = name.rpartition(".")[2]
        shape = "A,B" if key == "modules" else "N"
        command = click.option(f"--{key.replace('_', '-')}", metavar=shape, help=words)(command)
    return command


@click.command(cls=Command, short_help="Work until nothing is left to do.")
@worker_options
@click.option("--no-wait", is_flag=True, help="Do not wait for items that are to be tried again later.")
@with_session
def run(session: Session, no_wait: bool, **flags: str | None) -> int:
    """Let the sources say what items there are, and work until nothing is left to do.

    Items that failed for a passing reason are tried again after a while, and run waits for them. The last line
    says how it ended, and so does the exit status: 0 everything is done; 1 items failed; 3 nothing failed, but
    items are left that wait for a later retry (--no-wait), belong to a paused source, or have no handler.

    Ctrl-C or SIGTERM stops gently: no new work is taken, what has been begun may finish, and the rest is given
    back without counting as an attempt. A second Ctrl-C stops at once. The exit status is then 130 (143 for
    SIGTERM), and the next run goes on from there.

    The options take precedence over detent.toml and the environment; `detent config` shows the settings.

    \b
    Examples:
      detent run
      detent run --processes 4 --concurrency 32
      detent run --modules my_sources --no-wait
    """
    return _begin(session, Plan(_given(flags), until_idle=True, wait_for_later=not no_wait))


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
    return session.with_store(lambda opened: _work(session, opened, plan), plan.flags)


def _given(flags: dict[str, str | None]) -> dict[str, object]:
    """The flags that were used, by the full names of their settings."""
    named = {name: flags[name.rpartition(".")[2]] for name in _FLAGS}
    return {name: value for name, value in named.items() if value is not None}


async def _work(session: Session, opened: Connected, plan: Plan) -> int:
    """Discover, employ a crew, and say how it ended."""
    from detent.application import AsyncDetent
    from detent.cli.display import display
    from detent.cli.shift import Shift
    from detent.worker import declare
    from detent.worker.duty import duties

    project = _project(opened)
    sources = _sources(opened, project)
    kinds = await declare(opened.store, sources)
    found = duties(sources, kinds, opened.settings)
    if not found:
        raise InvalidSource("Your sources declare no handlers, so there is nothing to do for a worker.")
    if plan.until_idle:
        with _interruptible():
            added = await AsyncDetent(opened.store, opened.settings, project, sources).discover()
        _tell_discovery(session, added)
    with display(session.err) as shown:
        shift = Shift(opened, _crew(opened, project, found, plan), found, shown)
        await shift.run()
    ended = await _ending(opened, shift, list(kinds.values()), found)
    session.say(ended.sentence)
    if not plan.until_idle and not shift.killed:
        return 0
    return ended.status


def _project(opened: Connected) -> Project:
    """The project whose folder the modules are looked for in."""
    from pathlib import Path

    from detent.configuration import Project

    return opened.project or Project(Path.cwd())


def _sources(opened: Connected, project: Project) -> list[Source]:
    from detent.worker.modules import load_sources

    modules = opened.settings.handlers.modules
    if not modules:
        raise InvalidSource(
            f"No sources are configured. Name the Python modules that declare them in {project.file}, as "
            'modules = ["my_module"] under [handlers], or with --modules; `detent init` writes that file.'
        )
    found = load_sources(modules, project)
    if not found:
        raise InvalidSource(f"The modules {', '.join(modules)} declare no sources: their lists SOURCES are empty.")
    return found


def _crew(opened: Connected, project: Project, found: Sequence[Duty], plan: Plan) -> Crew:
    from detent.worker import Crew

    return Crew(
        opened.store,
        opened.settings,
        found,
        project=project,
        modules=opened.settings.handlers.modules,
        flags=plan.flags,
        until_idle=plan.until_idle,
        wait_for_later=plan.wait_for_later,
    )


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """A source's discovery is somebody's code and may take long: a signal ends it at once, and nothing is lost."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminated(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _tell_discovery(session: Session, added: int) -> None:
    from detent.cli.output import counted

    if added:
        session.err.print(f"The sources named {counted(added, 'new item')}.", soft_wrap=True)


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
