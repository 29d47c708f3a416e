"""The providers that embed queries, each opened when it is first needed."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, open_provider
from detent.embedding.registry import is_registered
from detent.errors import DetentError

if TYPE_CHECKING:
    from detent.store.vectors.models import Model


class Providers:
    """The provider in the settings, and those of older models that are searched until its model is filled."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._own: Provider | None = None
        self._others: dict[tuple[str, str], Provider] = {}
        self._opening = Lock()
        """Lock, because searches ask from several threads."""

    def of(self, model: Model) -> Provider:
        """Return the provider of a model's vectors, as it was when they were made: the settings apply to the next
        run."""
        with self._opening:
            own = self._opened_own(model)
            if own is not None and (own.name, own.model) == (model.provider, model.name):
                return own
            return self._other(model)

    def close(self) -> None:
        with self._opening:
            own = [self._own] if self._own else []
            for provider in (*own, *self._others.values()):
                provider.close()

    def _opened_own(self, model: Model) -> Provider | None:
        """Return the provider in the settings, if it matches the model and opens: it may lack a key or a package."""
        known = is_registered(model.provider)
        if self._own is None and (model.provider == self._settings.provider or not known):
            try:
                self._own = open_provider(self._settings)
            except DetentError:
                if not known:
                    raise
        return self._own

    def _other(self, model: Model) -> Provider:
        name = (model.provider, model.name)
        if name not in self._others:
            self._others[name] = open_provider(_as_made(self._settings, model))
        return self._others[name]


def _as_made(settings: EmbeddingSettings, model: Model) -> EmbeddingSettings:
    """Return the settings by which a model's vectors were made. If its dimensions were chosen, its name ends with
    them."""
    name, sign, size = model.name.rpartition("@")
    if sign and size == str(model.dimensions):
        return replace(settings, provider=model.provider, model=name, dimensions=model.dimensions)
    return replace(settings, provider=model.provider, model=model.name, dimensions=None)
