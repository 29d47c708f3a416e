"""A bound on what embedding may cost."""

from __future__ import annotations

import threading
from collections.abc import Callable

from detent.errors import BudgetSpent


class Budget:
    """The number of tokens that may be sent to a service, and that were sent.

    Tokens are reserved before they are sent and settled by the reported usage, so that concurrent calls cannot
    exceed the limit together. `elsewhere` returns the tokens spent by other processes and earlier runs; its owner
    adds up `spent` of each. It is called before each request.
    """

    def __init__(self, limit: int | None, elsewhere: Callable[[], int] = lambda: 0) -> None:
        self.limit = limit
        self.elsewhere = elsewhere
        self._spent = 0
        self._lock = threading.Lock()

    @property
    def spent(self) -> int:
        """Number of tokens spent through this budget, requests under way included."""
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
