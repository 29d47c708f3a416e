"""How often a service is asked, and for how long it is left alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from detent.lifecycle import Trouble
from detent.services import pace
from detent.services.failure import ServiceFailed
from detent.services.manners import Manners, hold_seconds
from detent.services.pace import Quota


@pytest.mark.parametrize(
    ("retry_after", "failed_in_a_row", "seconds"),
    [(None, 1, 1), (None, 3, 4), (None, 100, 60), (30, 1, 30), (3600, 9, 3600), (0, 1, 0.1), (0, 8, 12.8), (1, 99, 60)],
)
def test_a_service_is_left_alone_as_long_as_it_says_but_longer_each_time(
    retry_after: float | None, failed_in_a_row: int, seconds: float
) -> None:
    assert hold_seconds(retry_after, failed_in_a_row) == pytest.approx(seconds)


async def test_turns_and_holds_are_those_of_the_service_and_not_of_its_host() -> None:
    asked: list[tuple[object, ...]] = []

    class Shared:
        async def turn(self, service: str, per_minute: float, at_most: float, quotas: Sequence[Quota] = ()) -> None:
            asked.append((service, per_minute, at_most, quotas))

        async def hold(self, service: str, seconds: float, reason: str) -> None:
            asked.append((service, seconds, reason))

    pace.keep(Shared())
    manners = Manners("courtlistener", 0.5, quotas=(Quota(125, 86_400),))
    await manners.turn("www.courtlistener.com")
    await manners.hold(ServiceFailed("there", "refused with 429", Trouble.RATE_LIMITED, retry_after=7), 1)
    assert asked == [("courtlistener", 0.5, 240.0, (Quota(125, 86_400),)), ("courtlistener", 7, "refused with 429")]


async def test_who_is_patient_asks_four_times_and_tells_why_it_takes_so_long() -> None:
    told: list[str] = []
    manners = Manners("there", tell=told.append)
    away = ServiceFailed("there", "refused with 503", Trouble.SERVER)
    assert [await manners.again(away, failed) for failed in (1, 2, 3, 4)] == [True, True, True, False]
    assert told == ["The service there refused with 503. It is asked again."] * 3
    assert not await manners.again(ServiceFailed("there", "refused with 404", Trouble.NOT_FOUND), 1)
    away.held = True
    assert not await manners.again(away, 1)
