"""A bound on what embedding may cost."""

from __future__ import annotations

import threading
from collections.abc import Callable

from detent.errors import BudgetSpent


class Budget:
    """How many tokens may be sent to a service, and how many were.

    Tokens are reserved before they are sent and settled by the bill, so that calls made at the same time cannot
    exceed the limit together. `elsewhere` says what other processes and earlier runs have spent; whoever keeps that
    adds up `spent` of each. It is called before each request.
    """

    def __init__(self, limit: int | None, elsewhere: Callable[[], int] = lambda: 0) -> None:
        self.limit = limit
        self.elsewhere = elsewhere
        self._spent = 0
        self._lock = threading.Lock()

    @property
    def spent(self) -> int:
        """How many tokens were spent through this budget, those of requests under way included."""
        return self._spent

    def reserve(self, tokens: int) -> None:
        """Count tokens that are about to be sent; BudgetSpent if they are too many, and then nothing is counted."""
        elsewhere = self.elsewhere() if self.limit is not None else 0
        with self._lock:
            spent = self._spent + elsewhere
            if self.limit is not None and spent + tokens > self.limit:
                raise BudgetSpent(spent, self.limit)
            self._spent += tokens

    def settle(self, reserved: int, used: int) -> None:
        """Put what was really used in the place of what was reserved."""
        with self._lock:
            self._spent += used - reserved
