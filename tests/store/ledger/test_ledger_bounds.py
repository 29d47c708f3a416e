"""Bounds in the store: no more come to rest than asked for, whatever is done to items, and nobody waits in a circle."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from detent.knowledge import Bounds, Done, Failed, Item, NewItem, Node, Outcome, Retry
from detent.lifecycle import ARTICLE, NODE, Lifecycle, RetryPolicy, Trouble
from detent.store import Kind, Stage, Store
from detent.store.exchange import load
from detent.store.ledger.bounds import reserve_room
from detent.store.ledger.steering import Remark

Query = Callable[..., list[Any]]

MOST = 5
PATIENT = RetryPolicy(max_attempts=3, base_seconds=10, ceiling_seconds=10)
KEYS = [f"{number:02}" for number in range(20)]


async def declared(store: Store, lifecycle: Lifecycle, **bounds: Any) -> Kind:
    kind = await store.declare("web", "Page", lifecycle)
    await store.bounds.set(kind, Bounds(**bounds))
    return await store.kinds.get("web", "Page")


async def add(store: Store, keys: Iterable[str], depth: int = 0) -> None:
    await store.add("web", "Page", [NewItem(key, "Page", depth) for key in keys])


async def claim(store: Store, kind: Kind, waiting: str = "discovered", limit: int = 50) -> list[Item]:
    """What a worker is given: what is let in, and claimed."""
    await store.bounds.let_in([kind], waiting, limit)
    stage = Stage(kind.lifecycle, waiting)
    return await store.claim(stage, owner="a worker", limit=limit, kinds=[kind], lease_seconds=60)


async def load_all(store: Store, kind: Kind) -> None:
    while items := await claim(store, kind):
        await store.settle([(item, Done(Node(item.key), to="processed")) for item in items])


class Fate:
    """Does to the items of a kind whatever may be done to them, by chance."""

    def __init__(self, store: Store, kind: Kind, state: str, seed: int) -> None:
        self.store, self.kind = store, kind
        self.further = state if state == "processed" else None
        self.chance = random.Random(seed)
        self.held: list[Item] = []
        self.verbs: list[Callable[[], Awaitable[Any]]] = [
            *[self.claim] * 4,
            *[self.settle] * 6,
            *[self.retry, self.reset, self.change, self.send, self.take, self.find, self.rescue, self.read_in],
        ]

    async def step(self) -> None:
        await self.chance.choice(self.verbs)()

    async def claim(self) -> None:
        for waiting in sorted(self.kind.lifecycle.waiting):
            self.held += await claim(self.store, self.kind, waiting, self.chance.randint(1, 4))

    async def settle(self) -> None:
        some = [self.held.pop() for _ in range(min(len(self.held), self.chance.randint(1, 4)))]
        await self.store.settle([(item, self.outcome()) for item in some], PATIENT)

    def outcome(self) -> Outcome:
        further = self.further if self.chance.random() < 0.8 else None
        done: list[Outcome] = [Done(Node("a page"), to=further), Done(to=further)]
        return self.chance.choice([*done, *done, Failed("no", Trouble.REJECTED), Retry("later", Trouble.TIMEOUT)])

    async def some(self) -> list[Any]:
        items = (await self.store.list(source="web", limit=100)).items
        return self.chance.sample(list(items), min(len(items), 5))

    async def retry(self) -> None:
        await self.store.retry([item.id for item in await self.some()])

    async def reset(self) -> None:
        await self.store.reset([item.id for item in await self.some()])

    async def change(self) -> None:
        hashes = {item.key: str(self.chance.random()) for item in await self.some()}
        await self.store.mark_changed("web", "Page", hashes)

    async def send(self) -> None:
        """By hand, to where it began."""
        lifecycle = self.kind.lifecycle
        [failure] = lifecycle.failures
        await self.store.steering.retry([self.kind], failure, lifecycle.initial, owner="us", error_kind=None, below=99)

    async def take(self) -> None:
        stage = Stage(self.kind.lifecycle, self.kind.lifecycle.initial)
        named = {item.id: Remark() for item in await self.some()}
        self.held += await self.store.steering.take(named, stage, owner="us", lease_seconds=60)

    async def find(self) -> None:
        await add(self.store, self.chance.sample(KEYS, 5), self.chance.randint(0, 3))
        await self.store.bounds.draw_nearer()

    async def relent(self) -> None:
        """Let enough items succeed."""
        await add(self.store, [f"new {key}" for key in KEYS])
        assert self.store.database.now is not None
        self.store.database.now += timedelta(days=1)
        await self.store.rescue()
        self.held = []
        await self.claim()
        while self.held:
            await self.store.settle([(item, Done(Node("a page"), to=self.further)) for item in self.held])
            self.held = []
            await self.claim()

    async def rescue(self) -> None:
        assert self.store.database.now is not None
        self.store.database.now += timedelta(seconds=self.chance.choice([5, 100]))
        await self.store.rescue()

    async def read_in(self) -> None:
        await read_in(self.store, self.kind, self.chance.sample(KEYS, 2), self.kind.lifecycle.initial)


async def read_in(store: Store, kind: Kind, keys: Iterable[str], state: str) -> None:
    """Import items in a state."""
    definition = {"record": "lifecycle", "definition": kind.lifecycle.as_data()}
    named = {"source": "web", "label": "Page"}
    head = [
        {"format": "detent", "version": 1},
        definition,
        {"record": "kind", **named, "lifecycle": kind.lifecycle.name},
    ]
    items = [{"record": "item", **named, "key": key, "state": state, "node": None} for key in keys]
    async with store.database.connection() as connection:
        await load(connection, [json.dumps(record).encode() for record in [*head, *items]])


@pytest.mark.parametrize(("lifecycle", "state"), [(ARTICLE, "processed"), (NODE, "ready")])
@pytest.mark.parametrize("seed", range(4))
async def test_whatever_is_done_to_items_no_more_come_to_rest_than_asked_for(
    store: Store, query: Query, lifecycle: Lifecycle, state: str, seed: int
) -> None:
    store.database.now = datetime(2026, 3, 1, tzinfo=UTC)
    kind = await declared(store, lifecycle, depth=9, most=MOST, state=state)
    fate = Fate(store, kind, state, seed)
    for _ in range(250):
        await fate.step()
        assert _count(query, state) <= MOST
    await fate.relent()
    assert _count(query, state) == MOST
    assert await store.tallies.check() == []


def _count(query: Query, state: str) -> int:
    return int(query("SELECT count(*) AS count FROM item WHERE state = %s", state)[0].count)


async def test_those_that_are_retried_wait_until_there_is_room_for_them(store: Store, query: Query) -> None:
    kind = await declared(store, ARTICLE, most=2, state="processed")
    await add(store, "abcd")
    failing = await claim(store, kind)
    assert len(failing) == 2
    await store.settle([(item, Failed("no")) for item in failing])
    await load_all(store, kind)
    assert await store.retry([item.id for item in failing]) == 2
    assert await claim(store, kind) == []
    assert await store.bounds.shut_out(kind, ["discovered"]) == 2
    await store.bounds.set(kind, Bounds(None, 3, "processed"))
    assert len(await claim(store, kind)) == 1


@pytest.mark.parametrize("verb", ["reset", "mark_changed"])
async def test_what_counts_already_goes_round_again_though_there_is_no_room(store: Store, verb: str) -> None:
    kind = await declared(store, ARTICLE, most=2, state="processed")
    await add(store, "abc")
    await load_all(store, kind)
    if verb == "reset":
        await store.reset(await store.listing.find("a"))
    else:
        await store.mark_changed("web", "Page", {"a": "another"})
    assert [item.key for item in await claim(store, kind)] == ["a"]


async def test_what_counts_already_stays_in_when_the_target_becomes_smaller(store: Store) -> None:
    kind = await declared(store, ARTICLE, most=4, state="processed")
    await add(store, "abcdef")
    items = await claim(store, kind, limit=2)
    await store.settle([(item, Done(Node(item.key), to="processed")) for item in items])
    await store.bounds.let_in([kind], "discovered", 50)
    await store.mark_changed("web", "Page", {"a": "another"})
    await store.bounds.set(kind, Bounds(None, 1, "processed"))
    assert [item.key for item in await claim(store, kind)] == ["a"]


async def test_the_farthest_are_held_back_first_and_what_waits_for_later_last(
    store: Store, query: Query, tick: Callable[[float], datetime]
) -> None:
    kind = await declared(store, ARTICLE, depth=9)
    for depth, key in enumerate("abcd"):
        await add(store, [key], depth)
    [first] = await claim(store, kind, limit=1)
    await store.settle([(first, Retry("later", Trouble.TIMEOUT))], PATIENT)
    await store.bounds.set(kind, Bounds(9, 2, "processed"))
    held = query("SELECT key FROM item WHERE not_before = held_back() ORDER BY key")
    assert [row.key for row in held] == ["c", "d"]
    tick(600)
    assert {item.key for item in await claim(store, kind)} == {"a", "b"}


async def test_an_item_that_is_named_is_let_in_if_there_is_room_and_left_where_there_is_none(store: Store) -> None:
    kind = await declared(store, ARTICLE, most=1, state="processed")
    await add(store, "abc")
    ids = {key: (await store.listing.find(key))[0] for key in "abc"}
    stage = Stage(ARTICLE, "discovered")

    async def take(*keys: str) -> list[str]:
        named = {ids[key]: Remark() for key in keys}
        return [item.key for item in await store.steering.take(named, stage, owner="us", lease_seconds=60)]

    assert await take("b") == ["b"]
    assert await take("a", "c") == []
    assert await claim(store, kind) == []


async def test_what_is_read_in_waits_to_be_let_in(store: Store) -> None:
    kind = await declared(store, ARTICLE, most=2, state="processed")
    await add(store, "a")
    await read_in(store, kind, "abcd", "discovered")
    assert len(await claim(store, kind)) == 2
    assert await store.tallies.check() == []


@pytest.fixture
async def others(database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """A connection of somebody who moves items: it locks their places in the order of their numbers."""
    options = "-c search_path=detent,public -c deadlock_timeout=100ms"
    async with await psycopg.AsyncConnection.connect(database, options=options) as connection:
        yield connection


@pytest.mark.parametrize("before", [None, 0])
async def test_who_lets_items_in_or_holds_them_back_locks_them_in_the_order_of_their_numbers(
    store: Store, query: Query, others: psycopg.AsyncConnection[Any], before: int | None
) -> None:
    state = "processed" if before is not None else None
    kind = await declared(store, ARTICLE, most=before, state=state)
    for number in range(9):
        await add(store, [f"{number}"], 9 - number)
    ids = [row.id for row in query("SELECT id FROM item ORDER BY id")]
    lock = "SELECT item_id FROM place WHERE item_id = %s FOR UPDATE"
    await others.execute(lock, [ids[0]])
    bounds = Bounds(None, 0, "processed") if before is None else Bounds()
    setting = asyncio.create_task(store.bounds.set(kind, bounds))
    await _waits_for_a_lock(query)
    for number in ids[1:]:
        await others.execute(lock, [number])
    await others.commit()
    await setting
    held = query("SELECT count(*) AS count FROM place WHERE not_before = held_back()")
    assert held[0].count == (9 if before is None else 0)


async def _waits_for_a_lock(query: Query) -> None:
    async with asyncio.timeout(30):
        while not query("SELECT pid FROM pg_locks WHERE NOT granted"):  # noqa: ASYNC110  it happens in the server
            await asyncio.sleep(0.01)


async def test_bounds_that_are_set_while_all_is_moved_are_kept_and_nobody_waits_in_a_circle(
    database: str, query: Query
) -> None:
    """Any deadlock is a mistake in the order of locks: see the first rule of the schema."""
    stores = [await Store(database, size=2).open() for _ in range(4)]
    kind = await declared(stores[0], ARTICLE, depth=9, most=MOST, state="processed")
    await add(stores[0], KEYS)

    async def move(store: Store, seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(20):
            items = await claim(store, kind, limit=3)
            found = [NewItem(key, "Page", chance.randint(0, 3)) for key in chance.sample(KEYS, 5)]
            done: list[Outcome] = [Done(Node("a page"), found=found, to="processed"), Failed("no")]
            await store.settle([(item, chance.choice(done)) for item in items])
            ids = [item.id for item in (await store.list(source="web", limit=100)).items]
            verb = chance.choice([store.retry, store.reset])
            await verb(chance.sample(ids, min(5, len(ids))))
            await store.bounds.draw_nearer()

    async def bound(store: Store) -> None:
        for round_ in range(40):
            await store.bounds.set(kind, Bounds(9, MOST - 2 * (round_ % 2), "processed"))
            assert _count(query, "processed") <= MOST

    query("ALTER SYSTEM SET deadlock_timeout = '100ms'")
    query("SELECT pg_reload_conf()")
    try:
        await asyncio.gather(*[move(store, number) for number, store in enumerate(stores * 2)], bound(stores[0]))
    finally:
        query("ALTER SYSTEM RESET deadlock_timeout")
        query("SELECT pg_reload_conf()")
    assert await stores[0].tallies.check() == []
    for store in stores:
        await store.close()


async def test_a_wish_that_comes_while_items_are_drawn_nearer_is_not_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = await declared(store, ARTICLE, depth=1, state="processed")
    await add(store, "a", 1)
    await load_all(store, kind)
    await store.bounds.set(kind, Bounds(2, None, "processed"))
    hold_each = store.items.hold_each

    async def and_then_deeper(ids: Iterable[int], verb: Any) -> list[int]:
        drawn = await hold_each(ids, verb)
        await load_all(store, kind)
        for depth in (1, 3):
            await store.bounds.set(kind, Bounds(depth, None, "processed"))
        return drawn

    monkeypatch.setattr(store.items, "hold_each", and_then_deeper)
    assert await store.bounds.draw_nearer()
    monkeypatch.undo()
    assert await store.bounds.draw_nearer()
    assert [item.key for item in await claim(store, kind)] == ["a"]


@pytest.mark.parametrize(("known", "kept"), [(None, "r1"), ("r0", "r0")])
async def test_what_is_found_nearer_while_it_is_worked_on_keeps_what_is_learned_of_its_content(
    store: Store, known: str | None, kept: str
) -> None:
    """Else it would be fetched once more only for its depth."""
    kind = await declared(store, ARTICLE, depth=9)
    await store.add("web", "Page", [NewItem("a", "Page", 5, content_hash=known)])
    [item] = await claim(store, kind)
    await add(store, "a", depth=1)
    assert await store.bounds.draw_nearer()
    await store.settle([(item, Done(Node("a"), to="processed", content_hash="r1"))])
    [again] = await claim(store, kind)
    assert (again.key, again.priority, again.content_hash) == ("a", 1, kept)


async def test_wishes_of_items_that_are_gone_are_forgotten(store: Store, query: Query) -> None:
    kind = await declared(store, ARTICLE, depth=1, state="processed")
    await add(store, "a", 1)
    await load_all(store, kind)
    await store.bounds.set(kind, Bounds(2, None, "processed"))
    await store.remove("web", "Page", ["a"])
    assert await store.bounds.draw_nearer()
    assert query("SELECT item_id FROM nearer") == []


async def test_a_greater_breadth_holds_for_workers_that_began_with_a_smaller_one(
    database: str, store: Store, query: Query
) -> None:
    kind = await declared(store, ARTICLE, depth=1, state="processed", breadth=1)
    await add(store, "ab")
    first, second = await claim(store, kind)
    await store.settle([(first, _finding("c", "d", "e", "f"))])
    async with Store(database) as another:
        await another.bounds.set(await another.kinds.get("web", "Page"), Bounds(1, None, "processed", 2))
    await store.settle([(second, _finding("g", "h", "i", "j"))])
    assert [row.key for row in query("SELECT key FROM item ORDER BY key")] == ["a", "b", "c", "g", "h"]
    await store.bounds.draw_nearer()
    again = {item.key: item for item in await claim(store, kind)}
    assert set(again) == {"a", "c", "g", "h"}
    await store.settle([(again["a"], _finding("c", "d", "e", "f"))])
    assert [row.key for row in query("SELECT key FROM item ORDER BY key")] == ["a", "b", "c", "d", "g", "h"]


async def test_a_first_target_holds_for_workers_that_began_without_one(database: str, store: Store) -> None:
    kind = await declared(store, ARTICLE)
    await add(store, "a")
    assert len(await claim(store, kind)) == 1
    async with Store(database) as another:
        await another.bounds.set(await another.kinds.get("web", "Page"), Bounds(None, 3, "processed"))
        await add(another, "bcde")
    assert [item.key for item in await claim(store, kind)] == ["b", "c"]


async def test_what_another_name_stands_for_takes_its_room(store: Store, query: Query) -> None:
    kind = await declared(store, ARTICLE, most=2, state="processed")
    await add(store, "abcd")
    first, second = await claim(store, kind)
    await store.settle([(second, Done(Node("b"), to="processed"))])
    await store.settle([(first, Done(alias_of="z", found=[NewItem("z", "Page")], to="loaded"))])
    assert [item.key for item in await claim(store, kind)] == ["z"]


async def test_what_another_name_stands_for_is_not_let_in_beyond_the_target(store: Store) -> None:
    kind = await declared(store, ARTICLE, most=2, state="processed")
    await add(store, "abcd")
    first, second = await claim(store, kind)
    await store.bounds.set(kind, Bounds(None, 1, "processed"))
    await store.settle([(second, Done(Node("b"), to="processed"))])
    await store.settle([(first, Done(alias_of="z", found=[NewItem("z", "Page")], to="loaded"))])
    assert await claim(store, kind) == []


async def test_a_first_breadth_holds_for_workers_that_began_without_one(
    database: str, store: Store, query: Query
) -> None:
    kind = await declared(store, ARTICLE)
    await add(store, "a")
    [item] = await claim(store, kind)
    async with Store(database) as another:
        await another.bounds.set(await another.kinds.get("web", "Page"), Bounds(5, None, "processed", 1))
    await store.settle([(item, _finding("b", "c", "d"))])
    assert [row.key for row in query("SELECT key FROM item ORDER BY key")] == ["a", "b"]


async def test_who_settles_another_name_does_not_wait_for_who_moves_what_it_stands_for(
    store: Store, query: Query, others: psycopg.AsyncConnection[Any]
) -> None:
    kind = await declared(store, ARTICLE, most=1, state="processed")
    await add(store, "az")
    [item] = await claim(store, kind)
    await others.execute("SELECT item_id FROM place WHERE not_before = held_back() FOR UPDATE")
    async with asyncio.timeout(30):
        await store.settle([(item, Done(alias_of="z", found=[NewItem("z", "Page")], to="loaded"))])
    await others.commit()
    assert [found.key for found in await claim(store, kind)] == ["z"]


async def test_who_settles_another_name_waits_for_who_lets_items_in(database: str, store: Store, query: Query) -> None:
    """Else both would fill the same room."""
    kind = await declared(store, ARTICLE, most=1, state="processed")
    await add(store, "az")
    [item] = await claim(store, kind)
    async with Store(database) as another:
        async with another.database.transaction() as connection:
            await reserve_room(connection, [kind.id])
            settling = asyncio.create_task(store.settle([(item, Done(alias_of="z", to="loaded"))]))
            await _waits_for_a_lock(query)
        await settling
    assert [found.key for found in await claim(store, kind)] == ["z"]


async def test_what_is_as_near_as_its_finder_counts_whatever_the_breadth(store: Store, query: Query) -> None:
    kind = await declared(store, ARTICLE, depth=1, breadth=0)
    await add(store, "a")
    [item] = await claim(store, kind)
    await store.settle([(item, Done(found=[NewItem("b", "Page", 1), NewItem("c", "Page", 0)]))])
    assert [row.key for row in query("SELECT key FROM item ORDER BY key")] == ["a", "c"]


def _finding(*keys: str) -> Done:
    return Done(Node("a page"), found=[NewItem(key, "Page", 1) for key in keys], to="processed")
