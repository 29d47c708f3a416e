"""The providers by name: those that installed packages register as entry points of the group `detent.embedding`,
Detent's own among them, and those that a user's modules register."""

from __future__ import annotations

from collections.abc import Callable

from detent import plugins
from detent.configuration import EmbeddingSettings
from detent.configuration.values import nearest
from detent.embedding.provider import Provider
from detent.errors import UnknownName

Factory = Callable[[EmbeddingSettings], Provider]

_FACTORIES: dict[str, Factory] = {}
"""Those that a module of the user's registered in this process."""


def register(name: str, factory: Factory) -> None:
    """Make a provider known under a name, for `provider` in `[embedding]`. A later one takes an earlier one's place."""
    _FACTORIES[name] = factory


def is_registered(name: str) -> bool:
    return name in _FACTORIES or name in plugins.names(plugins.EMBEDDING)


def open_provider(settings: EmbeddingSettings) -> Provider:
    """The provider that the settings choose.

    What can be known at once is checked at once: that its packages are installed, that there is a key. A model is
    loaded with the first text. Raises UnknownName, InvalidConfiguration, ExtraMissing or PluginBroken.
    """
    factory = _FACTORIES.get(settings.provider) or plugins.load(plugins.EMBEDDING, settings.provider)
    if factory is None:
        known = [*plugins.names(plugins.EMBEDDING), *_FACTORIES]
        meant = nearest(settings.provider, {name: name for name in known})
        advice = f"Did you mean {meant!r}?" if meant else f"There are {', '.join(known)}."
        raise UnknownName(f"There is no embedding provider {settings.provider!r}. {advice}")
    if not callable(factory):
        raise plugins.PluginBroken(plugins.EMBEDDING, settings.provider, "it is no function that makes a provider")
    provider: Provider = factory(settings)
    return provider
