"""Pages of a dump."""

from __future__ import annotations

from dataclasses import dataclass

from detent.sources.wiki.pages import Absent


@dataclass(frozen=True, slots=True)
class Listed:
    """A page in a list. `redirect` is None if only reading the page tells."""

    title: str
    namespace: int
    id: int
    redirect: bool | None = None


@dataclass(frozen=True, slots=True)
class Dumped:
    """A page with its last revision.

    `redirect` is the title that it leads to, and `fragment` the section there; `length` is in bytes. `lack` is the
    reason why it has no text: it was deleted, or cannot be read.
    """

    title: str
    namespace: int
    id: int
    redirect: str | None
    revision: int
    edited: str
    model: str
    text: str
    length: int
    fragment: str = ""
    lack: Absent | None = None
