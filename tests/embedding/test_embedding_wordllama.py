"""The provider `wordllama` gives the vectors of the package of that name, faster."""

from __future__ import annotations

import logging
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, Vectors, open_provider, wordllama
from detent.embedding.wordllama import TOKENS_AT_ONCE
from detent.errors import InvalidSetting, ModelUnavailable

PROVIDER = open_provider(EmbeddingSettings())


@pytest.fixture(scope="module")
def package() -> Iterator[Any]:
    """The package itself. It sets up logging when it is imported, which is undone."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    import wordllama

    root.setLevel(level)
    root.handlers[:] = handlers
    yield wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def by(package: Any, texts: list[str]) -> Vectors:
    vectors: Vectors = package.embed(texts, norm=True)
    return vectors


def exactly(package: Any, text: str) -> Any:
    """The vector that the package would give if it lost nothing by rounding."""
    counts = np.bincount(package.tokenize(text)[0].ids, minlength=len(package.embedding))
    total = counts @ package.embedding.astype(np.float64)
    return [total / np.linalg.norm(total)]


TEXTS = {
    "a word": "detent",
    "a sentence": "A detent is the catch that holds a mechanism in place until it is deliberately moved on.",
    "one space": " ",
    "spaces": "   two  words   and a tail    ",
    "lines": "one\ntwo\r\n\r\n\tthree\n",
    "emoji": "👩‍👩‍👧‍👦 🇦🇹 🤷🏽‍♀️ done ✅",
    "other scripts": "Ελληνικά, русский, 日本語のテキスト, العربية, ไทย, 한국어",
    "the tokenizer's own space": "a▁b ▁ c▁",
    "special tokens": "<s>a <s> b</s></s>c<unk>d <unk>",
    "a special token alone": "</s>",
    "code": "def f(x: int) -> list[int]:\n    return [x ** 2 for _ in range(10)]  # <s>\n",
    "control characters": "\x00\x01\x7f\x1b[0m",
    "a long word": "x" * 5_000,
    "many tokens": "word " * (TOKENS_AT_ONCE * 2 + 1),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_has_the_vector_that_the_package_gives(package: Any, name: str) -> None:
    np.testing.assert_allclose(PROVIDER.embed([TEXTS[name]]), by(package, [TEXTS[name]]), atol=1e-5)


def test_a_batch_has_the_vectors_that_the_package_gives_in_the_same_order(package: Any) -> None:
    texts = [text for text in TEXTS.values() if len(text) < 1_000] * 50
    vectors = PROVIDER.embed(texts)
    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, by(package, texts), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@settings(max_examples=300)
@given(st.text(alphabet=st.one_of(st.sampled_from(list("ab ▁<s>/unk\n\t")), st.characters(codec="utf-8")), min_size=1))
def test_any_text_has_the_vector_that_the_package_gives(package: Any, text: str) -> None:
    np.testing.assert_allclose(PROVIDER.embed([text]), by(package, [text]), atol=1e-5)


def test_a_text_of_a_megabyte_is_taken_whole_as_by_the_package_and_needs_little_memory(package: Any) -> None:
    text = "".join(f"line {number} of a very long text\n" for number in range(35_000))
    assert len(text) > 1_000_000
    expected = by(package, [text])
    tracemalloc.start()
    vectors = PROVIDER.embed([text])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(vectors, exactly(package, text), atol=1e-5)
    np.testing.assert_allclose(vectors, expected, atol=1e-3)  # the package adds up 400,000 numbers in float32
    assert peak < 50_000_000, "a row of the table for each token at once would be 400 MB"
    assert not np.allclose(vectors, PROVIDER.embed([text[:500_000] + "but another end " * 30_000]), atol=1e-3)


def test_an_empty_text_has_no_direction() -> None:
    assert not PROVIDER.embed(["", "not empty"])[0].any()
    assert PROVIDER.embed([]).shape == (0, 256)


@pytest.mark.parametrize("size", [64, 128])
def test_fewer_dimensions_are_the_first_ones_under_another_name(package: Any, size: int) -> None:
    provider = open_provider(EmbeddingSettings(dimensions=size))
    expected = by(package, [TEXTS["a sentence"]])[:, :size]
    np.testing.assert_allclose(provider.embed([TEXTS["a sentence"]]), expected / np.linalg.norm(expected), atol=1e-5)
    assert (provider.name, provider.model, provider.dimensions) == ("wordllama", f"l2_supercat_{size}", size)
    assert open_provider(EmbeddingSettings(model=f"l2_supercat_{size}")).dimensions == size


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            EmbeddingSettings(model="l3_supercat_256"),
            "embedding.model is 'l3_supercat_256', which wordllama does not have. "
            "It has l2_supercat_64, l2_supercat_128, l2_supercat_256.",
        ),
        (
            EmbeddingSettings(dimensions=100),
            "embedding.dimensions is 100. With wordllama's model it must be 64, 128 or 256.",
        ),
        (
            EmbeddingSettings(dimensions=64, model="l2_supercat_128"),
            "embedding.dimensions is 64. With wordllama's model it must be 128.",
        ),
    ],
)
def test_what_the_package_does_not_have_is_refused_when_the_provider_is_opened(
    chosen: EmbeddingSettings, message: str
) -> None:
    with pytest.raises(InvalidSetting) as refused:
        open_provider(chosen)
    assert str(refused.value) == message


def test_a_query_means_what_it_is_about() -> None:
    texts = ["How to bake bread with sourdough", "A history of the Roman senate", "Replacing a bicycle chain"]
    found = PROVIDER.embed(texts) @ PROVIDER.embed_query("baking a loaf of bread")
    assert int(found.argmax()) == 0


def test_threads_may_share_it_and_it_is_loaded_once() -> None:
    provider = open_provider(EmbeddingSettings())
    texts = [f"text number {number}" for number in range(400)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda start: provider.embed(texts[start : start + 10]), range(0, 400, 10)))
    np.testing.assert_array_equal(np.concatenate(found), provider.embed(texts))


def test_it_can_be_closed_twice_and_used_again() -> None:
    provider: Provider = open_provider(EmbeddingSettings())
    before = provider.embed(["a text"])
    provider.close()
    provider.close()
    np.testing.assert_array_equal(provider.embed(["a text"]), before)


def test_without_the_package_the_model_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detent.embedding.wordllama.find_spec", lambda name: None)
    wordllama.forget()
    wordllama.load_ahead()
    with pytest.raises(ModelUnavailable, match="the package wordllama is not installed"):
        open_provider(EmbeddingSettings()).embed(["a text"])


def test_nothing_is_loaded_before_it_is_needed_and_the_package_sets_up_no_logging() -> None:
    program = """
import logging, sys
import detent.embedding
from detent.configuration import EmbeddingSettings
assert "numpy" not in sys.modules
provider = detent.embedding.open_provider(EmbeddingSettings())
assert "tokenizers" not in sys.modules
provider.embed(["a text"])
assert "wordllama" not in sys.modules and "requests" not in sys.modules
assert logging.getLogger().handlers == []
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
