"""The results of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from detent.knowledge.value import Value


@dataclass(frozen=True)
class Hit(Value):
    """One result.

    `key` and `title` belong to what is shown: the passage itself or, if results are grouped, what the passage
    belongs to; `passage` is then the passage's key. `parts` breaks down the score. `stale`: the result is the last
    version that could be read; a newer one failed. `place` is its position in a file, such as `guide.md:9-11`.
    """

    item_id: int
    source: str
    label: str
    key: str
    title: str
    snippet: str
    score: float
    parts: Mapping[str, float]
    link: str | None = None
    passage: str | None = None
    passage_title: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    stale: bool = False
    place: str | None = None

    def __str__(self) -> str:
        return f"{self.source}/{self.label}/{self.key}"


@dataclass(frozen=True)
class Answer(Value):
    """The results, best first, with notes for the reader: parts that could not answer, items that are not indexed
    yet, parts of the query that were not used."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suggestion(Value):
    """A node whose title begins with the typed text."""

    title: str
    key: str
    source: str
    label: str
