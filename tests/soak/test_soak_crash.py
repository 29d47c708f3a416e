"""Killed at any point of a whole run, the worker or PostgreSQL itself: the end is as if nothing had happened."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from tests.worker.crash import Boundary, first_of_each, kill_postgresql, try_boundaries

if TYPE_CHECKING:
    from tests.soak.conftest import Budget
    from tests.worker.conftest import Bench, Server


@pytest.mark.parametrize("recovery", ["keeper", "lease"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_every_statement_boundary_a_run_ends_as_if_it_had_not_been(
    make_database: Callable[[], str], budget: Budget, when: str, recovery: str
) -> None:
    """The boundaries are enumerated and not sampled, where there is time for all of them."""

    def as_many_as_possible(every: list[Boundary]) -> Iterator[Boundary]:
        first = first_of_each(every)
        others = [boundary for boundary in every if boundary not in first]
        random.shuffle(others)
        yield from first
        for number, boundary in enumerate(others, len(first)):
            if not budget.left:
                print(f"There was time for {number} of {len(every)} boundaries.")  # noqa: T201
                return
            yield boundary

    await try_boundaries(make_database, when, recovery, as_many_as_possible)


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGKILL], ids=lambda number: number.name)
async def test_with_postgresql_killed_at_random_points_a_run_ends_as_if_it_had_not_been(
    bench: Bench, own_server: Server, budget: Budget, number: signal.Signals
) -> None:
    for seed in budget.seeds():
        print(f"seed {seed}")  # noqa: T201  pytest shows it if this fails
        await kill_postgresql(bench, own_server, number, random.Random(seed))
