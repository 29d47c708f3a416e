"""How good search is, as a number that must not fall: nDCG@10 over a collection that was written and judged for it.

Whoever extends the collection judges by what the passages say, runs this, and puts the figures that are printed, less
0.02, into FLOORS.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from tests.search.judging import CUT, Passage, judged, ndcg, passages

from detent.knowledge import Child, Done, Node
from detent.lifecycle import ARTICLE
from detent.store import Stage

if TYPE_CHECKING:
    from tests.search.conftest import Library

Query = Callable[..., list[Any]]

MODES = ("text", "semantic", "hybrid")

FLOORS = {
    "english": {"text": 0.806, "semantic": 0.839, "hybrid": 0.884},
    "simple": {"text": 0.710, "semantic": 0.839, "hybrid": 0.862},
}
"""What search reaches, less 0.02; by the language that the source is said to be in."""

UNRELATED = 300
TOLERATED = 0.05

SUBJECTS = "goalkeeper tailor referee carpenter hotelier sculptor dentist florist wrestler juggler barber jockey"
VERBS = "polished borrowed sketched rented praised folded painted mislaid stapled auctioned juggled wrapped"
THINGS = "umbrella trousers sofa scarf stapler trophy necklace suitcase curtain wardrobe lipstick racket"
ROOMS = "stadium hotel lobby theatre gymnasium boutique cinema casino ballroom corridor nursery studio"
MANNERS = "cheerfully reluctantly yesterday solemnly twice unasked tonight proudly barefoot elegantly"


async def shelve(library: Library, article: str, shelved: Sequence[Passage]) -> None:
    """Put passages into the library, as the sections of one article without a text, and make them searchable."""
    await library.store.add("wiki", "Article", [article])
    [item] = await library.store.claim(Stage(ARTICLE, "discovered"), owner="w")
    children = [Child("Section", key, Node(title, text), edge="HAS_SECTION") for key, title, text in shelved]
    [receipt] = await library.store.settle([(item, Done(Node(""), children=children))])
    assert receipt.state == "loaded", receipt
    await library.tend()


async def measure(library: Library, told: str) -> dict[str, float]:
    """The mean nDCG@10 of each mode. It is printed as well: `pytest -s` shows it."""
    asked = judged()
    figures = {}
    for mode in MODES:
        scores = [ndcg(await found(library, each.query, mode), each.grades) for each in asked]
        figures[mode] = sum(scores) / len(scores)
    sys.stdout.write(f"\nnDCG@{CUT}, {told}: {', '.join(f'{mode} {figures[mode]:.3f}' for mode in MODES)}\n")
    return figures


async def found(library: Library, query: str, mode: str) -> list[str]:
    answer = await library.search.search(query, mode=mode, limit=CUT, grouped=False)
    assert not any("failed" in note for note in answer.notes), answer.notes
    return [hit.key for hit in answer.hits]


def unrelated(many: int) -> list[Passage]:
    """Passages that answer none of the queries."""
    chance = random.Random(1)

    def sentence() -> str:
        subject, verb, thing, room, manner = (
            chance.choice(words.split()) for words in (SUBJECTS, VERBS, THINGS, ROOMS, MANNERS)
        )
        return f"The {subject} {verb} the {thing} in the {room} {manner}."

    texts = [" ".join(sentence() for _ in range(chance.randint(4, 9))) for _ in range(many)]
    return [Passage(f"unrelated-{number}", f"Scene {number}", text) for number, text in enumerate(texts)]


@pytest.mark.parametrize("language", FLOORS)
async def test_search_is_as_good_as_it_was_and_hybrid_is_the_best_of_its_modes(
    library: Library, query: Query, language: str
) -> None:
    query("UPDATE source SET language = %s", language)
    await shelve(library, "collection", passages())
    figures = await measure(library, language)
    assert figures["hybrid"] >= figures["text"]
    assert figures["hybrid"] >= figures["semantic"]
    for mode, floor in FLOORS[language].items():
        assert figures[mode] >= floor, f"The mode {mode} has become worse: {figures[mode]:.3f}, at least {floor}."
    await shelve(library, "unrelated", unrelated(UNRELATED))
    crowded = await measure(library, f"{language}, among {UNRELATED} unrelated passages")
    for mode in MODES:
        assert crowded[mode] >= figures[mode] - TOLERATED, f"The mode {mode} is distracted by what is unrelated."


def test_the_collection_is_in_order() -> None:
    shelved, asked = passages(), judged()
    keys = {passage.key for passage in shelved}
    assert len(keys) == len(shelved) >= 150
    assert len({each.query for each in asked}) == len(asked) >= 45
    for passage in shelved:
        assert 40 <= len(passage.text.split()) <= 120, passage.key
    for each in asked:
        assert 3 <= len(each.grades) <= 8, each.query
        assert each.grades.keys() <= keys, each.query
        assert set(each.grades.values()) <= {0, 1, 2, 3}, each.query
        assert 3 in each.grades.values(), each.query


def test_the_measure_rewards_what_is_relevant_and_early() -> None:
    grades = {"a": 3, "b": 1, "c": 0}
    assert ndcg(["a", "b"], grades) == 1
    assert ndcg(["x", "c"], grades) == ndcg([], grades) == 0
    assert ndcg(["x"] * CUT + ["a", "b"], grades) == 0
    assert ndcg(["b", "a"], grades) == pytest.approx((1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)))
