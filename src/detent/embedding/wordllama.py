"""The provider `wordllama`: offline, on any CPU, from the weights that come inside the package of that name.

A text's vector is the mean of its tokens' vectors, so all the work is to find the tokens and to add up rows of a
table. The package does the same with arrays padded to the longest text of a batch, and its tokenizer spends half its
time on turning spaces into `▁`. Here each text adds its own rows, and the spaces are replaced beforehand. The vectors
are the same, at two to four times the speed, and a test holds them together.

The package itself is not imported: it would set up the program's logging. Nor is numpy, until something is embedded:
who only wants to know which model it is need not wait for that.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from detent.configuration import EmbeddingSettings
from detent.embedding.provider import Provider, Vectors
from detent.errors import InvalidSetting, ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FAMILY = "l2_supercat"
LARGEST = 256
SIZES = (64, 128, LARGEST)
"""The model was trained so that the first 64 or 128 numbers of a vector serve alone too."""

BATCH_SIZE = 256
"""Number of texts per call of the tokenizer."""
PASSAGES = 1024
"""Number of texts embedded and written together; at this size, the overhead of a batch is small."""
TOKENS_AT_ONCE = 4_096
"""Number of rows gathered at a time, so that a text of any length needs little memory."""

_SPACE = "▁"


class Model(NamedTuple):
    """The tokenizer, and a row of numbers for each of its tokens."""

    tokenizer: Tokenizer
    special: tuple[str, ...]
    table: Vectors


_AHEAD: dict[int, Model] = {}
"""A model that was loaded before anybody asked for it, by its dimensions."""


class WordLlama(Provider):
    """Means of token vectors."""

    name = "wordllama"
    light = True

    def __init__(self, settings: EmbeddingSettings) -> None:
        self.dimensions = _dimensions(settings)
        self.model = f"{FAMILY}_{self.dimensions}"
        self.batch_size = settings.batch_size or PASSAGES
        self._loading = threading.Lock()
        self._loaded: Model | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        from detent.embedding.vectors import normalised

        model = self._model()
        sums = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), BATCH_SIZE):
            spaced = [_spaced(text, model.special) for text in texts[start : start + BATCH_SIZE]]
            for row, found in enumerate(model.tokenizer.encode_batch_fast(spaced, add_special_tokens=False), start):
                _add_up(model.table, found.ids, sums[row])
        return normalised(sums)

    def close(self) -> None:
        self._loaded = None

    def _model(self) -> Model:
        with self._loading:
            if self._loaded is None:
                self._loaded = _AHEAD.pop(self.dimensions, None) or _load(self.dimensions)
            return self._loaded


def _dimensions(settings: EmbeddingSettings) -> int:
    named = {f"{FAMILY}_{size}": size for size in SIZES}
    if settings.model is not None and settings.model not in named:
        raise InvalidSetting(
            f"embedding.model is {settings.model!r}, which wordllama does not have. It has {', '.join(named)}."
        )
    size = settings.dimensions or named.get(settings.model or "", LARGEST)
    if size not in SIZES or (settings.model and size != named[settings.model]):
        sizes = named[settings.model] if settings.model else "64, 128 or 256"
        raise InvalidSetting(f"embedding.dimensions is {size}. With wordllama's model it must be {sizes}.")
    return size


def load_ahead() -> None:
    """Have the usual model ready, where it can be: it takes a tenth of a second."""
    with contextlib.suppress(ModelUnavailable):
        _AHEAD[LARGEST] = _load(LARGEST)


def forget() -> None:
    """Let go of a model that was loaded ahead."""
    _AHEAD.clear()


def _load(dimensions: int) -> Model:
    import numpy as np
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    found = find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise ModelUnavailable(FAMILY, "the package wordllama is not installed")
    package = Path(found.submodule_search_locations[0])
    try:
        tokenizer = Tokenizer.from_file(str(package / "tokenizers" / f"{FAMILY}_tokenizer_config.json"))
        weights = load_file(package / "weights" / f"{FAMILY}_{LARGEST}.safetensors")["embedding.weight"]
    except Exception as error:  # tokenizers raises nothing more particular
        raise ModelUnavailable(FAMILY, error) from error
    special = tuple(token.content for token in tokenizer.get_added_tokens_decoder().values())
    tokenizer.normalizer = None  # its work is done by _spaced
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Model(tokenizer, special, np.ascontiguousarray(weights[:, :dimensions], dtype=np.float32))


def _spaced(text: str, special: tuple[str, ...]) -> str:
    """The text as the tokenizer's own normalizer would have it: `▁` for each space, and one before each stretch.

    Special tokens, such as `<s>`, stand between stretches.
    """
    if not any(token in text for token in special):
        return _SPACE + text.replace(" ", _SPACE) if text else ""
    token = next(token for token in special if token in text)
    return token.join(_spaced(stretch, special) for stretch in text.split(token))


def _add_up(table: Vectors, tokens: list[int], into: Vectors) -> None:
    for start in range(0, len(tokens), TOKENS_AT_ONCE):
        into += table.take(tokens[start : start + TOKENS_AT_ONCE], axis=0).sum(axis=0)
