"""The results of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from detent.knowledge.value import Value


@dataclass(frozen=True)
class Hit(Value):
    """One result. `key` and `title` are those of what is shown: the passage's own, or, grouped, of what it belongs
    to, and `passage` is then the passage's key. `parts` says where the score comes from. `stale`: what is shown is the
    last version that could be read; a newer one failed. `place` is where in a file it stands, as `guide.md:9-11`."""

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
    """The results, best first, and what the reader should know about them: which part could not answer, what is not
    indexed yet, what of the query was not used."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suggestion(Value):
    """A node whose title begins with what was typed."""

    title: str
    key: str
    source: str
    label: str
