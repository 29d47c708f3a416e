"""Discovery: sources may name any number of items and take their time; what they named is added as they go."""

from __future__ import annotations

import asyncio
import gc
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import psycopg
import pytest

import detent
from detent import Child, Done, Handler, Item, Mention, NewItem, Node, Reference, Source
from detent.application import discovery
from detent.application.running.report import Report
from detent.errors import DiscoveryFailed, InvalidSource
from detent.lifecycle import ARTICLE, PASSAGE, TOPIC
from detent.sources import PartlyUnseen
from detent.store import Store

CHUNK = 10_000


def source(discover: Callable[[], Any], name: str = "source") -> Source:
    return Source(name, {"Topic": TOPIC, "Page": TOPIC}, [], discover)


def topics(numbers: Iterable[int]) -> Iterator[NewItem]:
    return (NewItem(f"{number:06}", "Topic") for number in numbers)


def stored(database: str) -> int:
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT count(*) FROM detent.item").fetchone()
    assert row is not None
    return int(row[0])


def alive() -> int:
    """How many new items are in memory."""
    return sum(isinstance(each, NewItem) for each in gc.get_objects())


def test_items_are_added_while_the_source_is_still_naming_them(database: str) -> None:
    seen: list[int] = []

    def name() -> Iterator[NewItem]:
        for item in topics(range(3 * CHUNK)):
            if int(item.key) % CHUNK == CHUNK // 2:
                seen.append(stored(database))
            yield item

    with detent.open(database=database, sources=[source(name)]) as db:
        told: list[int] = []
        assert db.discover(told.append) == 3 * CHUNK
        assert db.discover() == 0

    assert seen[1] > 0, "nothing was added before the source had named everything"
    assert told == sorted(set(told))
    assert told[-1] == 3 * CHUNK


def test_memory_does_not_grow_with_the_number_of_items(database: str) -> None:
    most = 0

    def name() -> Iterator[NewItem]:
        nonlocal most
        for number, item in enumerate(topics(range(6 * CHUNK))):
            if number % CHUNK == CHUNK - 1:
                most = max(most, alive())
            yield item

    with detent.open(database=database, sources=[source(name)]) as db:
        assert db.discover() == 6 * CHUNK

    assert most <= 3 * CHUNK


async def test_an_ordinary_generator_may_block_and_stays_in_one_thread(database: str) -> None:
    """It is waited for outside of the event loop; and what it opened, such as SQLite, may be bound to its thread."""
    free = threading.Event()
    threads: set[int] = set()

    def name() -> Iterator[NewItem]:
        for number, item in enumerate(topics(range(CHUNK + 1))):
            threads.add(threading.get_ident())
            assert number != CHUNK or free.wait(60)
            yield item

    async with detent.open_async(database=database, sources=[source(name)]) as db:
        added = asyncio.Event()
        discovering = asyncio.create_task(db.discover(lambda _: added.set()))
        await added.wait()
        free.set()
        assert await discovering == CHUNK + 1

    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_an_async_generator_runs_in_the_event_loop(database: str) -> None:
    threads: set[int] = set()
    seen = 0

    async def name() -> AsyncIterator[NewItem]:
        nonlocal seen
        for number, item in enumerate(topics(range(CHUNK + 5))):
            threads.add(threading.get_ident())
            if number == CHUNK + 4:
                await asyncio.sleep(0)
                seen = stored(database)
            yield item

    async with detent.open_async(database=database, sources=[source(name)]) as db:
        assert await db.discover() == CHUNK + 5

    assert threads == {threading.get_ident()}
    assert seen > 0, "nothing was added before the source had named everything"


async def test_an_async_function_that_returns_a_list_or_a_generator_runs_in_the_event_loop(database: str) -> None:
    threads: set[int] = set()

    async def name() -> list[NewItem]:
        await asyncio.sleep(0)
        threads.add(threading.get_ident())
        return list(topics(range(3)))

    async def name_later() -> AsyncIterator[NewItem]:
        async def named() -> AsyncIterator[NewItem]:
            for item in topics(range(3, 5)):
                yield item

        return named()

    async with detent.open_async(database=database, sources=[source(name), source(name_later, "later")]) as db:
        assert await db.discover() == 5
    assert threads == {threading.get_ident()}


