"""What a worker does with items that were imported: a file has no vectors, so they are made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detent import Source
from detent.application.exporting import export, import_file
from detent.lifecycle import PASSAGE
from detent.search import Search
from detent.store import Stage, Store
from detent.worker.duty import embeddable

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

Query = Callable[..., list[Any]]

NOTES = Source("notes", {"Note": PASSAGE}, [])
TEXTS = {"cat": "A small furry animal that catches mice and sleeps all day.", "ship": "It sails the sea with cargo."}


async def write(bench: Bench, file: Path, **texts: str) -> None:
    """An export with a note per text, made by a worker that embedded them."""
    for key, text in texts.items():
        kind = await bench.store.declare("notes", "Note", PASSAGE)
        await bench.store.add("notes", "Note", [key])
        async with bench.store.database.connection() as connection:
            await connection.execute(
                "INSERT INTO node (item_id, title, text, properties, written_at) "
                "SELECT id, %s, %s, '{}', now() FROM item WHERE kind_id = %s AND key = %s",
                [key, text, kind.id, key],
            )
    await bench.run(NOTES)
    await export(bench.store, file, "jsonl", source=None, tell=None)


async def found(store: Store, text: str) -> str:
    search = Search(store)
    try:
        answer = await search.search(text, mode="semantic", limit=1)
    finally:
        search.close()
    return answer.hits[0].key


async def test_what_is_imported_into_an_empty_database_is_embedded_and_found(
    bench: Bench, make_database: Callable[[], str], tmp_path: Path
) -> None:
    await write(bench, tmp_path / "notes.jsonl", **TEXTS)
    assert await bench.states() == {"cat": "ready", "ship": "ready"}
    async with Store(make_database()) as other:
        elsewhere = type(bench)(other, tmp_path)
        await import_file(other, tmp_path / "notes.jsonl", lambda *_: None)
        assert await elsewhere.states() == {"cat": "linked", "ship": "linked"}
        await elsewhere.run(NOTES)
        assert await elsewhere.states() == {"cat": "ready", "ship": "ready"}
        assert await found(other, "a pet that hunts mice") == "cat"
        assert await other.tallies.check() == []


async def test_all_processes_find_what_can_be_embedded_though_one_has_everything_in_hand(
    bench: Bench, make_database: Callable[[], str], tmp_path: Path
) -> None:
    """A process that came later, or in the place of another, found nothing to do for as long as it lived."""
    await write(bench, tmp_path / "notes.jsonl", **TEXTS)
    async with Store(make_database()) as other:
        await import_file(other, tmp_path / "notes.jsonl", lambda *_: None)
        first = await embeddable(other)
        assert len(await other.claim(Stage(PASSAGE, "linked"), owner="another", limit=10)) == 2
        second = await embeddable(other)
    assert [(source.name, list(source.lifecycles)) for source in first] == [("notes", ["Note"])]
    assert [(source.name, list(source.lifecycles)) for source in second] == [("notes", ["Note"])]


async def test_what_is_imported_over_itself_stays_embedded_unless_its_text_is_another(
    bench: Bench, tmp_path: Path, query: Query
) -> None:
    file = tmp_path / "notes.jsonl"
    await write(bench, file, **TEXTS)
    await import_file(bench.store, file, lambda *_: None)
    assert await bench.states() == {"cat": "ready", "ship": "ready"}
    file.write_text(file.read_text().replace("sails the sea with cargo", "is a boat that hunts whales"))
    await import_file(bench.store, file, lambda *_: None)
    assert await bench.states() == {"cat": "ready", "ship": "linked"}
    assert await bench.store.tallies.check() == []
    await bench.run(NOTES)
    assert len(query("SELECT item_id FROM embedding")) == 2
    assert await found(bench.store, "hunting whales") == "ship"
