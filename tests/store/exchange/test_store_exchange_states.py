"""Where items rest that are read in: those without a vector wait for it, and sources that were removed come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from detent.errors import LineRefused, SourceConflict
from detent.knowledge import Embedding
from detent.lifecycle import NODE, TOPIC, Lifecycle
from detent.store import Stage, Store
from detent.store.database import Connection
from detent.store.exchange import load
from detent.store.exchange.records import ItemLine
from detent.store.vectors.embeddings import note_embeddings

Query = Callable[..., list[Any]]
Record = dict[str, Any]


def file(*records: Record, lifecycle: Lifecycle = NODE) -> list[bytes]:
    """A file with a kind docs/File that follows a lifecycle."""
    kind = {"record": "kind", "source": "docs", "label": "File", "lifecycle": lifecycle.name}
    head = [{"format": "detent", "version": 1}, {"record": "lifecycle", "definition": lifecycle.as_data()}, kind]
    return [json.dumps(record).encode() for record in [*head, *records]]


def item(key: str, state: str = "ready", text: str = "About it.", **more: Any) -> Record:
    node = {"title": key, "text": text, "properties": {}}
    return {"record": "item", "source": "docs", "label": "File", "key": key, "state": state, "node": node, **more}


async def loaded(store: Store, lines: list[bytes], **how: Any) -> None:
    async with store.database.connection() as connection:
        await load(connection, lines, **how)


def states(query: Query) -> dict[str, str]:
    return {row.key: row.state for row in query("SELECT key, state FROM item")}


async def test_what_has_no_embedding_waits_for_it_and_nothing_else_does(store: Store, query: Query) -> None:
    lines = file(item("a"), item("b", node=None), item("c", "parsed"), item("d", "skip"), item("e", "embedding"))
    await loaded(store, lines)
    assert states(query) == {"a": "linked", "b": "ready", "c": "parsed", "d": "skip", "e": "linked"}
    assert await store.tallies.check() == []
    assert {each.key for each in await store.claim(Stage(NODE, "linked"), owner="w", limit=5)} == {"a", "e"}


async def test_where_embedding_waits_is_read_off_the_lifecycle(store: Store, query: Query) -> None:
    rows = [
        ("raw", "claim", "embedding"),
        ("embedding", "done", "searchable"),
        ("embedding", "back", "raw"),
        ("embedding", "fail", "bad"),
        ("searchable", "step", "published"),
    ]
    await loaded(store, file(item("a", "searchable"), item("b", "published"), lifecycle=Lifecycle("own", "raw", rows)))
    assert states(query) == {"a": "raw", "b": "published"}


async def test_a_lifecycle_without_embedding_keeps_its_states(store: Store, query: Query) -> None:
    await loaded(store, file(item("a", "success"), lifecycle=TOPIC))
    assert states(query) == {"a": "success"}


async def test_who_writes_embeddings_with_each_step_finds_items_where_the_file_says(store: Store, query: Query) -> None:
    async def embed(connection: Connection, lines: Sequence[ItemLine]) -> None:
        await note_embeddings(connection, [(line.id, Embedding("somebody", "else")) for line in lines])

    for _ in range(2):
        await loaded(store, file(item("a"), item("b")), each_chunk=embed)
        assert states(query) == {"a": "ready", "b": "ready"}
        assert await store.tallies.check() == []
    await loaded(store, file(item("a"), item("b", text="Something else.")))
    assert states(query) == {"a": "ready", "b": "linked"}
    assert await store.tallies.check() == []


async def removed(store: Store, name: str) -> None:
    async for _ in store.remove_source(name):
        pass


async def test_a_source_that_was_removed_and_is_still_referred_to_comes_back(store: Store, query: Query) -> None:
    link = {"type": "NAMES", "source": "docs", "label": "File", "key": "a"}
    kind = {"record": "kind", "source": "other", "label": "File", "lifecycle": "node"}
    await loaded(store, file(item("a"), kind, item("b", source="other", references=[link])))
    await removed(store, "docs")
    assert [row.name for row in query("SELECT name FROM source WHERE removed_at IS NOT NULL")] == ["docs"]
    await loaded(store, file(item("a", "pending")))
    assert query("SELECT name FROM source WHERE removed_at IS NOT NULL OR paused_at IS NOT NULL") == []
    assert [each.key for each in await store.claim(Stage(NODE, "pending"), owner="w")] == ["a"]
    assert await store.tallies.check() == []


async def test_what_is_only_referred_to_does_not_come_back(store: Store, query: Query) -> None:
    link = {"type": "NAMES", "source": "docs", "label": "File", "key": "a"}
    kind = {"record": "kind", "source": "other", "label": "File", "lifecycle": "node"}
    lines = file(kind, item("b", source="other", references=[link]))
    await loaded(store, [*lines, json.dumps(item("a")).encode()])
    await removed(store, "docs")
    await loaded(store, lines)
    assert [row.name for row in query("SELECT name FROM source WHERE removed_at IS NOT NULL")] == ["docs"]


async def test_nothing_is_read_into_a_source_that_is_being_removed(store: Store, query: Query) -> None:
    await loaded(store, file(item("a")))
    query("UPDATE source SET removed_at = now(), paused_at = now()")
    with pytest.raises(SourceConflict, match=r"being removed\. Finish it first: detent remove docs"):
        await loaded(store, file(item("b")))
    assert states(query) == {"a": "linked"}


def links(*positions: int | None) -> list[Record]:
    named = {"type": "NAMES", "source": "docs", "label": "File", "key": "a"}
    return [named if position is None else {**named, "position": position} for position in positions]


FAILURE = {"kind": "parse", "trouble": "malformed", "state": "parsing", "message": "why"}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (item("a", references=links(0, 3, 3)), "two of its references have the position 3"),
        (item("a", references=links(1, None)), "two of its references have the position 1"),
        (item("a", failure={key: FAILURE[key] for key in ("trouble", "state", "message")}), "its failure lacks 'kind'"),
        (item("a", failure={**FAILURE, "message": None}), "its failure lacks 'message'"),
        (item("a", failure={**FAILURE, "kind": 5}), "the kind of its failure is int, not text"),
        (item("a", failure=["parse"]), "its failure is not a JSON object"),
    ],
)
async def test_a_line_that_cannot_be_kept_is_told_by_its_number(store: Store, record: Record, reason: str) -> None:
    with pytest.raises(LineRefused, match=f"^Line 4 cannot be imported: {reason}"):
        await loaded(store, file(record))


async def test_references_without_positions_are_kept_in_their_order(store: Store, query: Query) -> None:
    await loaded(store, file(item("a", references=[*links(None, None), {**links(None)[0], "position": None}])))
    assert [row.position for row in query("SELECT position FROM reference ORDER BY position")] == [0, 1, 2]
