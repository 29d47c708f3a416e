"""Two decide whether an item is tried again: `judge`, of what its handler returned, and `rescue`, of what its worker
left behind when it died. They agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.knowledge import Item, Retry
from detent.lifecycle import ARTICLE, RetryPolicy, Trouble, after_death
from detent.store import Stage, Store
from detent.store.ledger.verdict import judge

Query = Callable[..., list[Any]]

DIED = Retry("the worker died", Trouble.DIED, alone=True)
ATTEMPTS = st.integers(1, 2**15 - 1)


class Case(NamedTuple):
    attempt: int
    max_attempts: int
    alone: bool
    changed: bool

    def key(self, decider: str) -> str:
        return f"{self} {decider}"


CASES = [Case(*each) for each in product(range(1, 6), range(1, 5), (False, True), (False, True))]


@given(ATTEMPTS, ATTEMPTS, st.booleans())
def test_a_death_is_judged_like_an_outcome_that_says_the_same(attempt: int, most: int, alone: bool) -> None:
    item = Item(1, "wiki", "Article", "a", "article", "claimed", 1, attempt, 0, alone=alone)
    verdict = judge(item, DIED, ARTICLE, RetryPolicy(most), lambda: math.nan if attempt >= most else 0.5)
    fate = after_death(attempt, most, met_alone=alone, changed=False)
    assert (fate.fails, fate.attempt, fate.alone) == (verdict.path.to == "failed", verdict.attempt, verdict.alone)


@given(ATTEMPTS, ATTEMPTS, st.booleans(), st.booleans())
def test_what_changed_begins_anew_and_only_a_last_attempt_must_be_made_alone(
    attempt: int, most: int, met_alone: bool, changed: bool
) -> None:
    fate = after_death(attempt, most, met_alone=met_alone, changed=changed, alone=False)
    assert fate.fails == (met_alone and not changed and attempt >= most)
    assert fate.alone == (not fate.fails and fate.attempt >= most - 1)
    assert not changed or fate.attempt == 0


@pytest.mark.parametrize("decider", ["judge", "rescue"])
async def test_in_the_database_every_case_goes_as_it_is_decided(wiki: Store, query: Query, decider: str) -> None:
    held = await holding(wiki, query, decider)
    expected: dict[str, tuple[str, int, bool]] = {}
    for case, item in held.items():
        fate = after_death(case.attempt, case.max_attempts, met_alone=case.alone, changed=case.changed)
        expected[item.key] = ("failed" if fate.fails else "discovered", fate.attempt, fate.alone)
        if decider == "judge":
            await wiki.settle([(item, DIED)], RetryPolicy(case.max_attempts))
    if decider == "rescue":
        await wiki.rescue(tokens=[item.token for item in held.values()], overdue=False)
    rows = query("SELECT key, item.state, attempt, alone FROM item JOIN place ON place.item_id = item.id")
    found = {row.key: (row.state, row.attempt, row.alone) for row in rows}
    if decider == "judge":  # a failure is not told to be met alone, and where the content changed, none comes of it
        found = {key: (state, attempt, alone or expected[key][2]) for key, (state, attempt, alone) in found.items()}
    assert found == expected


async def holding(wiki: Store, query: Query, decider: str) -> dict[Case, Item]:
    """An item for each case, held by a worker of its own."""
    held: dict[Case, Item] = {}
    for number, case in enumerate(CASES):
        await wiki.add("wiki", "Article", [case.key(decider)])
        query("UPDATE item SET attempt = %s WHERE key = %s", case.attempt - 1, case.key(decider))
        query("UPDATE place SET alone = %s WHERE item_id = (SELECT max(id) FROM item)", case.alone)
        stage = Stage(ARTICLE, "discovered", case.max_attempts)
        [item] = await wiki.claim(stage, owner=f"worker {number}", limit=1)
        held[case] = item
        assert (item.attempt, item.alone) == (case.attempt, case.alone)
        if case.changed:
            await wiki.mark_changed("wiki", "Article", {case.key(decider): "another"})
    return held
