"""Discovery: what the sources say there is, added while they say it.

A source may name millions of items, and take long to find them. They are added a chunk at a time, or about once a
second where they come slowly, so that memory does not grow with their number. What was named stays when discovery is
stopped or fails, and a source that fails does not keep the others from being asked. An ordinary function or generator
runs in a thread of its own, an async function or generator in the event loop.

Of labels that a source names completely, what it no longer names is removed, when it has named all without an error;
their keys are all in memory until then.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections import defaultdict
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from detent.errors import DatabaseAway, DetentError, DiscoveryFailed
from detent.knowledge import NewItem
from detent.services import pace
from detent.services.keyring import scrubbed
from detent.sources import PartlyUnseen, Source
from detent.store import Store
from detent.worker.outcomes import describe
from detent.worker.threads import Thread

CHUNK = 10_000
_OWNER = "discovery"
_FLUSH_SECONDS = 1.0
"""Longest time that discovered items wait for more before they are added."""

Tell = Callable[[int], object]

T = TypeVar("T")


@dataclass
class Discovery:
    """The result of discovery: the numbers of discovered, new, changed and removed items, and the sources that
    failed."""

    named: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    failures: list[DiscoveryFailed] = field(default_factory=list)

    @property
    def failure(self) -> DiscoveryFailed | None:
        """The failures as one error."""
        if not self.failures:
            return None
        first, *others = self.failures
        first.others = tuple(others)
        return first


async def discover(store: Store, sources: Sequence[Source], tell: Tell | None = None) -> Discovery:
    """Add what the sources name and is not there yet, and send round again what they name with another content hash.

    `tell` is called with the number of items that were named so far, each time that some were added. When this is
    cancelled, what was named until then is added first.
    """
    found = Discovery()
    pace.keep(store.pacing)
    for source in sources:
        if source.discover is None:
            continue
        before = found.named
        try:
            adding = _Adding(store, source, found, tell)
            unseen = await _ask(source.discover, adding)
            await adding.remove_the_others(unseen.unseen if unseen else ())
            if unseen:
                raise unseen
        except DatabaseAway:
            raise
        except (_Raised, DetentError) as error:
            cause, reason = (error.error, describe(error.error)) if isinstance(error, _Raised) else (error, str(error))
            failure = DiscoveryFailed(source.name, found.named - before, scrubbed(reason))
            failure.__cause__ = cause
            found.failures.append(failure)
    return found


async def _ask(discover: Callable[[], Any], adding: _Adding) -> PartlyUnseen | None:
    """Let one source name its items, and add them as it goes on; returns what it did not see, if it named all else."""
    async with _naming(discover) as naming:
        ended = False
        while not ended:
            try:
                await naming.wait()
            except asyncio.CancelledError:
                with contextlib.suppress(DetentError):  # it is being stopped, whatever else
                    await _to_its_end(adding.add(naming.take()))
                raise
            ended = naming.ended
            items = naming.take()
            await _to_its_end(adding.add(items))
            naming.make_room(len(items))
    if isinstance(naming.error, PartlyUnseen) and naming.error.unseen:
        return naming.error
    if naming.error is not None:
        raise _Raised(naming.error)
    return None


class _Raised(Exception):
    """A source raised an error."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


