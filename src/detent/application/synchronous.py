"""The same verbs for scripts: each call is made in an event loop that runs in a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from detent.application.asynchronous import AsyncDetent, Report, open_async
from detent.application.discovery import Tell
from detent.application.searching import WEIGHTS
from detent.application.synchronous_graph import Graph
from detent.errors import Closed
from detent.knowledge import Item, NewItem, Outcome
from detent.knowledge.filters import Filters
from detent.lifecycle import Lifecycle
from detent.sources import Source
from detent.store import Entry, Holder, Page, Receipt, Story, Tally

if TYPE_CHECKING:
    from detent.search import Answer, Suggestion

T = TypeVar("T")


class Detent:
    """An open database with its verbs. Made by `detent.open()`; close it, or use it in a `with` block."""

    def __init__(self, opening: AbstractAsyncContextManager[AsyncDetent]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="detent", daemon=True)
        self._thread.start()
        self._opening = opening
        try:
            self.asynchronous = self.wait(opening.__aenter__())
        except BaseException:
            self._end_loop()
            raise
        self.graph = Graph(self.asynchronous.graph, self.wait)
        """The graph: neighbours, paths, digest, export and import."""

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in this database's event loop and wait for its result.

        Ctrl-C cancels it, and waits until it has ended; a second one does not wait. After `close()` it is refused.
        """
        if self._loop.is_closed():
            work.close()
            raise Closed
        running = _Running(work)
        future = asyncio.run_coroutine_threadsafe(running.run(), self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(running.cancel)
            concurrent.futures.wait([future])
            raise

    def close(self) -> None:
        """Close the database; after that, no verb can be called. To close it again does nothing."""
        if self._loop.is_closed():
            return
        try:
            self.wait(self._closing())
        finally:
            self._end_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def declare(self, source: str, label: str, lifecycle: Lifecycle) -> None:
        """Make a source's label known, with the lifecycle that its items follow."""
        self.wait(self.asynchronous.declare(source, label, lifecycle))

    def add(self, source: str, label: str, items: Iterable[str | NewItem]) -> int:
        """Add items that are not there yet, by key or as NewItem; returns how many were new."""
        return self.wait(self.asynchronous.add(source, label, items))

    def claim(
        self,
        lifecycle: str | Lifecycle,
        state: str,
        *,
        owner: str,
        limit: int = 100,
        lease_seconds: float | None = None,
    ) -> list[Item]:
        """Take up to `limit` items that wait in `state`, under one lease."""
        claiming = self.asynchronous.claim(lifecycle, state, owner=owner, limit=limit, lease_seconds=lease_seconds)
        return self.wait(claiming)

    def renew(self, tokens: Iterable[int]) -> set[int]:
        """Keep leases; those that are not returned are lost."""
        return self.wait(self.asynchronous.renew(tokens))

    def settle(self, outcomes: Sequence[tuple[Item, Outcome]]) -> list[Receipt]:
        """Write what became of items, each all or nothing; says of each what happened."""
        return self.wait(self.asynchronous.settle(outcomes))

    def release(self, items: Sequence[Item]) -> list[Receipt]:
        """Give items back untried."""
        return self.wait(self.asynchronous.release(items))

    def rescue(self) -> dict[int, str]:
        """Take back the items of leases that ran out; returns where each went."""
        return self.wait(self.asynchronous.rescue())

    def mark_changed(self, source: str, label: str, hashes: Mapping[str, str]) -> int:
        """Send items whose content hash is a new one round again; returns how many that were."""
        return self.wait(self.asynchronous.mark_changed(source, label, hashes))

    def retry(self, ids: Sequence[int], *, to: str | None = None) -> int:
        """Send failed items round once more; returns how many that were."""
        return self.wait(self.asynchronous.retry(ids, to=to))

    def reset(self, ids: Sequence[int]) -> int:
        """Put items back to the beginning; returns how many that were."""
        return self.wait(self.asynchronous.reset(ids))

    def pause(self, source: str) -> None:
        """Let nothing more of this source be claimed."""
        self.wait(self.asynchronous.pause(source))

    def resume(self, source: str) -> None:
        """Let this source be worked on again."""
        self.wait(self.asynchronous.resume(source))

    def remove(self, source: str, label: str, keys: Sequence[str]) -> int:
        """Take items that vanished at the source out of the graph, with all that belongs to them; returns how many."""
        return self.wait(self.asynchronous.remove(source, label, keys))

    def remove_source(self, name: str, *, tell: Tell | None = None) -> int:
        """Remove a source with all it brought; returns how many items that were.

        It goes in steps, and after each `tell` is called, from another thread, with how many are gone. After an
        interruption call it again.
        """
        return self.wait(self.asynchronous.remove_source(name, tell=tell))

    def workers(self) -> Sequence[Holder]:
        """Who holds work now."""
        return self.wait(self.asynchronous.workers())

    def count_by_state(self) -> list[Tally]:
        """How many items there are of each source and label in each state."""
        return self.wait(self.asynchronous.count_by_state())

    def items(
        self,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """A page of at most `limit` items; `after` is the `next` of the page before."""
        listing = self.asynchronous.items(
            source=source, label=label, state=state, error_kind=error_kind, limit=limit, after=after
        )
        return self.wait(listing)

    def find(self, key: str, *, source: str | None = None, label: str | None = None) -> list[int]:
        """The ids of the items that have this key, of all sources and labels or of those named.

        A key that no item has is an UnknownName, with a suggestion; the list is never empty.
        """
        return self.wait(self.asynchronous.find(key, source=source, label=label))

    def show(self, item: int) -> Story:
        """All that is known of one item, by its number; an UnknownName if there is none."""
        return self.wait(self.asynchronous.show(item))

    def history(self, item: int) -> list[Entry]:
        """Every move of one item, oldest first, by its number; an UnknownName if there is none."""
        return self.wait(self.asynchronous.history(item))

    def search(
        self,
        text: str,
        *,
        mode: str | None = None,
        limit: int = 10,
        filters: Filters | None = None,
        grouped: bool = True,
        around: Sequence[str | int] = (),
        weights: tuple[float, float] = WEIGHTS,
        marks: tuple[str, str] = ("", ""),
    ) -> Answer:
        """The best results for free text: the `hits`, best first, and `notes` that the reader should see.

        `mode` is `hybrid` (words and meaning), `text`, `semantic` or `graph`, which searches around the items that
        `around` names by key or number, and is chosen where that is given. There, `weights` are those of similarity
        and of nearness. `grouped`: of all passages of one article or file the best stands for all. `marks` are put
        around what matches in a snippet.
        """
        return self.wait(
            self.asynchronous.search(
                text,
                mode=mode,
                limit=limit,
                filters=filters,
                grouped=grouped,
                around=around,
                weights=weights,
                marks=marks,
            )
        )

    def similar(
        self,
        key: str | int,
        *,
        source: str | None = None,
        label: str | None = None,
        limit: int = 10,
        filters: Filters | None = None,
        grouped: bool = True,
    ) -> Answer:
        """What is nearest in meaning to an item, by its key or number. `source` and `label` say which one is meant
        where several have the key; what is found is restricted by `filters`."""
        return self.wait(
            self.asynchronous.similar(key, source=source, label=label, limit=limit, filters=filters, grouped=grouped)
        )

    def suggest(self, prefix: str, *, limit: int = 10, filters: Filters | None = None) -> list[Suggestion]:
        """Nodes whose titles begin so. Of the filters, sources and labels are heeded."""
        return self.wait(self.asynchronous.suggest(prefix, limit=limit, filters=filters))

    def discover(self, tell: Tell | None = None) -> int:
        """Let the sources say what items there are; returns how many were new.

        They are added while the sources name them, some thousands at a time, or about every second; after each time,
        `tell` is called, from another thread, with how many were named so far. A source that fails does not keep the
        others from being asked: DiscoveryFailed is raised when all were, and what was named is kept.
        """
        return self.wait(self.asynchronous.discover(tell))

    def refresh(self, tell: Tell | None = None) -> int:
        """Ask the sources that can tell how what was done or failed stands now; returns how many items go round again,
        because they have changed, or failed for a reason that may have passed. `tell` is called, from another thread,
        with how many were asked for so far. It fails as `discover` does."""
        return self.wait(self.asynchronous.refresh(tell))

    def run(self, *, wait: bool = True) -> Report:
        """Discover, then work until nothing is left to do; with `wait=False` not for items of a later retry.

        If a source fails to name its items, everything there is gets worked on all the same, and DiscoveryFailed
        is raised at the end; its `report` is the one that would have been returned.
        """
        return self.wait(self.asynchronous.run(wait=wait))

    async def _closing(self) -> None:
        await self._opening.__aexit__(None, None, None)

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Running(Generic[T]):
    """A coroutine that can be cancelled from outside and still be waited for."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._task: asyncio.Task[T] | None = None
        self._cancelled = False

    async def run(self) -> T:
        self._task = asyncio.create_task(self._work)
        if self._cancelled:
            self._task.cancel()
        return await self._task

    def cancel(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()


def open(  # noqa: A001  detent.open() reads well, like gzip.open()
    folder: str | Path | None = None,
    *,
    database: str | None = None,
    sources: Source | Sequence[Source] = (),
    flags: Mapping[str, object] | None = None,
) -> Detent:
    """Open the database of a project: `folder`, or the nearest one upward, or the working directory.

    A folder that is named must be there.

    `database` names a PostgreSQL server; without it the configured one is used, and without that the
    project's own, which is started in the project's `.detent` folder.
    """
    return Detent(open_async(folder, database=database, sources=sources, flags=flags))
