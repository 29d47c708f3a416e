"""Killed at any point of a whole run, the worker or PostgreSQL itself: the end is as if nothing had happened.

Here the worker is killed at the first statement of each name; `tests/soak` kills it at every statement boundary.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.worker.crash import first_of_each, kill_postgresql, try_boundaries

if TYPE_CHECKING:
    from tests.worker.conftest import Bench, Server


@pytest.mark.parametrize(("when", "recovery"), [("before", "keeper"), ("after", "lease")])
async def test_killed_at_the_first_statement_of_each_name_a_run_ends_as_if_it_had_not_been(
    make_database: Callable[[], str], when: str, recovery: str
) -> None:
    """ANCESTORS 10: `loaded` was set before the sections existed: half-loaded articles counted as done."""
    await try_boundaries(make_database, when, recovery, first_of_each)


async def test_with_postgresql_killed_at_random_points_a_run_ends_as_if_it_had_not_been(
    bench: Bench, own_server: Server
) -> None:
    await kill_postgresql(bench, own_server, signal.SIGKILL, random.Random(0))
