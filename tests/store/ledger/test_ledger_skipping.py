"""What is known of an item's meaning goes when there is nothing to embed any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from detent.knowledge import Child, Done, Embedding, Item, Node, Outcome, Skipped
from detent.lifecycle import ARTICLE, PASSAGE
from detent.store import Settled, Stage, Store
from detent.store.ledger.family import Family

Query = Callable[..., list[Any]]

MADE = Embedding("p", "m", hash=UUID(int=7), vector=np.ones(4, np.float32))


@pytest.fixture
async def wiki(store: Store) -> Store:
    await store.declare("wiki", "Article", ARTICLE)
    await store.declare("wiki", "Section", PASSAGE)
    await store.vectors.register("p", "m", 4)
    return store


async def settle_article(store: Store, outcome: Outcome) -> None:
    await store.add("wiki", "Article", ["a"])
    found = await store.items.find(await store.kinds.get("wiki", "Article"), ["a"])
    await store.reset([found["a"].id])
    [item] = await store.claim(Stage(ARTICLE, "discovered"), owner="w")
    [receipt] = await store.settle([(item, outcome)])
    assert receipt.status is Settled.APPLIED, receipt


async def settle_section(store: Store, outcome: Outcome) -> Item:
    [item] = await store.claim(Stage(PASSAGE, "linked"), owner="e")
    [receipt] = await store.settle([(item, outcome)])
    assert receipt.status is Settled.APPLIED, receipt
    return item


async def test_a_passage_that_is_skipped_is_no_longer_found_by_its_old_meaning(wiki: Store) -> None:
    model = await wiki.vectors.current()
    assert model is not None
    await settle_article(wiki, Done(Node("a"), children=[Child("Section", "s", Node("", "what was said"))]))
    item = await settle_section(wiki, Done(embedding=MADE))
    hits = (await wiki.vectors.search(model, np.ones(4, np.float32), limit=5)).hits
    assert [hit.item_id for hit in hits] == [item.id]
    await settle_article(wiki, Done(Node("a"), children=[Child("Section", "s", Node("", "gone"))]))
    await settle_section(wiki, Skipped("the text is too short"))
    assert (await wiki.vectors.search(model, np.ones(4, np.float32), limit=5)).hits == []


async def test_what_turns_out_to_be_another_name_has_no_embedding(wiki: Store, query: Query) -> None:
    await settle_article(wiki, Done(Node("a"), embedding=MADE))
    assert len(query("SELECT item_id FROM embedding")) == 1
    await settle_article(wiki, Done(alias_of="b"))
    assert query("SELECT item_id FROM embedding") == []


def test_a_large_family_is_looked_through_once() -> None:
    class Row:
        def __init__(self, number: int) -> None:
            self.id, self.kind_id, self.key, self.parent_id = number, 1, str(number), number // 2 or None

    rows = [Row(number) for number in range(1, 200_001)]
    family = Family(rows)
    assert len(family.with_descendants([rows[0]])) == 200_000
