"""The providers by name: Detent's own, and those that a user's modules register."""

from __future__ import annotations

from collections.abc import Callable

from detent.configuration import EmbeddingSettings
from detent.configuration.values import nearest
from detent.embedding.provider import Provider
from detent.errors import UnknownName

Factory = Callable[[EmbeddingSettings], Provider]

_FACTORIES: dict[str, Factory] = {}


def register(name: str, factory: Factory) -> None:
    """Make a provider known under a name, for `provider` in `[embedding]`. A later one takes an earlier one's place."""
    _FACTORIES[name] = factory


def is_registered(name: str) -> bool:
    return name in _FACTORIES


def open_provider(settings: EmbeddingSettings) -> Provider:
    """The provider that the settings choose.

    What can be known at once is checked at once: that its packages are installed, that there is a key. A model is
    loaded with the first text. Raises UnknownName, InvalidConfiguration or ExtraMissing.
    """
    factory = _FACTORIES.get(settings.provider)
    if factory is None:
        meant = nearest(settings.provider, {name: name for name in _FACTORIES})
        advice = f"Did you mean {meant!r}?" if meant else f"There are {', '.join(_FACTORIES)}."
        raise UnknownName(f"There is no embedding provider {settings.provider!r}. {advice}")
    return factory(settings)


def _wordllama(settings: EmbeddingSettings) -> Provider:
    from detent.embedding.wordllama import WordLlama

    return WordLlama(settings)


def _sentence_transformers(settings: EmbeddingSettings) -> Provider:
    from detent.embedding.sentence_transformers import SentenceTransformers

    return SentenceTransformers(settings)


def _openai(settings: EmbeddingSettings) -> Provider:
    from detent.embedding.openai import OpenAI

    return OpenAI(settings)


register("wordllama", _wordllama)
register("sentence-transformers", _sentence_transformers)
register("openai", _openai)
