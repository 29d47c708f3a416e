"""The provider `sentence-transformers`: models from Hugging Face or from a folder, on a GPU where there is one.

The library sorts the texts by length before it divides them into batches, and restores their order. On a GPU the
model computes in half precision, which is twice as fast and changes no ranking; lengths are made 1 in float32.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from detent.configuration import EmbeddingSettings
from detent.embedding.provider import Provider, Vector, Vectors
from detent.embedding.vectors import normalised
from detent.errors import ExtraMissing, ModelUnavailable

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
BATCH_SIZE = 256
"""Preferred number of texts per call. The longer the list, the better the library can sort texts by length."""

ON_CPU, ON_GPU = 32, 256
"""Number of texts that go through the model together."""


class SentenceTransformers(Provider):
    """Vectors from a model of transformers. One call computes at a time: the device is shared anyway."""

    name = "sentence-transformers"

    def __init__(self, settings: EmbeddingSettings) -> None:
        if find_spec("sentence_transformers") is None:
            raise ExtraMissing(self.name, "sentence-transformers")
        self._settings = settings
        self._name = settings.model or DEFAULT_MODEL
        self.model = f"{self._name}@{settings.dimensions}" if settings.dimensions else self._name
        self.batch_size = settings.batch_size or BATCH_SIZE
        self._lock = threading.RLock()
        self._loaded: Any = None

    @cached_property
    def dimensions(self) -> int:  # type: ignore[override]  # the model decides it, and nobody else
        model = self._model()
        renamed = getattr(model, "get_embedding_dimension", None)  # the other name warns from version 6 on
        return int((renamed or model.get_sentence_embedding_dimension)())

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return normalised([[]])[:0].reshape(0, self.dimensions)
        return self._encoded(self._model().encode_document, texts)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._encoded(self._model().encode_query, [text])[0]
        return vector

    def close(self) -> None:
        with self._lock:
            self._loaded = None

    def _encoded(self, encode: Callable[..., Any], texts: Sequence[str]) -> Vectors:
        with self._lock:
            together = ON_CPU if str(self._model().device) == "cpu" else ON_GPU
            return normalised(encode(list(texts), batch_size=together, show_progress_bar=False, convert_to_numpy=True))

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # it would write over what Detent shows
        device = self._settings.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            model = SentenceTransformer(self._name, device=device, truncate_dim=self._settings.dimensions)
        except Exception as error:  # whatever a model's own code, a download or a driver raises
            raise ModelUnavailable(self._name, error) from error
        return model.half() if device.startswith("cuda") else model
