"""The stage that gives passages their vectors: one for all sources, so that batches are as large as the model likes.

The same text under the same model is not embedded twice: what is known is left out beforehand, and of what is alike
in the batches of a process one is embedded.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, open_provider
from detent.errors import DetentError
from detent.knowledge import Done, Embedding, Failed, Item, Outcome, Passage, Skipped
from detent.lifecycle import Trouble, classify
from detent.worker.outcomes import describe, outcome_of
from detent.worker.sharing import Sharing

if TYPE_CHECKING:
    from detent.store import Store
    from detent.store.vectors.models import Model

log = logging.getLogger("detent.worker")

_ITS_OWN = frozenset({Trouble.MALFORMED, Trouble.REJECTED, Trouble.UNKNOWN, Trouble.UNSTORABLE})
"""Trouble that may come from one text of a batch. Any other is the service's, and asking it again for each text would
make it worse."""

_SUPERSEDED = (
    "Another worker has begun to embed with %s; this one is set to %s and no longer embeds, but does all else. "
    "Give both the same [embedding] settings, and start it again."
)


class Embedder:
    """Called with a batch of items that have their passages; in a thread."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._model: Model | None = None
        self._accounted = 0
        self._goes_on = False
        self._sharing = Sharing()
        self.superseded = False
        """True once another model was registered: then embedding is left to workers that have that model."""

    @cached_property
    def provider(self) -> Provider:
        return open_provider(self._settings)

    @property
    def batch_size(self) -> int:
        return self._settings.batch_size or self.provider.batch_size

    async def prepare(self, store: Store, *, replacement: bool = False) -> None:
        """Find out whether there is such a provider, and all it needs, before anything is claimed for it; and make
        the model known, so that passages embedded with another one are found. The `replacement` of a worker that had
        done so only goes on with it, whether or not it is still the model that is wanted."""
        self._goes_on = replacement
        try:
            await self.model(store)
        except DetentError:
            raise
        except Exception as error:
            log.warning("The embedding provider %s does not answer: %s", self.provider.name, describe(error))

    async def model(self, store: Store) -> Model:
        """The model that vectors are written under, known to the database."""
        if self._model is None:
            dimensions = await asyncio.to_thread(lambda: self.provider.dimensions)
            make_known = store.vectors.join if self._goes_on else store.vectors.register
            self._model = await make_known(self.provider.name, self.provider.model, dimensions)
        return self._model

    async def is_registered(self, store: Store) -> bool:
        """Tell, by name alone and without the provider, whether the model is the one registered last."""
        wanted = await store.vectors.wanted()
        return wanted is not None and wanted.is_named(
            self.provider.name, self.provider.model, self._settings.dimensions
        )

    async def is_wanted(self, store: Store) -> bool:
        """Tell whether the model is still the one registered last. Once it is not, report it; the answer stays no."""
        if not self.superseded and self._model is not None:
            wanted = await store.vectors.wanted()
            if wanted is not None and wanted.id != self._model.id:
                self.superseded = True
                log.warning(_SUPERSEDED, wanted, self._model)
        return not self.superseded

    async def account(self, store: Store, owner: str) -> None:
        """Keep what was spent, and learn what others have: a budget is one for all of them, and for all runs."""
        budget = self.provider.budget if "provider" in self.__dict__ else None
        if budget is None or budget.limit is None:
            return
        if budget.spent != self._accounted:
            await store.spending.note(owner, self.provider.name, budget.spent)
            self._accounted = budget.spent
        spent = await store.spending.elsewhere(owner, self.provider.name)
        budget.elsewhere = lambda: spent

    def __call__(self, items: Sequence[Item]) -> list[Outcome]:
        outcomes: dict[int, Outcome] = dict(self._skipped(items))
        left = [(item, item.passage) for item in items if item.id not in outcomes and item.passage is not None]
        unknown = {passage.hash: passage for _, passage in left if not passage.known}
        try:
            made = self._sharing.embed(list(unknown), lambda hashes: self._vectors([unknown[each] for each in hashes]))
        except Exception as error:
            if len(items) > 1 and classify(error) in _ITS_OWN:
                raise  # they are tried one by one
            failed = outcome_of(error)
            return [outcomes.get(item.id, failed) for item in items]
        outcomes |= {item.id: self._outcome(passage, made.get(passage.hash)) for item, passage in left}
        return [outcomes[item.id] for item in items]

    def _skipped(self, items: Sequence[Item]) -> Iterator[tuple[int, Skipped]]:
        for item in items:
            reason = self._settings.reason_to_skip(item.label, item.passage.text if item.passage else "")
            if reason is not None:
                yield item.id, Skipped(reason)

    def _vectors(self, passages: list[Passage]) -> Any:
        return self.provider.embed([passage.content for passage in passages])

    def _outcome(self, passage: Passage, vector: Any) -> Outcome:
        if vector is not None:
            length = float(vector @ vector)
            if length == 0:
                return Skipped("the model finds nothing in the text")
            if not length < float("inf"):
                return Failed("the model's vector has numbers that are not finite", Trouble.MALFORMED)
        made_with = self.provider.name, self.provider.model
        return Done(embedding=Embedding(*made_with, hash=passage.hash, vector=vector, renewable=True))

    def close(self) -> None:
        with contextlib.suppress(Exception):
            if "provider" in self.__dict__:
                self.provider.close()
