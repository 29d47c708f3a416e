"""The parts of a search: what scores are made of, who embeds the query, and what happens when one part fails."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from detent.application.connecting import Connected, Located
from detent.application.searching import SearchVerbs
from detent.configuration import EmbeddingSettings, load
from detent.embedding import Provider, register
from detent.embedding.provider import Vectors
from detent.errors import DatabaseAway, DetentError
from detent.search import Search
from detent.search.providers import Providers
from detent.store.vectors.models import Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.search.conftest import Library


class Counted(Provider):
    name, model, dimensions, batch_size = "counted", "one", 4, 10
    opened = 0
    queries: list[str]
    let_go = threading.Event()

    def __init__(self, settings: EmbeddingSettings) -> None:
        type(self).opened += 1
        self.let_go.wait(0.05)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), 4), 0.5, np.float32)


def refuse(settings: EmbeddingSettings) -> Provider:
    raise DetentError("there is no key")


@pytest.fixture
async def gardens(library: Library) -> Library:
    for key, links in {"home": ("near",), "near": ("far",), "far": ()}.items():
        await library.put(key, f"A text about gardens and flowers, {key}.", links=links)
    await library.tend()
    return library


@pytest.mark.parametrize("weights", [(0.7, 0.3), (0.2, 0.5)])
async def test_around_nodes_a_score_is_made_of_similarity_and_nearness(
    gardens: Library, weights: tuple[float, float]
) -> None:
    home = await gardens.number("home")
    answer = await gardens.search.search("flowers", mode="graph", around=[home], weights=weights, grouped=False)
    alike = (await gardens.search.search("flowers", mode="semantic", grouped=False)).hits
    similarity = {hit.key: hit.score for hit in alike}
    hops = {"home/0": 1, "near/0": 2, "far/0": 3}
    assert {hit.key for hit in answer.hits} == hops.keys()
    for hit in answer.hits:
        assert hit.parts == {"similarity": similarity[hit.key], "nearness": 1 / (hops[hit.key] + 1)}
        assert hit.score == pytest.approx(weights[0] * similarity[hit.key] + weights[1] / (hops[hit.key] + 1))


async def test_a_model_is_searched_though_the_next_ones_provider_cannot_be_opened(gardens: Library) -> None:
    register("refusing", refuse)
    search = Search(gardens.store, EmbeddingSettings(provider="refusing"))
    answer = await search.search("flowers", mode="semantic")
    assert (len(answer.hits), answer.notes) == (3, ())
    search.close()


async def test_a_model_is_searched_though_the_next_one_has_other_dimensions(gardens: Library) -> None:
    for dimensions in (64, 65):
        search = Search(gardens.store, EmbeddingSettings(dimensions=dimensions))
        answer = await search.search("flowers", mode="semantic")
        assert (len(answer.hits), answer.notes) == (3, ())
        search.close()


@pytest.mark.parametrize("chosen", [{}, {"dimensions": 128}, {"dimensions": 65}, {"model": "other", "dimensions": 64}])
@pytest.mark.parametrize(
    ("provider", "name", "dimensions"),
    [
        ("wordllama", "l2_supercat_256", 256),
        ("wordllama", "l2_supercat_64", 64),
        ("openai", "text-embedding-3-small", 1_536),
        ("openai", "text-embedding-3-small@256", 256),
        ("sentence-transformers", "models/me@home", 384),
        ("sentence-transformers", "models/me@home@256", 256),
    ],
)
def test_a_provider_is_opened_as_it_was_when_it_made_the_vectors(
    provider: str, name: str, dimensions: int, chosen: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detent.embedding.sentence_transformers.find_spec", lambda _: True)
    providers = Providers(EmbeddingSettings(provider=provider, api_key_env="", **chosen))
    opened: Any = providers.of(Model(1, provider, name, dimensions, "current"))
    assert (opened.name, opened.model) == (provider, name)
    if provider == "sentence-transformers":  # its dimensions are known when the model is loaded
        chosen_then = 256 if name.endswith("@256") else None
        assert (opened._name, opened._settings.dimensions) == ("models/me@home", chosen_then)
    else:
        assert opened.dimensions == dimensions
    providers.close()


def test_searches_that_begin_at_once_open_one_provider() -> None:
    register("counted", Counted)
    providers = Providers(EmbeddingSettings(provider="counted"))
    own, other = (Model(number, "counted", name, 4, "current") for number, name in enumerate(["one", "two"]))
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(providers.of, [own] * 4))) == 1
        assert Counted.opened == 1
        assert len(set(pool.map(providers.of, [other] * 4))) == 1
    assert Counted.opened == 2
    providers.close()


async def test_the_query_is_embedded_once_however_deep_is_asked(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.put("one", *(f"A garden with flowers, number {number}." for number in range(130)))
    await library.put("other", "The engine of a lorry has four pistons.")
    await library.tend()
    embedded: list[Any] = []
    within = library.search._embedded

    async def note(*asked: Any) -> Any:
        embedded.append(asked)
        return await within(*asked)

    monkeypatch.setattr(library.search, "_embedded", note)
    assert [hit.key for hit in (await library.search.search("flowers")).hits] == ["one", "other"]
    assert len(embedded) == 1


async def test_when_the_database_is_away_for_one_part_the_other_is_not_left_running(
    gardens: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    waiting = asyncio.Event()

    async def wait(*_: Any, **__: Any) -> None:
        try:
            waiting.set()
            await asyncio.Event().wait()
        finally:
            ended.append("the vectors")

    async def fail(*_: Any, **__: Any) -> None:
        await waiting.wait()
        raise DatabaseAway("it is gone")

    monkeypatch.setattr(gardens.store.vectors, "search", wait)
    monkeypatch.setattr(gardens.store.texts, "search", fail)
    with pytest.raises(DatabaseAway, match="it is gone"):
        await gardens.search.search("flowers")
    assert ended == ["the vectors"]


@pytest.mark.parametrize(
    "weights",
    [(float("nan"), 0.3), (0.7,), (0.7, 0.3, 0.1), (-0.1, 0.3), (0.7, float("inf")), "11", None, ("1", "2"), 1],
)
async def test_weights_that_are_none_are_refused(gardens: Library, weights: Any) -> None:
    searching = SearchVerbs(Connected(gardens.store, Located("", load(None), None)))
    with pytest.raises(DetentError, match=r"^The weights are two numbers that are not negative, such as"):
        await searching.search("flowers", around=["home"], weights=weights)


async def test_around_nodes_no_other_mode_is_heeded_in_silence(gardens: Library) -> None:
    searching = SearchVerbs(Connected(gardens.store, Located("", load(None), None)))
    for mode in ("text", "semantic", "hybrid"):
        with pytest.raises(DetentError, match=rf"not by the mode '{mode}'\. Leave one of them out\.$"):
            await searching.search("flowers", mode=mode, around=["home"])
    for chosen in (None, "graph"):
        found = await searching.search("flowers", mode=chosen, around="home", weights=(1, 0))
        assert {hit.key for hit in found.hits} == {"home", "near", "far"}
    searching.close_search()
