"""The connection to a project's database: the configured one, or the project's own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from detent.configuration import Configuration, Project, find_project, load
from detent.errors import DatabaseAway, FolderMissing, UnreadableConnection
from detent.store import Store
from detent.store.address import mistake, read

if TYPE_CHECKING:
    from detent.postgres import Attachment

_ANSWER_SECONDS = 10


@dataclass(frozen=True)
class Located:
    """A database that can be reached for as long as this is open, and what says where it is."""

    conninfo: str
    settings: Configuration
    project: Project | None
    flags: Mapping[str, object] = field(default_factory=dict)
    """The settings that whoever opened it gave."""

    _attachments: contextlib.ExitStack | None = None

    async def revive(self) -> None:
        """Start the project's own server again if it has ended. A server of somebody else's is left to them."""
        if self._attachments is not None and self.project is not None:
            newer = await _attached(self.project)
            self._attachments.close()  # not before: a server without users stops
            self._attachments.enter_context(newer)


@dataclass(frozen=True)
class Connected:
    """An open store, and what it was opened with."""

    store: Store
    located: Located

    @property
    def settings(self) -> Configuration:
        return self.located.settings

    @property
    def project(self) -> Project | None:
        return self.located.project

    @property
    def place(self) -> Project:
        """The project, or else the working directory as one."""
        return self.project or Project(Path.cwd())

    @property
    def own_server(self) -> Path | None:
        """The folder of the project's own database, if that is the one that is open."""
        return self.project.folder if self.project is not None and self.settings.database is None else None


def project_at(folder: str | Path | None) -> Project | None:
    """The project of a folder: that folder if it is named, else the nearest one upward."""
    if folder is None:
        return find_project()
    root = Path(folder).resolve()
    if not root.is_dir():
        raise FolderMissing(root, file=root.exists())
    return Project(root)


def settings_of(
    project: Project | None, *, database: str | None = None, flags: Mapping[str, object] | None = None
) -> Configuration:
    """The values in force for a project; `database` and `flags` are what the caller was told."""
    return load(project, flags={**(flags or {}), **({"database": database} if database else {})})


@contextlib.asynccontextmanager
async def located(
    folder: str | Path | None = None, *, database: str | None = None, flags: Mapping[str, object] | None = None
) -> AsyncIterator[Located]:
    """Find the database of a project. Without a server configured, the project's own is started in `.detent/`.

    Where there is no project yet, the working directory becomes one.
    """
    project = project_at(folder)
    settings = settings_of(project, database=database, flags=flags)
    if settings.database is not None:
        await _require_answer(settings.database)
        yield Located(settings.database, settings, project, flags or {})
        return
    project = project or Project(Path.cwd())
    with contextlib.ExitStack() as attachments:
        attachment = attachments.enter_context(await _attached(project))
        yield Located(attachment.conninfo, settings, project, flags or {}, attachments)


@contextlib.asynccontextmanager
async def connected(
    folder: str | Path | None = None, *, database: str | None = None, flags: Mapping[str, object] | None = None
) -> AsyncIterator[Connected]:
    """Open the store of a project, wherever it is located, and bring its schema up to date."""
    async with located(folder, database=database, flags=flags) as found, Store(found.conninfo) as store:
        yield Connected(store, found)


async def _attached(project: Project) -> Attachment:
    from detent.postgres import attach  # not needed where a server is named

    return await asyncio.to_thread(attach, project.folder)


async def _require_answer(conninfo: str) -> None:
    """A server that refuses says why at once; a pool would try again and in the end only say that it did.

    A mistake in the connection string is told as one: nobody is to wait until it goes away.
    """
    read(conninfo)
    try:
        connection = await psycopg.AsyncConnection.connect(conninfo, connect_timeout=_ANSWER_SECONDS)
        await connection.close()
    except psycopg.Error as error:
        reason = mistake(error)
        if reason is not None:
            raise UnreadableConnection(reason) from None
        raise DatabaseAway(" ".join(str(error).split())) from error
