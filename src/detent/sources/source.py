"""The declaration of a source and of its handlers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from detent.errors import InvalidSource
from detent.knowledge import NewItem
from detent.lifecycle import Event, Lifecycle

Discover = Callable[[], Iterable[NewItem]]
Function = Callable[..., Any] | Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class Handler:
    """The function that does one stage's work.

    It is given an item and returns an outcome; with `batch` it is given a list of items and returns a list
    of outcomes in the same order. An ordinary function runs in a thread, an async one in the event loop.
    `label` restricts it to the items of one label. What is left out is taken from the configuration.
    """

    state: str
    function: Function
    label: str | None = None
    batch: bool = False
    batch_size: int | None = None
    concurrency: int | None = None
    time_limit_seconds: float | None = None
    max_attempts: int | None = None

    @property
    def is_async(self) -> bool:
        call = getattr(self.function, "__call__", None)  # noqa: B004  an object with an async __call__
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)


@dataclass(frozen=True)
class Source:
    """One origin of knowledge."""

    name: str
    lifecycles: Mapping[str, Lifecycle]
    handlers: Sequence[Handler] = ()
    discover: Discover | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.name or not self.lifecycles:
            raise InvalidSource("A source needs a name and at least one label with its lifecycle.")
        for handler in self.handlers:
            self._check(handler)

    def stage_labels(self, handler: Handler) -> list[str]:
        """The labels whose items this handler works on."""
        return [
            label
            for label, lifecycle in self.lifecycles.items()
            if handler.label in (None, label) and waiting_state(lifecycle, handler.state) is not None
        ]

    def _check(self, handler: Handler) -> None:
        if handler.label is not None and handler.label not in self.lifecycles:
            raise InvalidSource(f"{self.name}: a handler is for the label {handler.label!r}, which is not declared.")
        if not self.stage_labels(handler):
            raise InvalidSource(
                f"{self.name}: a handler works in the state {handler.state!r}, "
                "which no claim leads to in the lifecycles of its labels."
            )


def waiting_state(lifecycle: Lifecycle, working: str) -> str | None:
    """The state from which a claim leads to this working state."""
    claims = [move for move in lifecycle.moves if move.event is Event.CLAIM and move.to == working]
    return next((move.state for move in claims if move.state in lifecycle.waiting), None)
