"""The provider `sentence-transformers`, with a tiny model of random weights made on the spot. Needs the extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="the extra sentence-transformers is not installed")

from tests.embedding.bert import make_model

from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, open_provider
from detent.errors import ModelUnavailable

WORDS = ["catch", "hold", "wheel", "move", "place", "bread", "query:"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model with 16 dimensions."""
    return make_model(tmp_path_factory.mktemp("tiny"), WORDS, width=16, layers=1, heads=2, longest=64)


def opened(folder: Path, **details: Any) -> Provider:
    return open_provider(EmbeddingSettings(provider="sentence-transformers", model=str(folder), **details))


def test_vectors_come_in_the_order_of_the_texts_and_have_length_1(folder: Path) -> None:
    provider = opened(folder, device="cpu")
    texts = [" ".join(WORDS[: 1 + number % 6] * (1 + number % 5)) for number in range(100)]
    vectors = provider.embed(texts)
    assert vectors.dtype == np.float32
    assert (vectors.shape, provider.dimensions) == ((100, 16), 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alone = np.concatenate([provider.embed([text]) for text in texts])
    np.testing.assert_allclose(vectors, alone, atol=1e-5)


def test_a_query_gets_the_prompt_that_the_model_has_for_it(folder: Path) -> None:
    provider = opened(folder, device="cpu")
    query = provider.embed_query("bread")
    np.testing.assert_allclose(query, provider.embed(["query: bread"])[0], atol=1e-5)
    assert not np.allclose(query, provider.embed(["bread"])[0], atol=1e-3)


def test_fewer_dimensions_are_the_first_ones_under_another_name(folder: Path) -> None:
    provider = opened(folder, dimensions=8, device="cpu")
    whole = opened(folder, device="cpu").embed(["catch and hold"])[:, :8]
    np.testing.assert_allclose(provider.embed(["catch and hold"]), whole / np.linalg.norm(whole), atol=1e-5)
    assert (provider.model, provider.dimensions) == (f"{folder}@8", 8)


def test_the_device_is_chosen_by_itself_and_half_precision_changes_little(folder: Path) -> None:
    provider, exact = opened(folder), opened(folder, device="cpu")
    np.testing.assert_allclose(provider.embed(WORDS), exact.embed(WORDS), atol=1e-2)
    np.testing.assert_allclose(np.linalg.norm(provider.embed(WORDS), axis=1), 1, atol=1e-5)


def test_no_texts_and_an_empty_text_do_no_harm(folder: Path) -> None:
    provider = opened(folder, device="cpu")
    assert provider.embed([]).shape == (0, 16)
    assert np.isfinite(provider.embed([""])).all()
    provider.close()
    provider.close()


def test_a_model_that_is_not_there_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable) as refused:
        opened(tmp_path / "nowhere").embed(["a text"])
    assert f"The embedding model {str(tmp_path / 'nowhere')!r} cannot be loaded: " in str(refused.value)
