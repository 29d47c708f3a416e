"""The provider `openai`: any service that speaks OpenAI's `/v1/embeddings`.

One call makes as many requests as the texts need and gives up at the first error, which carries what the service
said about waiting. What was answered before that is kept for the next try, and not paid for twice. What a request may
cost is reserved from the budget before it is sent; only a refusal gives it back, since a service that was too slow may
have counted it all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from detent.configuration import EmbeddingSettings
from detent.embedding.answer import Unusable, tokens_in, vectors_in
from detent.embedding.budget import Budget
from detent.embedding.provider import Provider, Vectors
from detent.embedding.vectors import normalised
from detent.errors import ExtraMissing, MalformedAnswer, ServiceRefused

if TYPE_CHECKING:
    from detent.embedding.endpoint import Endpoint

DEFAULT_MODEL = "text-embedding-3-small"
DIMENSIONS = {"text-embedding-3-small": 1_536, "text-embedding-3-large": 3_072, "text-embedding-ada-002": 1_536}
BATCH_SIZE = 128
MOST_KEPT = 10_000
"""Texts whose vectors are kept for a next try at most."""
BYTES_PER_TOKEN = 3
"""English has about four bytes of UTF-8 to a token, code and Chinese about three: rather too many than too few.
Nobody knows every service's tokenizer."""


class OpenAI(Provider):
    """Vectors from a service. `dimensions` is sent only if it is set: not every model can be shortened."""

    name = "openai"

    def __init__(self, settings: EmbeddingSettings) -> None:
        if find_spec("httpx") is None:
            raise ExtraMissing(self.name, "openai")
        from detent.embedding.endpoint import Endpoint

        self._settings = settings
        self._model = settings.model or DEFAULT_MODEL
        self.model = f"{self._model}@{settings.dimensions}" if settings.dimensions else self._model
        self.batch_size = settings.batch_size or BATCH_SIZE
        self.budget: Budget = Budget(settings.token_budget)
        self._width = settings.dimensions or DIMENSIONS.get(self._model)
        self._endpoint: Endpoint = Endpoint(settings)
        self._kept: dict[str, Vectors] = {}

    @cached_property
    def dimensions(self) -> int:  # type: ignore[override]  # the service decides it, and nobody else
        """Of a model that nobody here knows, the service is asked, with a short text."""
        return self._width or self.embed(["dimensions"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        sent = [index for index, text in enumerate(texts) if text.strip()]  # services refuse a text without words
        shorter = [shortened(texts[index], self._settings.max_tokens_per_text) for index in sent]
        found = self._found(shorter)
        vectors: Vectors = np.zeros((len(texts), self._width or self.dimensions), dtype=np.float32)
        if found:
            vectors[sent] = normalised(np.stack([found[text] for text in shorter]))
        return vectors

    def close(self) -> None:
        self._endpoint.close()

    def _found(self, texts: list[str]) -> dict[str, Vectors]:
        """The vector of each text. Where the service fails on the way, what it answered before is kept."""
        found = {text: kept for text in dict.fromkeys(texts) if (kept := self._kept.pop(text, None)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        try:
            for together in requests(missing, self.batch_size, self._settings.max_tokens_per_request):
                found.update(zip(together, self._vectors(together), strict=True))
        except Exception:
            if len(self._kept) + len(found) <= MOST_KEPT:
                self._kept.update(found)
            raise
        return found

    def _vectors(self, texts: list[str]) -> Vectors:
        answer = self._paid(texts)
        try:
            found = vectors_in(answer, len(texts), self._width)
        except Unusable as error:
            raise MalformedAnswer(self._endpoint.address, str(error)) from None
        self._width = found.shape[1]
        return found

    def _paid(self, texts: list[str]) -> Any:
        """The service's answer, its tokens counted."""
        tokens = sum(estimated_tokens(text) for text in texts)
        self.budget.reserve(tokens)
        try:
            answer = self._endpoint.ask(self._question(texts))
        except ServiceRefused:
            self.budget.settle(tokens, 0)
            raise
        counted = tokens_in(answer)
        self.budget.settle(tokens, tokens if counted is None else counted)
        return answer

    def _question(self, texts: list[str]) -> dict[str, Any]:
        question: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "base64"}
        if self._settings.dimensions:
            question["dimensions"] = self._settings.dimensions
        return question


def estimated_tokens(text: str) -> int:
    return len(text.encode()) // BYTES_PER_TOKEN + 1


def shortened(text: str, max_tokens: int) -> str:
    """The beginning of the text that has at most so many tokens, never ending within a character."""
    if len(text) * 4 <= max_tokens * BYTES_PER_TOKEN:
        return text
    return text.encode()[: (max_tokens - 1) * BYTES_PER_TOKEN].decode(errors="ignore")


def requests(texts: Sequence[str], max_texts: int, max_tokens: int) -> Iterator[list[str]]:
    """The texts in their order, as many at a time as one request may hold; one that is over the limit goes alone."""
    together: list[str] = []
    tokens = 0
    for text in texts:
        more = estimated_tokens(text)
        if together and (len(together) == max_texts or tokens + more > max_tokens):
            yield together
            together, tokens = [], 0
        together.append(text)
        tokens += more
    if together:
        yield together
