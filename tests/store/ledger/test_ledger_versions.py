"""The old version of what is worked on again: it stays until the new one is committed, whatever becomes of the work."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from detent.errors import DatabaseAway
from detent.knowledge import Done, Embedding, Failed, Item, NewItem, Node, Outcome, Reference, Retry, Skipped
from detent.lifecycle import NODE
from detent.store import Stage, Store

Query = Callable[..., list[Any]]
Tick = Callable[[float], datetime]

PARSING, LINKING, EMBEDDING = (Stage(NODE, state) for state in ("pending", "parsed", "linked"))
TABLES = ("node", "reference", "edge", "checkpoint", "embedding")


def parsed(version: str) -> Done:
    """A file with one section, as one version of it is parsed."""
    return Done(
        node=Node(f"File, {version}", version, content_hash=version),
        references=[Reference("part", "Section", "a#1", properties={"version": version})],
        found=[NewItem("a#1", "Section", state="linked")],
        checkpoint={"version": version},
    )


async def take(store: Store, stage: Stage) -> Item:
    [item] = await store.claim(stage, owner="w", limit=1, lease_seconds=60)
    return item


async def embed(store: Store, version: str) -> None:
    """Embed what waits for it: the file and its section."""
    for item in await store.claim(EMBEDDING, owner="w"):
        node = Node(item.key, version) if item.label == "Section" else None
        embedding = Embedding("paid", "model", version)
        await store.settle([(item, Done(node=node, embedding=embedding))])


@pytest.fixture
async def ready(wiki: Store) -> Store:
    """A store with a file that was parsed, linked and embedded, and has changed since."""
    await wiki.declare("docs", "Section", NODE)
    await wiki.add("docs", "File", [NewItem("a", "File", content_hash="old")])
    await wiki.settle([(await take(wiki, PARSING), parsed("old"))])
    await wiki.settle([(await take(wiki, LINKING), Done())])
    await embed(wiki, "old")
    assert {line.state for line in await wiki.count_by_state()} == {"ready"}
    await wiki.mark_changed("docs", "File", {"a": "new"})
    return wiki


def kept(query: Query) -> dict[str, list[Any]]:
    """All that the graph's tables have, each row as it is; nothing is missing."""
    found = {table: query(f"SELECT * FROM {table} ORDER BY 1") for table in TABLES}  # noqa: S608  names from this test
    assert [len(rows) for rows in found.values()] == [2, 1, 1, 1, 2]
    return found


@pytest.mark.parametrize(
    "outcome",
    [Failed("bad syntax"), Retry("busy"), Skipped("not now"), Done(note="\x00"), None],
    ids=["failed", "retried", "skipped", "refused", "its worker died"],
)
async def test_the_old_version_stays_when_parsing_the_new_one_comes_to_nothing(
    ready: Store, query: Query, tick: Tick, outcome: Outcome | None
) -> None:
    """ANCESTORS 18: nodes were deleted before their file was parsed again: a parse error lost them and their paid
    embeddings."""
    before = kept(query)
    item = await take(ready, PARSING)
    assert kept(query) == before, "while it is parsed"
    if outcome is not None:
        await ready.settle([(item, outcome)])
    tick(61)
    await ready.rescue()
    assert (await ready.show(item.id)).item.state != "parsing"
    assert kept(query) == before


async def test_the_new_version_takes_the_place_of_the_old_one_in_one_commit(ready: Store, query: Query) -> None:
    before = kept(query)
    item = await take(ready, PARSING)
    fault = "BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END"
    query(f"CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ {fault} $$")
    query("CREATE TRIGGER fault BEFORE INSERT OR UPDATE ON checkpoint FOR EACH ROW EXECUTE FUNCTION fault()")
    with pytest.raises(DatabaseAway):
        await ready.settle([(item, parsed("new"))])
    assert kept(query) == before, "what came before the fault in the same transaction is undone"
    query("DROP TRIGGER fault ON checkpoint")
    await ready.settle([(item, parsed("new"))])
    after = kept(query)
    assert [row.text for row in after["node"]] == ["new", "old"], "the section is as it was until it is embedded again"
    assert [row.data for row in after["checkpoint"]] == [{"version": "new"}]
    assert [row.properties for row in after["edge"]] == [{"version": "new"}]
    assert after["embedding"] == before["embedding"], "what was paid for is kept until there is a new one"
    await ready.settle([(await take(ready, LINKING), Done())])
    await embed(ready, "new")
    assert [row.content_hash for row in kept(query)["embedding"]] == ["new", "old"]