def place(function: Callable[[], Any], line: int) -> str:
    code = function.__code__
    return f"test_worker_discovery.py:{code.co_firstlineno + line}, in {code.co_name}"


def fail_at_once() -> list[NewItem]:
    raise OSError("no network")


def fail_later() -> Iterator[NewItem]:
    yield from topics(range(CHUNK + 7))
    raise ValueError("page 3 is not JSON")


async def fail_after_awaiting() -> list[NewItem]:
    await asyncio.sleep(0)
    raise OSError("no network")


async def fail_later_async() -> AsyncIterator[NewItem]:
    for item in topics(range(CHUNK + 7)):
        yield item
    raise ValueError("page 3 is not JSON")


def name_no_item() -> Iterator[object]:
    yield NewItem("a", "Topic")
    yield "b"


def leave() -> Iterator[NewItem]:
    yield NewItem("a", "Topic")
    raise SystemExit("enough")


@pytest.mark.parametrize(
    ("name", "sentence", "kept"),
    [
        (
            fail_at_once,
            f"The source 'source' failed before it named an item: OSError: no network ({place(fail_at_once, 1)}).",
            0,
        ),
        (
            fail_after_awaiting,
            "The source 'source' failed before it named an item: OSError: no network "
            f"({place(fail_after_awaiting, 2)}).",
            0,
        ),
        (
            fail_later,
            "The source 'source' failed after it had named 10,007 items, which are kept: "
            f"ValueError: page 3 is not JSON ({place(fail_later, 2)}).",
            CHUNK + 7,
        ),
        (
            fail_later_async,
            "The source 'source' failed after it had named 10,007 items, which are kept: "
            f"ValueError: page 3 is not JSON ({place(fail_later_async, 3)}).",
            CHUNK + 7,
        ),
        (
            name_no_item,
            "The source 'source' failed after it had named 1 item, which is kept: TypeError: 'b' is no NewItem.",
            1,
        ),
        (
            leave,
            "The source 'source' failed after it had named 1 item, which is kept: "
            f"SystemExit: enough ({place(leave, 2)}).",
            1,
        ),
        (
            lambda: None,
            "The source 'source' failed before it named an item: TypeError: 'NoneType' object is not iterable.",
            0,
        ),
    ],
)
def test_a_source_that_fails_is_told_in_a_sentence_and_what_it_named_is_kept(
    database: str, name: Callable[[], Any], sentence: str, kept: int
) -> None:
    before = source(lambda: topics(range(2)), "before")
    with (
        detent.open(database=database, sources=[before, source(name)]) as db,
        pytest.raises(DiscoveryFailed, match=f"^{re.escape(sentence)}$"),
    ):
        db.discover()

    assert stored(database) == kept + 2


async def test_a_cancelled_discovery_keeps_what_was_named_and_waits_for_nobody(database: str) -> None:
    never, blocked = threading.Event(), threading.Event()

    def name() -> Iterator[NewItem]:
        yield from topics(range(CHUNK))
        blocked.set()
        never.wait(600)

    async with detent.open_async(database=database, sources=[source(name)]) as db:
        discovering = asyncio.create_task(db.discover())
        await asyncio.to_thread(blocked.wait, 60)
        discovering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await discovering
        assert stored(database) == CHUNK
    never.set()


async def test_what_a_slow_source_named_is_added_while_it_is_waited_for(database: str) -> None:
    told = threading.Event()

    def name() -> Iterator[NewItem]:
        yield from topics(range(3))
        assert told.wait(60), "nothing was added while the source went on"
        yield from topics(range(3, 5))

    async with detent.open_async(database=database, sources=[source(name)]) as db:
        assert await db.discover(lambda _: told.set()) == 5


async def test_what_a_slow_async_source_named_is_added_while_it_is_waited_for(database: str) -> None:
    told = asyncio.Event()

    async def name() -> AsyncIterator[NewItem]:
        for item in topics(range(3)):
            yield item
        await told.wait()

    async with detent.open_async(database=database, sources=[source(name)]) as db:
        assert await asyncio.wait_for(db.discover(lambda _: told.set()), 60) == 3


