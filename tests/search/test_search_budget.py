"""What queries cost: counted with what workers have spent, and no reason to answer nothing when it is too much."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest

from detent.configuration import EmbeddingSettings
from detent.embedding import Budget, register
from detent.embedding.provider import Vectors
from detent.embedding.wordllama import WordLlama
from detent.search import Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.search.conftest import Library

Query = Callable[..., list[Any]]
Open = Callable[[int | None], Search]

SPENT = "The budget for embedding is spent: {} of {} tokens, and the next request would exceed it."


class Paid(WordLlama):
    """Every text costs at most two tokens, and then one."""

    name = "paid"

    def __init__(self, settings: EmbeddingSettings) -> None:
        super().__init__(settings)
        self.budget = Budget(settings.token_budget)

    def embed(self, texts: Sequence[str]) -> Vectors:
        assert self.budget is not None
        self.budget.reserve(2 * len(texts))
        if "refuse" in texts:
            raise TimeoutError("no answer")
        self.budget.settle(2 * len(texts), len(texts))
        return super().embed(texts)


@pytest.fixture
async def opened(library: Library, query: Query) -> AsyncIterator[Open]:
    """Opens searches of a library that was embedded by a provider that is paid, each as a process of its own would."""
    register("paid", Paid)
    await library.put("Cat", "A cat is a small furry animal that catches mice and purrs.")
    await library.put("Dog", "A dog is a loyal animal that barks and guards the house.")
    await library.tend()
    query("UPDATE model SET provider = 'paid'")
    made: list[Search] = []

    def open_search(token_budget: int | None) -> Search:
        made.append(Search(library.store, EmbeddingSettings(provider="paid", token_budget=token_budget)))
        return made[-1]

    yield open_search
    for search in made:
        search.close()


async def test_what_queries_cost_is_kept_for_everybody(library: Library, opened: Open, query: Query) -> None:
    one, two = opened(100), opened(100)
    for number, search in enumerate([one, one, two, one], start=1):
        assert (await search.search(f"furry {number}")).notes == ()
        assert await library.store.spending.elsewhere("a worker", "paid") == number
    assert [(row.provider, row.tokens) for row in query("SELECT provider, tokens FROM spending")] == [("paid", 4)]


async def test_queries_at_the_same_time_are_each_counted_once(library: Library, opened: Open) -> None:
    searches = [opened(1000) for _ in range(3)]
    await asyncio.gather(*(searches[n % 3].search(f"furry {n}") for n in range(30)))
    assert await library.store.spending.elsewhere("a worker", "paid") == 30


async def test_a_query_whose_answer_is_lost_is_counted_in_full(library: Library, opened: Open) -> None:
    assert (await opened(100).search("refuse")).notes == ("Searching by meaning failed: no answer.",)
    assert await library.store.spending.elsewhere("a worker", "paid") == 2


async def test_when_the_budget_is_spent_search_answers_by_words_and_says_so(library: Library, opened: Open) -> None:
    await library.store.spending.note("a worker", "paid", 7)
    search = opened(10)
    for _ in range(2):
        answer = await search.search("furry")
        assert set(answer.hits[0].parts) == {"text", "semantic"}
    for each in (search, opened(10)):
        answer = await each.search("furry")
        assert [hit.key for hit in answer.hits] == ["Cat"]
        assert set(answer.hits[0].parts) == {"text"}
        [note] = answer.notes
        assert SPENT.format(9, 10) in note
    assert await library.store.spending.elsewhere("another", "paid") == 9


async def test_without_a_limit_nothing_is_kept(opened: Open, query: Query) -> None:
    assert (await opened(None).search("furry")).notes == ()
    assert query("SELECT FROM spending") == []
