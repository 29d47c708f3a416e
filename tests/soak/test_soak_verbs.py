"""Everything at once, for real: many tasks on several connections, and the truth at the end."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from detent.knowledge import Done, Failed, Item, NewItem, Node, Outcome, Reference, Retry, Skipped
from detent.lifecycle import ARTICLE, NODE, Trouble
from detent.store import Stage, Store

if TYPE_CHECKING:
    from tests.soak.conftest import Budget

Query = Callable[..., list[Any]]

STAGES = [Stage(ARTICLE, "discovered"), *[Stage(NODE, state) for state in ("pending", "parsed", "linked")]]
KEYS = [f"key {number:02}" for number in range(60)]


class Actor:
    """Does the verbs at random on a store of its own, and remembers what it was told."""

    def __init__(self, store: Store, number: int, handed: list[Item]) -> None:
        self.store = store
        self.random = random.Random(number)
        self.handed = handed
        self.applied: list[tuple[int, int]] = []
        self.done: Counter[str] = Counter()
        self.verbs: list[Callable[[], Awaitable[Any]]] = [
            *[self.claim] * 4,
            *[self.settle] * 6,
            *[self.settle_at_once_twice] * 2,
            self.add,
            self.renew,
            self.release,
            self.rescue,
            self.rescue_named,
            self.change,
            self.change,
            self.retry,
            self.reset,
            self.pause,
            self.look,
            self.tend,
        ]

    async def run(self, budget: Budget) -> None:
        while budget.left:
            verb = self.random.choice(self.verbs)
            await verb()
            self.done[verb.__name__] += 1

    def some(self, most: int = 12) -> list[Item]:
        recent = self.handed[-80:]
        items = self.random.sample(recent, min(len(recent), self.random.randint(1, most)))
        return list({item.id: item for item in items}.values())

    def outcome(self) -> Outcome:
        found = [NewItem(self.random.choice(KEYS), label) for label in ("Article", "File") for _ in range(3)]
        links = [Reference("LINKS", "Article", self.random.choice(KEYS))]
        outcomes: list[Outcome] = [
            Done(),
            Done(Node("title"), links, found, {"n": 1}),
            Retry("slow", Trouble.TIMEOUT, retry_after=0),
            Failed("gone", Trouble.NOT_FOUND),
            Skipped("no"),
            Done(note="\x00"),
        ]
        return self.random.choice(outcomes)

    async def add(self) -> None:
        keys = self.random.sample(KEYS, 20)
        source = self.random.choice(["one", "two"])
        await self.store.add(source, "Article", [NewItem(key, self.random.choice(["Article", "File"])) for key in keys])

    async def claim(self) -> None:
        stage = self.random.choice(STAGES)
        items = await self.store.claim(stage, owner="w", limit=self.random.randint(1, 15), lease_seconds=0.5)
        self.random.shuffle(items)
        self.handed += items

    async def settle(self) -> None:
        receipts = await self.store.settle([(item, self.outcome()) for item in self.some()])
        self.applied += [(r.item.id, r.item.token) for r in receipts if r.status in ("applied", "refused")]

    async def settle_at_once_twice(self) -> None:
        await asyncio.gather(self.settle(), self.settle())

    async def renew(self) -> None:
        await self.store.renew([item.token for item in self.some()])

    async def release(self) -> None:
        receipts = await self.store.release(self.some())
        self.applied += [(r.item.id, r.item.token) for r in receipts if r.status == "applied"]

    async def rescue(self) -> None:
        await self.store.rescue()

    async def rescue_named(self) -> None:
        await self.store.rescue(tokens=[item.token for item in self.some(2)])

    async def change(self) -> None:
        keys = self.random.sample(KEYS, 15)
        source, label = self.random.choice(["one", "two"]), self.random.choice(["Article", "File"])
        await self.store.mark_changed(source, label, {key: str(self.random.randint(0, 3)) for key in keys})

    async def retry(self) -> None:
        page = await self.store.list(error_kind="not_found", limit=10)
        await self.store.retry([item.id for item in page.items])

    async def reset(self) -> None:
        ids = [item.id for item in (await self.store.list(limit=100)).items]
        await self.store.reset(self.random.sample(ids, min(len(ids), 15)))

    async def pause(self) -> None:
        await self.store.pause("one")
        await self.store.resume("one")

    async def look(self) -> None:
        await self.store.count_by_state()
        for state in ("discovered", "claimed", "linking", "ready"):
            await self.store.list(state=state, limit=5)

    async def tend(self) -> None:
        await self.store.tallies.fold()
        assert await self.store.tallies.check() == []
        year = self.random.randint(1990, 2009)
        await self.store.journal.extend(datetime(year, 1, 1, tzinfo=UTC), months=2)
        await self.store.journal.prune(datetime(year, 3, 1, tzinfo=UTC))
        await self.store.tallies.repair()


async def test_all_verbs_at_once_neither_deadlock_nor_break_anything(
    database: str, query: Query, budget: Budget
) -> None:
    """Any deadlock is a mistake in the order of locks: see the first rule of the schema."""
    stores = [await Store(database, size=3).open() for _ in range(4)]
    for source in ("one", "two"):
        await stores[0].declare(source, "Article", ARTICLE)
        await stores[0].declare(source, "File", NODE)
    query("ALTER SYSTEM SET deadlock_timeout = '100ms'")
    query("SELECT pg_reload_conf()")
    handed: list[Item] = []
    actors = [Actor(store, number, handed) for number, store in enumerate(stores * 3)]
    try:
        await asyncio.gather(*[actor.run(budget) for actor in actors])
    except psycopg.errors.DeadlockDetected as error:
        pytest.fail(f"a deadlock: {error}\n{error.diag.context}\n{error.diag.message_detail}")
    finally:
        query("ALTER SYSTEM RESET deadlock_timeout")
        query("SELECT pg_reload_conf()")
    store = stores[0]
    assert await store.tallies.check() == []
    _check_the_journal(query)
    applied = [pair for actor in actors for pair in actor.applied]
    assert len(applied) == len(set(applied)), "something was settled twice under one token"
    done: Counter[str] = sum((actor.done for actor in actors), Counter())
    assert set(done) == {verb.__name__ for verb in actors[0].verbs}
    await _finish(store)
    for other in stores:
        await other.close()


def _check_the_journal(query: Query) -> None:
    states = {row.id: row.state for row in query("SELECT id, state FROM item")}
    births = {"Article": {"discovered"}, "File": {"pending", "linked"}}
    labels = {row.id: row.label for row in query("SELECT item.id, label FROM item JOIN kind ON kind.id = kind_id")}
    moves: dict[int, list[Any]] = {}
    for row in query("SELECT item_id, from_state, to_state, token FROM move ORDER BY item_id, id, part"):
        moves.setdefault(row.item_id, []).append(row)
    for number, rows in moves.items():
        assert rows[0].from_state in births[labels[number]]
        assert all(first.to_state == second.from_state for first, second in pairwise(rows)), rows
        assert rows[-1].to_state == states[number]
        claims = [row.token for row in rows if row.to_state in ("claimed", "parsing", "linking", "embedding")]
        assert claims == sorted(set(claims)), "an item was claimed twice under one token"


async def _finish(store: Store) -> None:
    """Nothing is stuck: with time, everything comes to rest."""
    store.database.now = datetime.now(UTC) + timedelta(days=1)
    for _ in range(2000):
        await store.rescue()
        taken = [item for stage in STAGES for item in await store.claim(stage, owner="last", limit=200)]
        if not taken:
            break
        await store.settle([(item, Done()) for item in taken])
    counts = await store.count_by_state()
    assert {line.state for line in counts} <= {"loaded", "failed", "ready", "skip", "error"}
    assert await store.tallies.check() == []