@pytest.mark.parametrize("kind", ["ordinary", "async"])
async def test_a_cancelled_discovery_adds_what_was_named_since_the_last_chunk(
    database: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "_FLUSH_SECONDS", 3600)
    never, named = threading.Event(), threading.Event()

    def name() -> Iterator[NewItem]:
        yield from topics(range(3))
        named.set()
        never.wait(600)

    async def name_async() -> AsyncIterator[NewItem]:
        for item in topics(range(3)):
            yield item
        named.set()
        await asyncio.sleep(600)

    counts: list[int] = []
    given = source(name if kind == "ordinary" else name_async)
    async with detent.open_async(database=database, sources=[given]) as db:
        discovering = asyncio.create_task(db.discover(counts.append))
        await asyncio.to_thread(named.wait, 60)
        discovering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await discovering
    never.set()
    assert (stored(database), counts) == (3, [3])


async def test_a_chunk_that_is_being_added_when_discovery_is_cancelled_is_kept(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    adding, add = asyncio.Event(), Store.add

    async def slowly(self: Store, *arguments: Any) -> int:
        adding.set()
        await asyncio.sleep(0.01)
        return await add(self, *arguments)

    monkeypatch.setattr(Store, "add", slowly)
    async with detent.open_async(database=database, sources=[source(lambda: topics(range(3)))]) as db:
        discovering = asyncio.create_task(db.discover())
        await adding.wait()
        discovering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await discovering
    assert stored(database) == 3


def test_a_source_that_fails_does_not_keep_the_others_from_being_asked(database: str) -> None:
    sources = [
        source(fail_at_once, "first"),
        source(lambda: topics(range(2)), "second"),
        source(name_no_item, "third"),
    ]
    with detent.open(database=database, sources=sources) as db, pytest.raises(DiscoveryFailed) as told:
        db.discover()
    assert stored(database) == 3
    assert str(told.value).startswith("The source 'first' failed before it named an item: OSError: no network (")
    assert str(told.value).endswith(
        "The source 'third' failed after it had named 1 item, which is kept: TypeError: 'b' is no NewItem."
    )
    assert (told.value.source, [each.source for each in told.value.others]) == ("first", ["third"])


def test_a_run_works_on_everything_and_then_raises_what_a_source_raised(database: str) -> None:
    done: list[str] = []

    def work(item: Item) -> None:
        done.append(item.key)

    def fail() -> Iterator[NewItem]:
        yield NewItem("a", "Topic")
        raise OSError("no network")

    sources = [
        Source("failing", {"Topic": TOPIC}, [Handler("in_progress", work)], fail),
        Source("good", {"Topic": TOPIC}, [Handler("in_progress", work)], lambda: [NewItem("b", "Topic")]),
    ]
    with (
        detent.open(database=database, sources=sources) as db,
        pytest.raises(DiscoveryFailed, match="The source 'failing' failed after it had named 1 item") as told,
    ):
        db.run()
    assert sorted(done) == ["a", "b"]
    report = told.value.report
    assert isinstance(report, Report)
    assert (report.done, report.finished, report.ok) == (2, 2, True)
    assert report.failures == (str(told.value),)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (NewItem("x", "Nowhere"), "There is no kind of item 'source/Nowhere'"),
        (NewItem("nul\0", "Topic"), "NUL"),
    ],
)
def test_an_item_that_cannot_be_added_is_its_sources_failure_and_those_before_it_are_kept(
    database: str, bad: NewItem, words: str
) -> None:
    def name() -> Iterator[NewItem]:
        yield from topics(range(5))
        yield bad
        yield from topics(range(5, 7))

    sources = [source(name), source(lambda: [NewItem("other", "Topic")], "other")]
    with (
        detent.open(database=database, sources=sources) as db,
        pytest.raises(DiscoveryFailed, match="failed after it had named 5 items, which are kept: ") as told,
    ):
        db.discover()
    assert words in str(told.value)
    assert stored(database) == 6


def test_a_list_and_items_of_several_labels_are_added_too(database: str) -> None:
    named = [NewItem("a", "Topic"), NewItem("b", "Page"), NewItem("c", "Topic")]
    with detent.open(database=database, sources=[source(lambda: named)]) as db:
        assert db.discover() == 3
        assert {(line.label, line.count) for line in db.count_by_state()} == {("Topic", 2), ("Page", 1)}


