"""One call of the program: its project, its database and its output."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from detent.errors import DetentError

if TYPE_CHECKING:
    from rich.console import Console

    from detent.application import AsyncDetent
    from detent.application.connecting import Connected
    from detent.configuration import Configuration, Project

T = TypeVar("T")


@dataclass(frozen=True)
class Session:
    """The program's options. Nothing is opened before a command needs it."""

    project: Path | None = None
    database: str | None = None
    no_color: bool = False
    trace: bool = False

    @cached_property
    def out(self) -> Console:
        """The console for results."""
        from detent.cli.drawing import console

        return console(color=not self.no_color)

    @cached_property
    def err(self) -> Console:
        """The console for progress and errors."""
        from detent.cli.drawing import console

        return console(stderr=True, color=not self.no_color)

    def say(self, *sentences: str) -> None:
        self.out.print(" ".join(sentences), soft_wrap=True)

    def found(self) -> Project | None:
        """The project, if there is one. A given folder must exist."""
        from detent.application.connecting import project_at

        return project_at(self.project)

    def settings(self, flags: Mapping[str, object] | None = None) -> Configuration:
        from detent.application.connecting import settings_of

        return settings_of(self.found(), database=self.database, flags=flags)

    def with_db(self, verb: Callable[[AsyncDetent], Awaitable[T]]) -> T:
        """Open the project's database, and call `verb` with it."""
        self.require_project()

        async def opened() -> T:
            from detent.application import open_async

            async with open_async(self.project, database=self.database) as db:
                return await verb(db)

        return self.finish(opened)

    def with_new_store(self, verb: Callable[[Connected], Awaitable[T]]) -> T:
        """Open the project's store, and call `verb` with it. Make the project if there is none."""

        async def opened() -> T:
            async with self.opened() as store:
                return await verb(store)

        self.found()
        return self.finish(opened)

    def opened(self, flags: Mapping[str, object] | None = None) -> AbstractAsyncContextManager[Connected]:
        """The project and its store, made where they are missing."""
        from detent.application.connecting import connected

        return connected(self.project, database=self.database, flags=flags)

    def require_project(self) -> None:
        """Require a project or a given server; a reading command makes neither."""
        project = self.found()
        if (project and project.exists) or self.settings().database is not None:
            return
        if project:
            raise DetentError(f"There is no Detent project in {project.root}. `detent init {project.root}` makes one.")
        raise DetentError(f"There is no Detent project in {Path.cwd()} or above it. `detent init` makes one.")

    @staticmethod
    def finish(work: Callable[[], Awaitable[T]]) -> T:
        """Run `work` to its end."""
        import asyncio
        import logging

        logging.basicConfig(level=logging.WARNING, format="%(message)s")
        logging.getLogger("psycopg").setLevel(logging.ERROR)  # it reports each try; DatabaseAway says it once

        async def main() -> T:
            return await work()

        return asyncio.run(main())