@dataclass
class _Adding:
    """Adds what a source names, and counts it."""

    store: Store
    source: Source
    found: Discovery
    tell: Tell | None
    named: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The keys that were named, of each label that is named completely."""

    async def add(self, items: Sequence[NewItem]) -> None:
        """Add some items. If one of them is refused, those before it are added."""
        if not items:
            return
        try:
            self.found.added += await self.store.add(self.source.name, "", items)
            self.found.changed += await self._mark_changed(items)
        except DatabaseAway:
            raise
        except DetentError:
            if len(items) == 1:
                raise
            await self.add(items[: len(items) // 2])
            await self.add(items[len(items) // 2 :])
            return
        self.found.named += len(items)
        for item in items:
            if item.label in self.source.complete and item.source in (None, self.source.name):
                self.named[item.label].add(item.key)
        if self.tell is not None:
            self.tell(self.found.named)

    async def remove_the_others(self, unseen: Sequence[str]) -> None:
        """Remove what the source has not named, of the labels that it names completely; not what may be where it could
        not look."""
        for label in sorted(self.source.complete):
            named = self.named[label]
            self.found.removed += await self.store.remove_others(self.source.name, label, named, unseen=unseen)

    async def _mark_changed(self, items: Sequence[NewItem]) -> int:
        hashes: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for item in items:
            if item.content_hash is not None:
                hashes[item.source or self.source.name, item.label][item.key] = item.content_hash
        return sum([await self.store.mark_changed(*kind, known, owner=_OWNER) for kind, known in hashes.items()])


class _Naming:
    """The discovered items of a source that are not added yet. It holds one chunk; a faster source waits."""

    def __init__(self) -> None:
        self.ended = False
        self.error: BaseException | None = None
        self._items: list[NewItem] = []
        self._unadded = 0
        self._left = False
        self._lock = threading.Lock()
        self._room = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()

    async def wait(self) -> None:
        """Wait until a chunk is full or the source has ended, but not for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._news.wait()

    def take(self) -> list[NewItem]:
        self._news.clear()
        with self._lock:
            items, self._items = self._items, []
        return items

    def make_room(self, count: int) -> None:
        """So many were added."""
        with self._lock:
            self._unadded -= count
            self._room.set()

    def leave(self) -> None:
        """Nobody listens any more."""
        self._left = True
        self._room.set()

    async def run(self, discover: Callable[[], Any]) -> None:
        """Let the source name its items until it has ended, or nobody listens any more."""
        thread = Thread()
        try:
            found = await _call(thread, discover)
            if inspect.isawaitable(found):
                found = await found
            if isinstance(found, AsyncIterable):
                await self._listen_in_loop(aiter(found))
            else:
                await _call(thread, partial(self._listen, found))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # even SystemExit is the source's
            if self._left:
                raise
            self.error = error
        finally:
            thread.end()
            self.ended = True
            self._news.set()

    def _listen(self, found: Iterable[object]) -> None:
        """In the thread."""
        for named in found:
            if self._is_full_with(named):
                self._loop.call_soon_threadsafe(self._news.set)
                self._room.wait()
            if self._left:
                return

    async def _listen_in_loop(self, found: AsyncIterator[object]) -> None:
        async for named in found:
            if self._is_full_with(named):
                self._news.set()
                await asyncio.to_thread(self._room.wait)

    def _is_full_with(self, named: object) -> bool:
        if not isinstance(named, NewItem):
            raise TypeError(f"{named!r} is no NewItem")
        with self._lock:
            self._items.append(named)
            self._unadded += 1
            full = self._unadded >= CHUNK
            if full and not self._left:
                self._room.clear()
        return full


@contextlib.asynccontextmanager
async def _naming(discover: Callable[[], Any]) -> AsyncIterator[_Naming]:
    """A source that names its items meanwhile. One that does not end is not waited for, unless it is async."""
    naming = _Naming()
    running = asyncio.create_task(naming.run(discover))
    try:
        yield naming
    finally:
        naming.leave()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await running


async def _to_its_end(work: Awaitable[T]) -> T:
    """Wait for something that is not to be cut off: if this is cancelled, it is finished first."""
    working = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise


async def _call(thread: Thread, function: Callable[[], T]) -> T:
    """Call a function in the thread, and wait for what it returns or raises."""
    returned: list[T] = []
    raised: list[BaseException] = []

    def called() -> None:
        try:
            returned.append(function())
        except BaseException as error:
            raised.append(error)

    await thread.call(called)
    if raised:
        raise raised[0]
    return returned[0]
