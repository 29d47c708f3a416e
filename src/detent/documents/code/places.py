"""In which of some spans of a text its places are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar


class Span(Protocol):
    """From `start` to before `end`."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


SpanT = TypeVar("SpanT", bound=Span)


class Places(Generic[SpanT]):
    """Finds the innermost span at a place. Both the spans, of which each is in another or beside it, and the places
    that are asked for come in the order of the text, so that a file is gone through once."""

    def __init__(self, spans: Sequence[SpanT]) -> None:
        self._spans = spans
        self._next = 0
        self._around: list[SpanT] = []

    def at(self, place: int) -> SpanT | None:
        spans, around = self._spans, self._around
        while self._next < len(spans) and spans[self._next].start <= place:
            span = spans[self._next]
            self._next += 1
            while around and around[-1].end <= span.start:
                around.pop()
            around.append(span)
        while around and around[-1].end <= place:
            around.pop()
        return around[-1] if around else None
