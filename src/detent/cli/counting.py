"""The progress of a long operation: a line that stays in place on a terminal, or else one every few seconds."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from detent.cli.output import duration, number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

LINE_SECONDS = 5.0
SOON_SECONDS = 1.0


class Counting:
    """`Importing: 12,000 of 50,000 items, 4,000/s, about 10 s left`. Operations below a second show nothing."""

    def __init__(self, console: Console, doing: str, noun: str, every_seconds: float | None = None) -> None:
        self._console = console
        self._doing = doing
        self._noun = noun
        live = console.is_terminal and not console.is_dumb_terminal
        self._status: Status | None = console.status(f"{doing}…") if live else None
        self._every = every_seconds if every_seconds is not None else 0.1 if live else LINE_SECONDS
        self._began = self._told = time.monotonic()
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None and self._shown:
            self._status.stop()

    def tell(self, count: int, total: int | None = None) -> None:
        now = time.monotonic()
        if now - self._told < self._every or now - self._began < min(SOON_SECONDS, self._every):
            return
        self._told = now
        words = self._words(count, total, now - self._began)
        if self._status is None:
            self._console.print(f"{time.strftime('%H:%M:%S')} {words}", soft_wrap=True)
        else:
            self._status.update(words)
            if not self._shown:
                self._status.start()
        self._shown = True

    def _words(self, count: int, total: int | None, seconds: float) -> str:
        rate = count / seconds if seconds > 0 else 0.0
        of = f" of {number(total)}" if total else ""
        words = f"{self._doing}: {number(count)}{of} {self._noun}, {rate:,.0f}/s"
        if total and rate and count < total:
            words += f", about {duration((total - count) / rate)} left"
        return words
