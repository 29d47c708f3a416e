"""Detent for services that have an event loop: one class with the verbs of every noun, and the way to open it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from detent.application.adding import AddVerbs
from detent.application.connecting import Connected, connected
from detent.application.database import DatabaseVerbs
from detent.application.graph import AsyncGraph
from detent.application.items import ItemVerbs
from detent.application.lifecycles import LifecycleVerbs
from detent.application.running.verbs import RunVerbs
from detent.application.searching import SearchVerbs
from detent.application.sources import SourceVerbs
from detent.application.status import StatusVerbs
from detent.application.steering import AsyncSteering
from detent.application.work import WorkVerbs
from detent.errors import NotOpen

if TYPE_CHECKING:
    from detent.sources import Source

_HOW = (
    "Write `async with detent.open_async(…) as db:`, or `db = await detent.open_async(…)` and later `await db.close()`."
)


class AsyncDetent(
    ItemVerbs,
    WorkVerbs,
    AddVerbs,
    SourceVerbs,
    LifecycleVerbs,
    RunVerbs,
    StatusVerbs,
    SearchVerbs,
    DatabaseVerbs,
):
    """An open database with its verbs. Made by `detent.open_async()`."""

    def __init__(self, opened: Connected, sources: Sequence[Source] = ()) -> None:
        super().__init__(opened, sources)
        self.graph = AsyncGraph(opened.store)
        """The graph: neighbours, paths, digest, export and import."""
        self.steering = AsyncSteering(opened.store)
        """Driving items by hand, for programs with a state machine of their own."""
        self._resources = contextlib.AsyncExitStack()
        self._has_to_be_closed = False

    async def close(self) -> None:
        """Close the database; after that, no verb can be called. Closing it again does nothing."""
        self._has_to_be_closed = False
        self.close_search()
        await self._resources.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        if getattr(self, "_has_to_be_closed", False):
            _warn(f"A database was opened with `await detent.open_async(…)` and never closed. {_HOW}", self)


class Opening:
    """A database that is to be opened: `async with` opens and closes it, `await` opens it until `close()`."""

    def __init__(
        self,
        folder: str | Path | None,
        database: str | None,
        sources: Source | Sequence[Source],
        flags: Mapping[str, object] | None,
    ) -> None:
        self._folder = folder
        self._database = database
        self._sources = sources
        self._flags = flags
        self._told = False
        self._detent: AsyncDetent | None = None

    def __await__(self) -> Generator[Any, None, AsyncDetent]:
        return self._open_until_closed().__await__()

    async def __aenter__(self) -> AsyncDetent:
        self._detent = await self._open()
        return self._detent

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._detent is not None:
            await self._detent.close()

    async def _open_until_closed(self) -> AsyncDetent:
        detent = await self._open()
        detent._has_to_be_closed = True
        return detent

    async def _open(self) -> AsyncDetent:
        self._told = True
        declared = _required(self._sources)
        async with contextlib.AsyncExitStack() as resources:
            opening = connected(self._folder, database=self._database, flags=self._flags)
            detent = AsyncDetent(await resources.enter_async_context(opening), declared)
            if declared:
                from detent.worker.duty import declare

                await declare(detent.store, declared)
            detent._resources = resources.pop_all()
        return detent

    def __del__(self) -> None:
        if not self._told:
            _warn(f"detent.open_async(…) was called, and nothing was opened. {_HOW}", self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Tell whoever forgot `await` what to write."""
            if name.startswith("_") or not hasattr(AsyncDetent, name):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self._told = True
            raise NotOpen(name, _HOW)


def open_async(
    folder: str | Path | None = None,
    *,
    database: str | None = None,
    sources: Source | Sequence[Source] = (),
    flags: Mapping[str, object] | None = None,
) -> Opening:
    """Open the database of a project: `folder`, or the nearest one upward, or the working directory.

    A folder that is named must exist.

    `database` names a PostgreSQL server; without it the configured one is used, and without that the
    project's own, which is started in the project's `.detent` folder. `flags` are settings by full name, such as
    `{"worker.batch_size": 10}`.
    """
    return Opening(folder, database, sources, flags)


def _required(sources: Source | Sequence[Source]) -> list[Source]:
    if isinstance(sources, list | tuple) and not sources:
        return []
    from detent.sources import require_sources

    return require_sources(sources)


def _warn(sentence: str, about: object) -> None:
    warnings.warn(sentence, RuntimeWarning, stacklevel=3, source=about)
