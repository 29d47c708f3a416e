"""Pacing: a service is asked no oftener than it allows, however many ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from detent.services import pace
from detent.services.pace import Wait
from detent.store import Store
from detent.store.ledger.pacing import Held


async def turns(store: Store, number: int, service: str = "wiki") -> list[float]:
    """How long each of so many that ask at once has to wait."""
    wanted = {"service": service, "seconds": 0.5, "most": 60.0, "most_held": 60.0}
    rows = [await store.database.fetch("take_turn", wanted) for _ in range(number)]
    return [row.seconds for [row] in rows]


async def test_turns_come_one_after_the_other(store: Store, tick: Callable[[float], datetime]) -> None:
    assert await turns(store, 3) == pytest.approx([0.0, 0.5, 1.0])
    assert await turns(store, 1, "another") == [0.0]
    tick(10)
    assert await turns(store, 2) == pytest.approx([0.0, 0.5])


async def test_nobody_has_a_turn_while_a_service_is_left_alone(store: Store, tick: Callable[[float], datetime]) -> None:
    await store.pacing.hold("wiki", 30, "refused")
    await store.pacing.hold("wiki", 5, "refused")
    assert await turns(store, 1) == pytest.approx([30.0])
    tick(60)
    assert await turns(store, 1) == [0.0]


async def test_a_turn_that_is_too_far_away_is_not_taken(store: Store, tick: Callable[[float], datetime]) -> None:
    await store.pacing.hold("wiki", 3600, "refused")
    assert [await store.pacing.turn("wiki", 1, 60) for _ in range(2)] == [Wait(3600.0, "refused")] * 2
    assert await store.pacing.turn("another", 1, 60) is None
    tick(3600)
    assert await store.pacing.turn("wiki", 1, 60) is None
    assert await store.pacing.turn("wiki", 1, 59) == Wait(60.0)


async def test_who_waits_for_a_turn_when_the_service_asks_to_be_left_alone_does_not_have_it(
    store: Store, query: Callable[..., list[Any]]
) -> None:
    assert await store.pacing.turn("wiki", 30, 60) is None
    before = query("SELECT next_at FROM pace")
    waiting = asyncio.create_task(store.pacing.turn("wiki", 30, 60))
    while query("SELECT next_at FROM pace") == before:
        await asyncio.wait([waiting], timeout=0.01)
    await store.pacing.hold("wiki", 3600, "refused")
    told = await waiting
    assert told is not None
    assert told.reason == "refused"
    assert told.seconds > 3000


async def test_who_waited_until_a_service_may_be_asked_again_has_the_turn(store: Store) -> None:
    await store.pacing.hold("wiki", 0.2, "refused")
    assert await store.pacing.turn("wiki", 6000, 60) is None


async def test_who_is_impatient_waits_for_a_service_that_has_stumbled_and_for_none_that_is_away(
    store: Store, tick: Callable[[float], datetime]
) -> None:
    impatient = store.pacing.impatient()
    await impatient.hold("wiki", 0.2, "refused")
    assert await impatient.turn("wiki", 6000, 60) is None
    await store.pacing.hold("wiki", 30, "refused")
    assert await impatient.turn("wiki", 6000, 60) == Wait(30.0, "refused")
    tick(30)
    assert await impatient.turn("wiki", 6000, 60) is None


async def test_who_is_impatient_keeps_to_a_slow_pace_all_the_same(store: Store) -> None:
    impatient = store.pacing.impatient()
    for _ in range(2):
        [row] = await store.database.fetch(
            "take_turn", {"service": "slow", "seconds": 30.0, "most": 60.0, "most_held": 10.0}
        )
    assert row.seconds == pytest.approx(30.0, abs=1)
    told = await impatient.turn("slow", 2, 45)
    assert told is not None
    assert told.seconds == pytest.approx(60.0, abs=1)


async def test_who_is_left_alone_is_told_with_the_reason_that_it_is_so_for_so_long(
    store: Store, tick: Callable[[float], datetime]
) -> None:
    await store.pacing.turn("paced", 1, 60)
    await store.pacing.hold("late", 60, "refused")
    await store.pacing.hold("soon", 30, "refused")
    await store.pacing.hold("soon", 5, "is away")
    await store.pacing.hold("late", 60, "is \x00 behind")
    held = await store.pacing.held()
    assert held == [Held("soon", tick(30), "refused"), Held("late", tick(30), "is \\x00 behind")]
    assert await store.pacing.held() == []


async def test_two_stores_share_the_turns(store: Store, database: str) -> None:
    async with Store(database) as other:
        began = time.monotonic()
        await asyncio.gather(*[each.pacing.turn("wiki", 600, 60) for each in (store, other) for _ in range(3)])
        assert time.monotonic() - began >= 0.5


async def test_where_nobody_keeps_the_pace_there_is_no_waiting() -> None:
    await pace.hold("wiki", 1000, "refused")
    assert await pace.turn("wiki", 0.001) is None