class Shelf:
    """A source whose items can be taken away: articles with a section each, all of which refer to one category."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)
        self.failing: Exception | None = None
        lifecycles = {"Article": ARTICLE, "Note": TOPIC, "Section": PASSAGE, "Category": PASSAGE}
        handlers = [Handler("claimed", self.load)]
        self.source = Source("wiki", lifecycles, handlers, self.discover, complete=["Article"])

    def discover(self) -> Iterator[NewItem]:
        for key in self.keys:
            yield NewItem(key, "Article")
        if self.failing:
            raise self.failing

    def load(self, item: Item) -> Done:
        section = Child("Section", f"{item.key}/1", Node("one", "The text of a section."))
        category = Mention("Category", "things", Node("Things"))
        reference = Reference("IN_CATEGORY", "Category", "things")
        return Done(Node(item.key), [reference], children=[section], mentions=[category])


def keys_of(db: detent.Detent) -> set[str]:
    return {item.key for item in db.items(limit=100).items}


def test_what_a_complete_source_no_longer_names_is_gone_with_all_that_belongs_to_it(database: str) -> None:
    shelf = Shelf("a", "b", "c")
    with detent.open(database=database, sources=shelf.source) as db:
        db.run()
        db.add("wiki", "Note", ["a note"])
        shelf.keys = ["a", "c", "d"]
        db.run()
        assert keys_of(db) == {"a", "a/1", "c", "c/1", "d", "d/1", "things", "a note"}
        shelf.keys = []
        db.run()
        assert keys_of(db) <= {"things", "a note"}


def test_a_complete_source_that_fails_half_way_loses_nothing(database: str) -> None:
    shelf = Shelf("a", "b", "c")
    with detent.open(database=database, sources=shelf.source) as db:
        db.run()
        shelf.keys, shelf.failing = ["a"], OSError("the shelf is not there")
        with pytest.raises(DiscoveryFailed):
            db.run()
        assert {"a", "b", "c"} <= keys_of(db)


def test_a_source_that_could_not_look_everywhere_loses_only_what_it_could_have_seen(database: str) -> None:
    shelf = Shelf("a", "locked", "locked/b", "locked too", "gone")
    with detent.open(database=database, sources=shelf.source) as db:
        db.run()
        shelf.keys, shelf.failing = ["a"], PartlyUnseen("A drawer is locked.", unseen=("locked",))
        with pytest.raises(DiscoveryFailed, match="A drawer is locked"):
            db.run()
        assert {key for key in keys_of(db) if not key.endswith("/1")} == {"a", "locked", "locked/b", "things"}


async def test_what_is_no_longer_named_is_told(database: str) -> None:
    shelf = Shelf("a", "b", "c")
    async with detent.open_async(database=database, sources=shelf.source) as db:
        await db.discover()
        shelf.keys = ["c"]
        found = await discovery.discover(db.store, [shelf.source])
    assert (found.named, found.added, found.removed) == (1, 0, 2)


def test_only_a_label_that_is_declared_can_be_complete() -> None:
    with pytest.raises(InvalidSource, match="complete names the label 'Page'"):
        Source("wiki", {"Article": ARTICLE}, complete=["Page"])


def test_what_is_named_with_another_content_hash_goes_round_again(database: str) -> None:
    hashes: dict[str, str | None] = {"kept": "a", "edited": "a", "unhashed": None}
    loaded: list[str] = []

    def discover() -> list[NewItem]:
        return [NewItem(key, "Article", content_hash=content_hash) for key, content_hash in hashes.items()]

    source = Source("wiki", {"Article": ARTICLE}, [Handler("claimed", lambda item: loaded.append(item.key))], discover)
    with detent.open(database=database, sources=source) as db:
        db.run()
        assert sorted(loaded) == ["edited", "kept", "unhashed"]
        loaded.clear()
        hashes |= {"edited": "b", "new": "c"}
        assert db.discover() == 1
        db.run()
        assert sorted(loaded) == ["edited", "new"]
        db.run()
        assert sorted(loaded) == ["edited", "new"]
