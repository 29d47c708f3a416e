"""One bad outcome fails its own item with its own reason, and not its batch."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from detent.errors import DatabaseAway
from detent.knowledge import Child, Done, Embedding, Failed, NewItem, Node, Reference, Retry, Skipped
from detent.lifecycle import ARTICLE, NODE
from detent.store import Settled, Stage, Store
from detent.store.graph.writing import Graph
from detent.store.ledger.kinds import Kinds

Query = Callable[..., list[Any]]

ARTICLES = Stage(ARTICLE, "discovered")

NESTED: list[Any] = []
for _ in range(3000):
    NESTED = [NESTED]


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError


BAD: list[tuple[str, Any, str]] = [
    ("a state that is a number", Done(to=7), "int, not"),  # type: ignore[arg-type]
    ("a list of no states", Done(to=[]), "the states to go through are none"),
    ("a list of what is no state", Done(to=[7]), "int, not str"),  # type: ignore[list-item]
    ("a reason that cannot be said", Failed(Unspeakable()), "looking at it raised RuntimeError"),  # type: ignore[arg-type]
    ("another reason that cannot be said", Skipped(Unspeakable()), "raised|no way|cannot"),  # type: ignore[arg-type]
    ("a NUL byte in the text", Done(node=Node("t", "a\x00b")), "NUL byte at character 1"),
    ("half a surrogate pair in the title", Done(node=Node("\ud800")), "surrogate"),
    ("a NUL byte in the note", Done(note="\x00"), "NUL byte"),
    ("a NUL byte in the content hash", Done(content_hash="\x00"), "NUL byte"),
    ("a number that is none", Done(node=Node("t", properties={"x": float("nan")})), "JSON"),
    ("an infinite number", Done(checkpoint={"x": float("inf")}), "JSON"),
    ("a number of 5,000 digits", Done(node=Node("t", properties={"x": 10**5000})), "digits"),
    ("a NUL byte in a property", Done(node=Node("t", properties={"x": ["\x00"]})), "NUL byte"),
    ("a surrogate in a property's name", Done(node=Node("t", properties={"\udc00": 1})), "surrogate"),
    ("a property that is no JSON", Done(node=Node("t", properties={"x": object()})), "JSON"),
    ("properties that never end", Done(node=Node("t", properties={"x": NESTED})), "JSON|stack|nested"),
    ("properties that are a list", Done(node=Node("t", properties=[1])), "list, not Mapping"),  # type: ignore[arg-type]
    ("a checkpoint that is a list", Done(checkpoint=[1]), "list, not Mapping"),  # type: ignore[arg-type]
    ("a title that is missing", Done(node=Node(None)), "null value|None"),  # type: ignore[arg-type]
    ("a text of bytes", Done(node=Node("t", b"x")), "bytes, not text"),  # type: ignore[arg-type]
    ("a node that is a dict", Done(node={"title": "t"}), "dict, not Node"),  # type: ignore[arg-type]
    ("a key that is too long", Done(found=[NewItem("k" * 2001, "Article")]), "2,001 bytes"),
    ("an empty key", Done(found=[NewItem("", "Article")]), "empty"),
    ("a priority out of range", Done(found=[NewItem("k", "Article", priority=2**31)]), "priority"),
    ("a label that nobody declared", Done(found=[NewItem("k", "Artikle")]), "Did you mean 'wiki/Article'"),
    ("a source that nobody declared", Done(found=[NewItem("k", "Article", source="x")]), "no kind of item"),
    ("a state that is none", Done(found=[NewItem("k", "Article", state="here")]), "'here'"),
    ("a state that is no birth", Done(found=[NewItem("k", "Article", state="loaded")]), "'loaded'"),
    ("found keys without a label", Done(found=["k"]), "str, not NewItem"),  # type: ignore[list-item]
    ("a reference to an empty key", Done(references=[Reference("L", "Article", "")]), "empty"),
    ("a reference to an unknown label", Done(references=[Reference("L", "Nothing", "k")]), "no kind of item"),
    ("a reference whose type has a NUL", Done(references=[Reference("\x00", "Article", "k")]), "NUL byte"),
    ("an illegal state after success", Done(to="discovered"), "no such move"),
    ("a state that does not exist", Done(to="nowhere"), "no such move"),
    ("no outcome at all", None, "is not an outcome"),
    ("another thing", {"done": True}, "is not an outcome"),
    ("a trouble that is a string", Retry("r", "timeout"), "str, not Trouble"),  # type: ignore[arg-type]
    ("a time that is a string", Retry("r", retry_after="60"), "str, not"),  # type: ignore[arg-type]
    ("a failure of another kind", Failed("r", ValueError()), "ValueError, not Trouble"),  # type: ignore[arg-type]
    ("a skip where there is none", Skipped("s"), "no such move"),
    ("nothing found, said as None", Done(node=Node("t"), found=None), "NoneType, not Sequence"),  # type: ignore[arg-type]
    ("no mentions, said as None", Done(content_hash="h", mentions=None), "NoneType, not Sequence"),  # type: ignore[arg-type]
    ("found items that are a number", Done(found=0), "int, not Sequence"),  # type: ignore[arg-type]
    (
        "properties whose names cannot be put in order",
        Done(children=[Child("Article", "c", Node("t", properties={1: 1, "a": 1}))]),  # type: ignore[dict-item]
        "JSON",
    ),
    ("an embedding's hash that is a string", Done(embedding=Embedding(hash="abc")), "str, not"),  # type: ignore[arg-type]
    ("a vector that is a list", Done(embedding=Embedding("p", "m", hash=UUID(int=1), vector=[1])), "row of numbers"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("reversed_batch", [False, True], ids=["in order", "reversed"])
async def test_each_bad_outcome_fails_its_item_with_its_reason_and_not_its_batch(
    wiki: Store, query: Query, reversed_batch: bool
) -> None:
    names = [name for name, _, _ in BAD]
    await wiki.add("wiki", "Article", [key for name in names for key in (name, f"good: {name}")])
    items = {item.key: item for item in await wiki.claim(ARTICLES, owner="w", limit=1000)}
    batch: list[tuple[Any, Any]] = []
    for name, outcome, _ in BAD:
        batch += [(items[name], outcome), (items[f"good: {name}"], Done(node=Node(name)))]
    receipts = await wiki.settle(batch[::-1] if reversed_batch else batch)
    by_key = {receipt.item.key: receipt for receipt in receipts}
    for name, _, reason in BAD:
        receipt = by_key[name]
        assert (receipt.status, receipt.state) == (Settled.REFUSED, "failed"), name
        story = (await wiki.show(receipt.item.id)).item
        assert (story.state, story.trouble) == ("failed", "unstorable"), name
        assert _matches(reason, str(receipt.reason)), (name, receipt.reason)
        assert _matches(reason, str(story.error)), (name, story.error)
        str(receipt.reason).encode()
        assert by_key[f"good: {name}"].status == Settled.APPLIED, name
    assert query("SELECT count(*) FROM node")[0].count == len(BAD)
    assert query("SELECT count(*) FROM item")[0].count == 2 * len(BAD)
    assert await wiki.tallies.check() == []


def _matches(pattern: str, text: str) -> bool:
    return any(part in text for part in pattern.split("|"))


async def test_reasons_are_kept_whatever_they_contain(wiki: Store) -> None:
    await wiki.add("wiki", "Article", ["a", "b", "c"])
    items = await wiki.claim(ARTICLES, owner="w")
    reasons: list[Any] = ["nul \x00 and half \ud83d", ValueError("an exception"), None]
    outcomes = [(item, Failed(reason)) for item, reason in zip(items, reasons, strict=True)]
    assert {receipt.status for receipt in await wiki.settle(outcomes)} == {Settled.APPLIED}
    stories = [(await wiki.show(item.id)).item.error for item in items]
    assert stories == ["nul \\x00 and half \\ud83d", "an exception", "None"]


async def test_properties_of_any_mapping_and_large_numbers_are_kept(wiki: Store, query: Query) -> None:
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w")
    properties = MappingProxyType(
        {"big": 10**400, "tiny": 1e-300, "text": "\\u0000 \\ud800 '\"", "deep": {"x": [None]}}
    )
    [receipt] = await wiki.settle([(item, Done(node=Node("t", properties=properties)))])
    assert receipt.status == Settled.APPLIED
    assert query("SELECT properties FROM node")[0].properties == dict(properties)


async def test_what_the_database_alone_refuses_fails_its_item_only(wiki: Store, query: Query) -> None:
    query("ALTER TABLE node ADD CHECK (title <> 'forbidden')")
    await wiki.add("wiki", "Article", ["a", "b", "c"])
    items = await wiki.claim(ARTICLES, owner="w")
    titles = ["one", "forbidden", "three"]
    receipts = await wiki.settle([(item, Done(node=Node(title))) for item, title in zip(items, titles, strict=True)])
    assert [receipt.status for receipt in receipts] == ["applied", "refused", "applied"]
    assert "check constraint" in str(receipts[1].reason)


async def test_a_database_that_is_away_while_labels_are_looked_up_fails_no_item(
    wiki: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcome is settled when it is back; the handler did nothing wrong."""
    await wiki.add("wiki", "Article", ["a"])
    [item] = await wiki.claim(ARTICLES, owner="w")

    async def away(_: Kinds) -> None:
        raise DatabaseAway("gone")

    outcome = Done(found=[NewItem("s", "Section")])
    with monkeypatch.context() as patch:
        patch.setattr(Kinds, "refresh", away)
        with pytest.raises(DatabaseAway):
            await wiki.settle([(item, outcome)])
    await wiki.declare("wiki", "Section", NODE)
    assert (await wiki.settle([(item, outcome)]))[0].status == Settled.APPLIED


async def test_what_nobody_foresaw_fails_its_own_item(wiki: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong while an outcome is written, its neighbours are written."""
    written = Graph.write

    async def write(self: Graph, connection: Any, produced: Any, family: Any) -> None:
        if any(done.node is not None and done.node.title == "bad" for _, done in produced):
            raise ZeroDivisionError("division by zero")
        await written(self, connection, produced, family)

    monkeypatch.setattr(Graph, "write", write)
    await wiki.add("wiki", "Article", ["good", "bad"])
    items = await wiki.claim(ARTICLES, owner="w")
    receipts = await wiki.settle([(item, Done(node=Node(item.key))) for item in items])
    assert {receipt.item.key: receipt.status for receipt in receipts} == {
        "good": Settled.APPLIED,
        "bad": Settled.REFUSED,
    }
