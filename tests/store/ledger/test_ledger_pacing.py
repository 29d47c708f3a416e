"""Pacing: a service is asked no oftener than it allows, however many ask."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from detent.services import pace
from detent.services.pace import Quota, Wait
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


COURTS = (Quota(5, 60), Quota(50, 3_600), Quota(125, 86_400))


async def test_quotas_of_a_minute_an_hour_and_a_day_all_hold_in_any_such_time(
    store: Store, tick: Callable[[float], datetime]
) -> None:
    """Document 003: each service has a limit of its own, and the strictest that is reached holds."""
    asked: list[datetime] = []
    at = tick(0)
    for _ in range(400):
        wait = await store.pacing.turn("courts", math.inf, 0, COURTS)
        if wait is None:
            asked.append(at)
        at = tick(wait.seconds if wait is not None else 0.5)
    for quota in COURTS:
        for number, first in enumerate(asked[: -quota.requests]):
            assert (asked[number + quota.requests] - first).total_seconds() >= quota.seconds
    assert asked[124] - asked[0] < timedelta(hours=3), "what a quota allows is not spread over its time"
    assert len(asked) > 125


async def test_a_quota_that_is_spent_says_so_and_when_it_allows_more(
    store: Store, tick: Callable[[float], datetime]
) -> None:
    for _ in range(5):
        assert await store.pacing.turn("courts", math.inf, 0, COURTS) is None
    told = await store.pacing.turn("courts", math.inf, 30, COURTS)
    assert told is not None
    assert told.seconds == pytest.approx(60, abs=1)
    assert told.reason == "allows 5 requests in 60 seconds"
    assert await store.pacing.turn("another", math.inf, 0, COURTS) is None
    tick(61)
    assert await store.pacing.turn("courts", math.inf, 0, COURTS) is None


async def test_two_stores_share_a_quota(store: Store, database: str) -> None:
    async with Store(database) as other:
        asking = [
            each.pacing.turn("courts", math.inf, 0, [Quota(7, 3_600)]) for each in (store, other) for _ in range(8)
        ]
        waits = await asyncio.gather(*asking)
    assert waits.count(None) == 7


async def test_where_nobody_keeps_the_pace_there_is_no_waiting() -> None:
    await pace.hold("wiki", 1000, "refused")
    assert await pace.turn("wiki", 0.001) is None
