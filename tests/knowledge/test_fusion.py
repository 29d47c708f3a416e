"""Rank fusion: what comes first when several rankings disagree."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.knowledge.fusion import Fused, fuse

Rankings = dict[str, list[tuple[int, float]]]

ITEMS = st.lists(st.integers(1, 30), unique=True, max_size=20)
RANKINGS = st.dictionaries(st.sampled_from(["text", "semantic", "graph"]), ITEMS.map(lambda items: ranking(*items)))


def ranking(*items: int) -> list[tuple[int, float]]:
    """These items, best first, with scores that fall."""
    return [(item, 100.0 - place) for place, item in enumerate(items)]


def order(fused: list[Fused]) -> list[int]:
    return [each.item_id for each in fused]


def test_what_both_rankings_put_first_comes_first() -> None:
    fused = fuse({"text": ranking(7, 1, 2), "semantic": ranking(7, 3, 4)})
    assert order(fused)[0] == 7


def test_of_two_that_are_equally_high_the_one_that_both_have_comes_first() -> None:
    assert order(fuse({"text": ranking(1, 2), "semantic": ranking(3, 2)}))[0] == 2


def test_the_first_of_one_ranking_is_not_pushed_down_by_the_middle_of_both() -> None:
    """With the usual constant of 60 the fifteen that both have would all come before it."""
    middle = list(range(10, 25))
    rankings = {"text": ranking(1, *middle), "semantic": ranking(2, *middle)}
    assert {1, 2} <= set(order(fuse(rankings))[:4])
    assert {1, 2}.isdisjoint(order(fuse(rankings, places=60))[:15])


def test_the_score_is_the_sum_over_the_rankings_and_its_parts_are_told() -> None:
    [best, _, _] = fuse({"text": [(1, 9.5), (2, 3.0)], "semantic": [(3, 0.8), (1, 0.7)]}, places=10)
    assert best.item_id == 1
    assert best.score == pytest.approx(1 / 11 + 1 / 12)
    assert best.parts == {"text": (1, 9.5), "semantic": (2, 0.7)}


def test_scores_of_different_scales_do_not_matter() -> None:
    small = fuse({"text": [(1, 0.3), (2, 0.2)], "semantic": [(2, 0.9), (3, 0.1)]})
    large = fuse({"text": [(1, 3e9), (2, 2e9)], "semantic": [(2, -0.1), (3, -9.0)]})
    assert [(each.item_id, each.score) for each in small] == [(each.item_id, each.score) for each in large]


def test_what_is_equal_is_in_the_order_of_the_items_numbers() -> None:
    assert order(fuse({"text": ranking(9, 4), "semantic": ranking(3, 8)})) == [3, 9, 4, 8]


def test_an_item_that_a_ranking_has_twice_counts_once_where_it_is_best() -> None:
    fused = fuse({"text": ranking(1, 2, 1, 1)})
    assert order(fused) == [1, 2]
    assert fused[0].parts == {"text": (1, 100.0)}


@pytest.mark.parametrize("rankings", [{}, {"text": []}, {"text": [], "semantic": []}], ids=["none", "empty", "both"])
def test_nothing_makes_nothing(rankings: Rankings) -> None:
    assert fuse(rankings) == []


@given(RANKINGS)
def test_everything_that_was_found_is_there_once_best_first(rankings: Rankings) -> None:
    fused = fuse(rankings)
    assert sorted(order(fused)) == sorted({item for found in rankings.values() for item, _ in found})
    assert [each.score for each in fused] == sorted((each.score for each in fused), reverse=True)


@given(ITEMS)
def test_an_empty_ranking_changes_no_order(items: list[int]) -> None:
    assert order(fuse({"text": ranking(*items), "semantic": []})) == items


@given(RANKINGS, st.randoms(use_true_random=False))
def test_the_order_of_the_rankings_does_not_matter(rankings: Rankings, chance: random.Random) -> None:
    names = list(rankings)
    chance.shuffle(names)
    assert order(fuse({name: rankings[name] for name in names})) == order(fuse(rankings))


def test_sums_that_rounding_makes_unequal_do_not_depend_on_the_order_of_the_rankings() -> None:
    many = ranking(*range(1, 14), 21)
    rankings = {"text": many, "semantic": many, "graph": ranking(1, 2, 3, 21)}
    fused = {tuple(order(fuse({name: rankings[name] for name in names}))) for names in itertools.permutations(rankings)}
    assert len(fused) == 1


@given(ITEMS.filter(lambda items: len(items) > 1), ITEMS)
def test_whoever_rises_in_one_ranking_does_not_fall(items: list[int], others: list[int]) -> None:
    raised = [items[-1], *items[:-1]]
    before = order(fuse({"text": ranking(*items), "semantic": ranking(*others)}))
    after = order(fuse({"text": ranking(*raised), "semantic": ranking(*others)}))
    assert after.index(items[-1]) <= before.index(items[-1])


def test_a_ranking_counts_as_much_as_its_weight() -> None:
    rankings = {"text": [(1, 9.0), (2, 8.0)], "semantic": [(2, 0.9), (1, 0.8)]}
    assert [each.item_id for each in fuse(rankings, weights={"text": 3.0})] == [1, 2]
    assert [each.item_id for each in fuse(rankings, weights={"text": 0.3})] == [2, 1]
    assert fuse(rankings, weights={}) == fuse(rankings)
