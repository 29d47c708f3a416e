"""Display the news of a run: progress in place, and a sentence for each event."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import singledispatchmethod
from textwrap import shorten
from types import TracebackType
from typing import TYPE_CHECKING, Self

from detent.application.running.news import (
    DatabaseGone,
    Discovered,
    Discovering,
    News,
    OnlyEmbedding,
    Progress,
    Refreshed,
    Refreshing,
    SourceFailed,
    Stopping,
    StoppingAtOnce,
    Waiting,
    WatchEnded,
)
from detent.cli.display import Display, display
from detent.cli.drawing import plain
from detent.cli.output import counted, duration, moment

if TYPE_CHECKING:
    from datetime import datetime

    from detent.application.values import Held, Holder
    from detent.cli.session import Session

_REASONS, _REASON_CHARACTERS = 3, 300


class Telling:
    """Shows the news of a run. Draws nothing before the first news."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: Display | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self._display.say(sentence)

    @property
    def _display(self) -> Display:
        if self._shown is None:
            self._shown = self._stack.enter_context(display(self._session.err))
        return self._shown

    @singledispatchmethod
    def tell(self, news: News) -> None:
        raise NotImplementedError(type(news).__name__)

    @tell.register
    def _(self, _: OnlyEmbedding) -> None:
        self._session.say("No sources are declared. This run only embeds items that wait for embedding.")

    @tell.register
    def _(self, news: Discovering) -> None:
        self._display.found(news.count)

    @tell.register
    def _(self, news: Discovered) -> None:
        if not news.keeping_up:
            self._display.note(None)
        if told := discovered(news):
            self._display.say(told)

    @tell.register
    def _(self, news: Refreshing) -> None:
        self._display.note(f"{counted(news.count, 'item')} checked")

    @tell.register
    def _(self, news: Refreshed) -> None:
        self._display.note(None)
        if news.changed:
            self._display.say(f"{counted(news.changed, 'item')} changed.")
        if news.again:
            self._display.say(f"{counted(news.again, 'item')} that failed for a temporary reason will be retried.")

    @tell.register
    def _(self, news: SourceFailed) -> None:
        self._display.say(news.sentence if news.keeping_up else f"{news.sentence} Known items are processed.")

    @tell.register
    def _(self, news: WatchEnded) -> None:
        self._display.say(f"{news.source} is no longer watched: {news.reason}.")

    @tell.register
    def _(self, news: DatabaseGone) -> None:
        self._display.say(f"{news.sentence} Waiting for it.")

    @tell.register
    def _(self, news: Stopping) -> None:
        self._display.say(
            f"Stopping: items in progress may finish within {duration(news.grace_seconds)}. Ctrl-C again stops at once."
        )

    @tell.register
    def _(self, news: StoppingAtOnce) -> None:
        if news.grace_seconds is None:
            self._display.say("Stopping at once; items in progress are released.")
        else:
            self._display.say(f"Workers have not ended within {duration(news.grace_seconds)}; they are terminated now.")

    @tell.register
    def _(self, news: Waiting) -> None:
        self._display.note(_note(news))

    @tell.register
    def _(self, news: Progress) -> None:
        self._display.note(_note(news.waiting))
        self._display.show(news.stages)


def discovered(news: Discovered) -> str:
    """`Discovered 3 new items and 1 changed item; 2 items are gone.`; "" if nothing."""
    gone = f"{counted(news.removed, 'item')} {'is' if news.removed == 1 else 'are'} gone"
    numbers = {"new item": news.added, "changed item": news.changed}
    named = " and ".join(counted(count, noun) for noun, count in numbers.items() if count)
    if not named:
        return f"{gone}." if news.removed else ""
    return f"Discovered {named}{f'; {gone}' if news.removed else ''}."


def waiting(count: int, until: datetime) -> str:
    """`12 items wait for a later retry, the first until 2025-11-15 09:30:00`."""
    verb = "waits" if count == 1 else "wait"
    return f"{counted(count, 'item')} {verb} for a later retry, the first until {moment(until)}"


def why(reasons: Sequence[str]) -> str:
    """The first of some reasons, on one line and not too long."""
    shown = [shorten(each, _REASON_CHARACTERS, placeholder=" …").rstrip(".") for each in reasons[:_REASONS]]
    return plain(". ".join(shown)).plain


def _note(news: Waiting) -> str | None:
    """The current reason to wait."""
    if news.holders:
        return _held(news.holders)
    if news.first_due:
        return waiting(news.later, news.first_due) + (f": {why(news.reasons)}" if news.reasons else "")
    return _left_alone(news.services)


def _held(holders: Sequence[Holder]) -> str:
    """`Waiting for 2 items held by host:4703; the lease expires at 2025-11-15 09:30:00 unless renewed`."""
    items = counted(sum(holder.items for holder in holders), "item")
    names = " and ".join(holder.owner for holder in holders)
    free = moment(max(holder.deadline for holder in holders))
    expire = "the lease expires" if len(holders) == 1 else "the leases expire"
    return f"Waiting for {items} held by {names}; {expire} at {free} unless renewed"


def _left_alone(services: Sequence[Held]) -> str | None:
    """`wiki.example refused with 503 Service Unavailable; next request at 2025-11-15 09:30:00`."""
    told = [f"{each.service} {each.reason}; next request at {moment(each.until)}" for each in services]
    return plain(". ".join(told)).plain or None
