"""The care of a database: what it is, whether its counts are right, its schema, its journal, and Detent's own server.

What an open database is needed for are verbs; the rest are functions, which neither start a server nor change a schema
unless that is what they are for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from detent.application.connecting import located, project_at, settings_of
from detent.application.selecting import moment
from detent.application.verbs import Verbs
from detent.configuration import Project
from detent.errors import DatabaseAway, DetentError
from detent.knowledge.value import Value

if TYPE_CHECKING:
    from detent.configuration import Configuration
    from detent.store.server import Facts


@dataclass(frozen=True)
class Checked(Value):
    """Sentences on what is wrong in a database, and on what was wrong and has been repaired."""

    problems: Sequence[str]
    repaired: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        """Tells whether nothing is wrong any more."""
        return not self.problems

    def as_data(self) -> dict[str, object]:
        """The same for JSON."""
        return {"ok": self.ok, **super().as_data()}


@dataclass(frozen=True)
class Pruned(Value):
    """The months, such as 2025-06, that were dropped from the journal, all of whose moves were made before a time."""

    before: datetime
    months: Sequence[str]


@dataclass(frozen=True)
class Upgraded(Value):
    """The steps by which a schema was brought up to date, and its version."""

    steps: Sequence[str]
    version: int


@dataclass(frozen=True)
class DatabaseInfo(Value):
    """A database and its server. `server` is `own` or `given`; passwords in `address` are hidden. `error` tells why
    it does not answer. What is not known is None. `users` are the processes that use Detent's own server, and `held`
    tells that it was started to stay."""

    server: str
    address: str | None
    running: bool
    error: str | None
    version: str | None
    data_folder: Path | None
    socket_folder: Path | None
    pid: int | None
    size_bytes: int | None
    connections: int | None
    schema_version: int | None
    newest_schema_version: int
    users: Sequence[int]
    held: bool


@dataclass(frozen=True)
class StoppedServer(Value):
    """Detent's own server of a project after it was stopped: its folder, and whether it ran before."""

    folder: Path
    ran: bool


class DatabaseVerbs(Verbs):
    """Check an open database, and prune its journal."""

    async def check(self, *, repair: bool = False) -> Checked:
        """Compare the counts with the items, and each item with its place. It reads all items; workers go on meanwhile.

        `repair` counts all items anew where the counts are wrong.
        """
        before = await self.store.tallies.check()
        if not before or not repair:
            return Checked(before)
        await self.store.tallies.repair()
        after = await self.store.tallies.check()
        return Checked(after, [problem for problem in before if problem not in after])

    async def prune(self, *, before: datetime | str | None = None, keep_days: int | None = None) -> Pruned:
        """Drop the moves from the journal that were made before a time, or are older than so many days.

        Whole months are dropped, once all of a month is old enough. Default: the setting `journal.retention_days`.
        """
        limit = prune_limit(self.settings, before, keep_days)
        dropped = await self.store.journal.prune(limit)
        return Pruned(limit, [name.removeprefix("journal_").replace("_", "-") for name in dropped])


def prune_limit(
    settings: Configuration, before: datetime | str | None = None, keep_days: int | None = None
) -> datetime:
    """The time before which moves are dropped from the journal."""
    if before is not None and keep_days is not None:
        raise DetentError("Say before which time, or how many days are kept, not both.")
    if (limit := moment(before)) is not None:
        return limit
    days = keep_days or settings.journal.retention_days
    if days is None:
        raise DetentError(
            "The journal is kept for ever: the setting journal.retention_days is unset. "
            "Set it, or say what to drop with --keep-days or --before."
        )
    return datetime.now(UTC) - timedelta(days=days)


async def upgrade(folder: str | Path | None = None, *, database: str | None = None) -> Upgraded:
    """Bring the schema of a project's database up to date. Opening a database does that too."""
    from detent.store import server

    async with located(folder, database=database) as found:
        applied = await server.upgrade(found.conninfo)
    return Upgraded([f"{step.number:04d} {step.name}" for step in applied], server.newest_schema())


async def information(folder: str | Path | None = None, *, database: str | None = None) -> DatabaseInfo:
    """Everything about a project's database and its server. Nothing is started or changed."""
    from detent.postgres import ServerInfo, describe
    from detent.store.server import newest_schema

    project = project_at(folder)
    settings = settings_of(project, database=database)
    given = settings.database is not None
    own = describe(project.folder) if project and not given else ServerInfo(running=False)
    asked, error = await _ask(folder, database) if given or own.running else (None, None)
    return DatabaseInfo(
        server="given" if given else "own",
        address=_address(settings) if given else str(own.socket_folder) if own.socket_folder else None,
        running=asked is not None,
        error=error,
        version=asked.version if asked else own.version,
        data_folder=own.data_folder,
        socket_folder=own.socket_folder,
        pid=own.pid,
        size_bytes=own.size_bytes or (asked.size_bytes if asked else None),
        connections=asked.connections if asked else None,
        schema_version=asked.schema_version if asked else None,
        newest_schema_version=newest_schema(),
        users=own.users,
        held=own.held,
    )


async def start_server(folder: str | Path | None = None, *, database: str | None = None) -> Path:
    """Start Detent's own server of a project, to run until `stop_server`; returns the folder it is in."""
    from detent.postgres import hold

    project = _own(folder, database) or Project(Path.cwd())
    await asyncio.to_thread(hold, project.folder)
    return project.folder


async def server_users(folder: str | Path | None = None, *, database: str | None = None) -> Sequence[int]:
    """The processes that use Detent's own server of a project."""
    from detent.postgres import describe

    project = _own(folder, database)
    return describe(project.folder).users if project is not None else ()


async def stop_server(folder: str | Path | None = None, *, database: str | None = None) -> StoppedServer:
    """Stop Detent's own server of a project, whoever uses it."""
    from detent.postgres import stop

    project = _own(folder, database) or Project(Path.cwd())
    return StoppedServer(project.folder, await asyncio.to_thread(stop, project.folder))


async def _ask(folder: str | Path | None, database: str | None) -> tuple[Facts | None, str | None]:
    """The facts that the server tells, or why it tells none."""
    from detent.store.server import facts

    try:
        async with located(folder, database=database) as found:
            return await facts(found.conninfo), None
    except DatabaseAway as away:
        return None, " ".join(str(away.__cause__ or away).split())


def _own(folder: str | Path | None, database: str | None) -> Project | None:
    """The project whose own server is meant."""
    project = project_at(folder)
    settings = settings_of(project, database=database)
    if settings.database is not None:
        raise DetentError(f"This project uses the server {_address(settings)}. Detent starts and stops only its own.")
    return project


def _address(settings: Configuration) -> str:
    """The address of the server that is configured, without its password."""
    return str(next(each.value for each in settings.explain() if each.name == "database"))
