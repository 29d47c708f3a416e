"""Choosing a provider, adding one, and which texts get a vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from detent.configuration import EmbeddingSettings
from detent.embedding import Budget, Provider, Vectors, open_provider, register, registry
from detent.embedding.openai import estimated_tokens, requests, shortened
from detent.errors import BudgetSpent, ExtraMissing, UnknownName


@pytest.fixture
def own_providers() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    known = dict(registry._FACTORIES)
    yield
    registry._FACTORIES.clear()
    registry._FACTORIES.update(known)


class Lengths(Provider):
    """The smallest provider that somebody could write."""

    name = "lengths"
    model = "characters"
    dimensions = 2
    batch_size = 10

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([[1, 0] if len(text) > 5 else [0, 1] for text in texts], dtype=np.float32)


@pytest.mark.usefixtures("own_providers")
def test_a_provider_of_ones_own_is_registered_under_a_name() -> None:
    register("lengths", lambda settings: Lengths())
    provider = open_provider(EmbeddingSettings(provider="lengths"))
    assert provider.embed(["long enough", "short"]).tolist() == [[1, 0], [0, 1]]
    assert provider.embed_query("short").tolist() == [0, 1], "a query is a text like any other"
    assert provider.budget is None
    provider.close()


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("wordlama", "Did you mean 'wordllama'?"),
        ("sentence_transformers", "Did you mean 'sentence-transformers'?"),
        ("xyz", "There are openai, sentence-transformers, wordllama"),  # and those that other tests registered
    ],
)
def test_a_provider_that_nobody_knows_is_refused_with_the_nearest_known(name: str, advice: str) -> None:
    with pytest.raises(UnknownName) as refused:
        open_provider(EmbeddingSettings(provider=name))
    assert str(refused.value).startswith(f"There is no embedding provider {name!r}. {advice}")


@pytest.mark.parametrize(("name", "extra"), [("openai", "openai"), ("sentence-transformers", "sentence-transformers")])
def test_an_extra_that_is_not_installed_is_missed_when_the_provider_is_opened(
    name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = name.replace("-", "_")
    monkeypatch.setattr(f"detent.embedding.{module}.find_spec", lambda name: None)
    with pytest.raises(ExtraMissing) as refused:
        open_provider(EmbeddingSettings(provider=name))
    assert str(refused.value) == (
        f"The embedding provider {name!r} needs a package that is not installed. "
        f"Run `pip install 'detent[{extra}]'`, or choose another provider in [embedding] of detent.toml."
    )


def test_some_texts_get_no_vector() -> None:
    settings = EmbeddingSettings(skip_labels=("Image",), min_characters=5)
    assert settings.reason_to_skip("Section", "12345") is None
    assert settings.reason_to_skip("Section", "  1234\n") == "a text of fewer than 5 characters gets no vector"
    assert settings.reason_to_skip("Image", "12345") == "items with the label Image get no vector"
    assert EmbeddingSettings(min_characters=0).reason_to_skip("Section", " ") is not None, "there is nothing in it"


def test_requests_keep_the_order_and_leave_nothing_out() -> None:
    texts = [str(number) * number for number in range(1, 40)]
    divided = list(requests(texts, max_texts=7, max_tokens=50))
    assert [text for together in divided for text in together] == texts
    assert max(len(together) for together in divided) <= 7
    assert all(sum(map(estimated_tokens, together)) <= 50 for together in divided)
    assert list(requests([], 7, 50)) == []


@pytest.mark.parametrize("text", ["", "short", "a" * 1000, "é" * 1000, "字" * 1000, "😀" * 1000])
def test_a_text_is_cut_to_what_it_may_have_and_not_within_a_character(text: str) -> None:
    cut = shortened(text, 20)
    assert text.startswith(cut)
    assert estimated_tokens(cut) <= 20
    assert cut == text or estimated_tokens(cut) >= 18


def test_calls_at_the_same_time_do_not_exceed_the_budget_together() -> None:
    budget = Budget(1_000)

    def spend(_: int) -> bool:
        try:
            budget.reserve(7)
        except BudgetSpent:
            return False
        budget.settle(7, 5)
        return True

    with ThreadPoolExecutor(8) as threads:
        allowed = sum(threads.map(spend, range(400)))
    assert budget.spent == allowed * 5
    assert 990 < budget.spent <= 1_000


def test_without_a_limit_nobody_is_asked_what_was_spent_elsewhere() -> None:
    budget = Budget(None, elsewhere=lambda: 1 // 0)
    budget.reserve(10**12)
    assert budget.spent == 10**12
