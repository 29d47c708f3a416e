"""Proofs that get better the longer they run: `make soak SECONDS=…` says how long each may take."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.worker.conftest import bench as bench
from tests.worker.conftest import own_server as own_server

_TO_FINISH_SECONDS = 900


@dataclass(frozen=True)
class Budget:
    """The time that a proof has."""

    end: float

    @property
    def left(self) -> bool:
        return time.monotonic() < self.end

    def seeds(self) -> Iterator[int]:
        """Numbers that no run had before, as long as there is time; at least one."""
        chance = random.SystemRandom()
        yield chance.getrandbits(32)
        while self.left:
            yield chance.getrandbits(32)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seconds", type=float, default=30.0, help="how long each proof may take")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(config.getoption("seconds") + _TO_FINISH_SECONDS))


@pytest.fixture
def budget(request: pytest.FixtureRequest) -> Budget:
    return Budget(time.monotonic() + request.config.getoption("seconds"))
