"""The store's verbs in one place, over one database."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence, Set
from datetime import datetime, timedelta
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import UUID

from detent.errors import KindGone
from detent.knowledge import Item, NewItem, Outcome, Step
from detent.lifecycle import Lifecycle, RetryPolicy
from detent.store.database import Database
from detent.store.graph import GraphReader
from detent.store.graph.contents import Contents
from detent.store.graph.writing import Graph
from detent.store.ledger.bounds import Boundaries
from detent.store.ledger.filtering import Filtering
from detent.store.ledger.items import Items
from detent.store.ledger.journal import Entry, Journal
from detent.store.ledger.kinds import Kind, Kinds
from detent.store.ledger.leases import Cursor, Holder, Leases, Stage
from detent.store.ledger.listing import Listing, Page, Story
from detent.store.ledger.pacing import Pacing
from detent.store.ledger.removal import Removal
from detent.store.ledger.settling import Receipt, Settling
from detent.store.ledger.sources import Sources
from detent.store.ledger.steering import Steering
from detent.store.ledger.tallies import Tallies, Tally
from detent.store.ledger.verdict import judge, released
from detent.store.notices import Notices
from detent.store.server import bring_up_to_date
from detent.store.vectors.embeddings import Embeddings, embed_anew
from detent.store.vectors.spending import Spending

if TYPE_CHECKING:
    from detent.store.graph.results import Results
    from detent.store.texts import Texts
    from detent.store.vectors.vectors import Vectors

BY_HAND = "by hand"


class Store:
    """Opens a database and offers its verbs: add, claim, renew, settle, release, rescue, and the rest."""

    def __init__(self, conninfo: str, *, size: int = 4, wait_seconds: float = 10.0) -> None:
        self.database = Database(conninfo, size=size, wait_seconds=wait_seconds)
        self.kinds = Kinds(self.database)
        self.leases = Leases(self.database, self.kinds)
        self.items = Items(self.database, self.kinds)
        self.bounds = Boundaries(self.database, self.kinds, self.items)
        self.listing = Listing(self.database, self.kinds)
        self.journal = Journal(self.database)
        self.tallies = Tallies(self.database, self.kinds)
        self.notices = Notices(self.database)
        self.sources = Sources(self.database)
        self.spending = Spending(self.database)
        self.pacing = Pacing(self.database)
        self.filtering = Filtering(self.database, self.kinds)
        self.reading = GraphReader(self.database, self.kinds)
        self.contents = Contents(self.database)
        embeddings = Embeddings(lambda: self.vectors)
        self._settling = Settling(self.database, self.kinds, Graph(self.kinds, embeddings))
        self.removal = Removal(self.database, self.kinds)
        self.steering = Steering(self.database, self.kinds, self.items, self.bounds, self._settling)

    @cached_property
    def results(self) -> Results:
        from detent.store.graph.results import Results

        return Results(self.database)

    @cached_property
    def vectors(self) -> Vectors:
        from detent.store.vectors.vectors import Vectors

        return Vectors(self.database)

    @cached_property
    def texts(self) -> Texts:
        from detent.store.texts import Texts

        return Texts(self.database)

    async def open(self) -> Self:
        """Connect, and bring the schema up to date."""
        await self.database.open()
        try:
            await bring_up_to_date(self.database)
            await self.kinds.refresh()
        except BaseException:
            await self.database.close()
            raise
        return self

    async def close(self) -> None:
        await self.database.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def declare(self, source: str, label: str, lifecycle: Lifecycle) -> Kind:
        """Declare a kind of item: this source and label, following this lifecycle."""
        return await self.kinds.declare(source, label, lifecycle)

    async def add(self, source: str, label: str, new: Iterable[str | NewItem]) -> int:
        """Add items that do not exist yet, given as keys or as NewItem; return the number added."""
        named = [entry if isinstance(entry, NewItem) else NewItem(entry, label) for entry in new]
        try:
            return await self._add(source, named)
        except KindGone:  # the cached kind is stale: it may have been declared again
            await self.kinds.refresh()
            return await self._add(source, named)

    async def _add(self, source: str, named: Sequence[NewItem]) -> int:
        kinds = {name: await self.kinds.get(*name) for name in {(e.source or source, e.label) for e in named}}
        return await self.items.add([(kinds[e.source or source, e.label], e) for e in named])

    async def claim(
        self,
        stage: Stage,
        *,
        owner: str,
        limit: int = 100,
        lease_seconds: float = 300.0,
        kinds: Sequence[Kind] | None = None,
        cursor: Cursor | None = None,
        apart: bool = False,
    ) -> list[Item]:
        """Take a batch of work under one lease or, `apart`, under one lease for each item."""
        if kinds is None:
            kinds = [kind for kind in await self.kinds.select() if kind.lifecycle.name == stage.lifecycle.name]
        duration = timedelta(seconds=lease_seconds)
        return await self.leases.claim(
            stage, kinds, owner=owner, limit=limit, duration=duration, cursor=cursor, apart=apart
        )

    async def renew(self, tokens: Iterable[int]) -> set[int]:
        """Renew leases; the tokens not returned are lost."""
        return await self.leases.renew(tokens)

    async def held(self, token: int) -> list[Item]:
        """Return the items held under this token."""
        return await self.leases.held(token)

    async def pause(self, source: str) -> None:
        """Pause a source: none of its items are claimed."""
        await self.sources.pause(source)

    async def resume(self, source: str) -> None:
        """Resume a paused source."""
        await self.sources.resume(source)
        await self.notices.hint()

    async def workers(self) -> Sequence[Holder]:
        """Return the holders of leases."""
        return await self.leases.workers()

    async def settle(
        self, outcomes: Sequence[tuple[Item, Outcome | Step]], policy: RetryPolicy | None = None
    ) -> list[Receipt]:
        """Write the outcomes of items, each in full or not at all, and return a receipt for each."""
        rules = policy or RetryPolicy()
        lifecycles = await self._lifecycles(item for item, _ in outcomes)
        verdicts = [
            judge(item, outcome, lifecycles[item.lifecycle], rules, random.random) for item, outcome in outcomes
        ]
        return await self._settling.settle(verdicts)

    async def release(
        self, items: Sequence[Item], reason: str = "released", *, delay_seconds: float | None = None
    ) -> list[Receipt]:
        """Give items back untried, to be claimed again after `delay_seconds`; the attempt does not count."""
        lifecycles = await self._lifecycles(items)
        verdicts = [released(item, lifecycles[item.lifecycle], reason, delay_seconds) for item in items]
        return await self._settling.settle(verdicts)

    async def rescue(
        self, *, owner: str = "rescue", tokens: Iterable[int] = (), overdue: bool = True, alone: bool = True
    ) -> dict[int, str]:
        """Take back the items of expired leases, if `overdue`, and of the named leases; return each item's new
        state.

        Each item is then retried alone or, without `alone`, only on its last attempt.
        """
        return await self.leases.rescue(owner=owner, tokens=tokens, overdue=overdue, alone=alone)

    async def mark_changed(self, source: str, label: str, hashes: Mapping[str, str], *, owner: str = BY_HAND) -> int:
        """Send items with a new content hash back to work; return their number."""
        return await self.items.mark_changed(await self.kinds.get(source, label), hashes, owner=owner)

    async def retry(self, ids: Sequence[int], *, owner: str = BY_HAND, to: str | None = None) -> int:
        """Retry failed items; return the number retried."""
        return len(await self.items.retry(ids, owner=owner, to=to))

    async def pause_items(self, ids: Sequence[int], *, owner: str = BY_HAND) -> int:
        """Pause items whose lifecycle allows it, such as crawls; return the number paused. They keep their
        checkpoints."""
        return await self.items.pause(ids, owner=owner)

    async def resume_items(self, ids: Sequence[int], *, owner: str = BY_HAND) -> int:
        """Resume paused items; return the number resumed."""
        resumed = await self.items.resume(ids, owner=owner)
        await self.notices.hint()
        return resumed

    async def reset(self, ids: Sequence[int], *, owner: str = BY_HAND) -> int:
        """Reset items to their initial state; return the number reset."""
        return len(await self.items.reset(ids, owner=owner))

    async def skip(self, ids: Sequence[int], *, owner: str = BY_HAND) -> int:
        """Skip waiting and failed items whose lifecycle allows it; return the number skipped."""
        return len(await self.items.skip(ids, owner=owner))

    async def remove(self, source: str, label: str, keys: Sequence[str]) -> int:
        """Remove items that vanished at the source, with everything that belongs to them; return the number removed."""
        return await self.removal.remove(await self.kinds.get(source, label), keys)

    async def remove_others(self, source: str, label: str, named: Set[str], *, unseen: Sequence[str] = ()) -> int:
        """Remove the items whose keys the source no longer names; return the number removed.

        Items whose key is in `unseen`, or continues such a key with `/`, stay.
        """
        return await self.removal.remove_others(await self.kinds.get(source, label), named, unseen)

    def remove_source(self, name: str) -> AsyncGenerator[int, None]:
        """Remove a source and everything it brought, in steps; yield the number of items removed so far."""
        return self.removal.remove_source(name)

    async def embed_anew(self, hashes: Sequence[UUID], *, reason: str) -> int:
        """Send the items with these texts back to be embedded; return the number of items changed.

        Items already on their way are left alone. Items that came to rest in another way, because embedding failed
        or there is nothing to embed, lose their embedding.
        """
        rows = await self.database.fetch("embedded_items", {"hashes": list(hashes)})
        return await embed_anew(self.items, self.kinds, rows, reason)

    async def has_texts(self) -> bool:
        """True if there is anything to search. Loads no part of the search."""
        return bool((await self.database.fetch("anything_to_search"))[0].found)

    async def count_by_state(self) -> list[Tally]:
        """Count the items of each source and label in each state."""
        return await self.tallies.count()

    async def show(self, item: int) -> Story:
        """Return everything known about one item."""
        return await self.listing.story(item)

    async def history(self, item: int) -> list[Entry]:
        """Return every move of one item, oldest first."""
        return await self.journal.history(item)

    async def list(
        self,
        *,
        source: str | None = None,
        label: str | None = None,
        state: str | None = None,
        error_kind: str | None = None,
        text: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page:
        """A page of items; `after` is the `next` of the page before."""
        return await self.listing.page(
            source=source,
            label=label,
            state=state,
            error_kind=error_kind,
            text=text,
            since=since,
            until=until,
            limit=limit,
            after=after,
        )

    async def _lifecycles(self, items: Iterable[Item]) -> dict[str, Lifecycle]:
        """Return the lifecycles of these items, by name."""
        return {name: await self.kinds.lifecycle(name) for name in {item.lifecycle for item in items}}
