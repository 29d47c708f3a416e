"""Pages as a dump has them."""

from __future__ import annotations

from dataclasses import dataclass

from detent.sources.wiki.pages import Absent


@dataclass(frozen=True, slots=True)
class Listed:
    """That there is a page. `redirect` says whether it is one, and is None where that is known only to who reads it."""

    title: str
    namespace: int
    id: int
    redirect: bool | None = None


@dataclass(frozen=True, slots=True)
class Dumped:
    """A page with its last revision. `redirect` is the title that it leads to, and `fragment` the section there;
    `length` is in bytes. `lack` tells why there is no text, where it was deleted or cannot be read."""

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
