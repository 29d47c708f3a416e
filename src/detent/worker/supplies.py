"""Data of the items that handlers read, and the texts that this worker alone is embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from detent.errors import DetentError
from detent.knowledge import Item
from detent.store import Store
from detent.store.graph.contents import having_vectors
from detent.store.vectors.reservations import Reservations
from detent.worker.duty import Duty
from detent.worker.outcomes import outcome_of
from detent.worker.settler import Settler

if TYPE_CHECKING:
    from detent.store.vectors.models import Model

SUPERSEDED = "to be embedded with another model, by another worker"

_ELSEWHERE_SECONDS, _MOST_SECONDS = 0.25, 0.5
"""After how long a text is looked at again that another process is embedding, at first and later."""
_MOST_REMEMBERED = 100_000


class Supplies:
    def __init__(self, store: Store, settler: Settler) -> None:
        self._store = store
        self._settler = settler
        self._reservations = Reservations(store.database)
        self._waited: set[UUID] = set()

    async def fill(self, duty: Duty, items: list[Item]) -> list[Item]:
        """The items with what their handler reads of them. Those that it need not see are settled."""
        if not items or duty.handler.reads is None:
            return items
        if duty.handler.reads == "node":
            return await self._store.contents.with_nodes(items)
        if duty.handler.reads == "links":
            return await self._store.contents.with_links(items)
        try:
            model = await duty.embedder.model(self._store) if duty.embedder else await self._store.vectors.current()
        except DetentError:
            raise
        except Exception as error:  # the service that knows the model does not answer
            self._settler.hold(items)
            self._settler.finish(duty, [(item, outcome_of(error)) for item in items])
            return []
        if duty.embedder and not await duty.embedder.is_wanted(self._store):
            await self._give_back(items, SUPERSEDED)
            return []
        filled = await self._store.contents.with_passages(items)
        return await self._without_those_embedded_elsewhere(filled, model)

    def over(self, items: Sequence[Item]) -> None:
        """These items are settled, one way or another."""
        self._reservations.free(item.passage.hash for item in items if item.passage and not item.passage.known)

    async def flush(self) -> None:
        """Tell others which texts are done."""
        await self._reservations.flush()

    async def close(self) -> None:
        await self._reservations.close()

    async def _without_those_embedded_elsewhere(self, items: list[Item], model: Model | None) -> list[Item]:
        """Items whose text no other process is embedding now; the others are given back, and find it known next time.

        Texts are reserved before it is asked which have vectors: who had one is done with it by then. What this
        process is embedding in another batch, its embedder makes one vector of.
        """
        hashes = {item.passage.hash for item in items if item.passage}
        here = self._reservations.held(hashes)
        reserved = await self._reservations.take(hashes)
        try:
            known = await self._store.vectors.known(model, list(hashes)) if model else set()
            self._reservations.free(known)
            elsewhere = hashes - reserved - here - known
            await self._leave_to_others(items, elsewhere)
        except BaseException:  # the claim is given up, and so are its texts: else nobody could ever have them
            self._reservations.free(reserved)
            raise
        return having_vectors([item for item in items if not item.passage or item.passage.hash not in elsewhere], known)

    async def _leave_to_others(self, items: list[Item], elsewhere: set[UUID]) -> None:
        """Give back items whose texts others are embedding: those for longer that have waited before."""
        waiting: dict[float, list[Item]] = {}
        for item in items:
            if item.passage and item.passage.hash in elsewhere:
                seconds = _MOST_SECONDS if item.passage.hash in self._waited else _ELSEWHERE_SECONDS
                waiting.setdefault(seconds, []).append(item)
        self._waited = (self._waited if len(self._waited) < _MOST_REMEMBERED else set()) | elsewhere
        for seconds, some in waiting.items():
            await self._give_back(some, "the same text is being embedded", seconds)

    async def _give_back(self, items: list[Item], reason: str, delay_seconds: float | None = None) -> None:
        """Items that are somebody else's to embed. What text they have is not theirs to free."""
        left = [item._replace(passage=None) for item in items]
        if left:
            self._settler.hold(left)
            await self._settler.release(left, reason, delay_seconds=delay_seconds)
