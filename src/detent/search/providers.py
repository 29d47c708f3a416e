"""The providers that queries are embedded by, each opened when it is first needed."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, open_provider
from detent.embedding.registry import is_registered

if TYPE_CHECKING:
    from detent.store.vectors import Model


class Providers:
    """The one that the settings name, and those of models that are searched while that one's is being filled."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._own: Provider | None = None
        self._others: dict[tuple[str, str], Provider] = {}
        self._opening = Lock()
        """Searches ask from several threads."""

    def of(self, model: Model) -> Provider:
        """The provider of a model's vectors. It may be another than the settings name, which is then not opened: it
        may need a key or a package that is not there yet."""
        with self._opening:
            if model.provider != self._settings.provider and is_registered(model.provider):
                return self._other(model)
            if self._own is None:
                self._own = open_provider(self._settings)
            own = self._own
            return own if (own.name, own.model) == (model.provider, model.name) else self._other(model)

    def close(self) -> None:
        with self._opening:
            own = [self._own] if self._own else []
            for provider in (*own, *self._others.values()):
                provider.close()

    def _other(self, model: Model) -> Provider:
        name = (model.provider, model.name)
        if name not in self._others:
            settings = replace(self._settings, provider=model.provider, model=model.name.split("@")[0])
            self._others[name] = open_provider(settings)
        return self._others[name]
