"""The answers of a wiki to a request for titles, one for each title."""

from __future__ import annotations

from dataclasses import dataclass

from detent.lifecycle import Trouble


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it is now. `title` is the wiki's own spelling, `length` in bytes, `edited` as the wiki writes it.

    `disambiguation` is what the wiki says of it, None where it says nothing; `hidden` are those of its categories,
    without their namespace, that the wiki does not show to readers.
    """

    title: str
    id: int
    revision: int
    text: str
    length: int
    edited: str
    namespace: int = 0
    model: str = "wikitext"
    disambiguation: bool | None = None
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Moved:
    """The title is another name of a page: it is spelled otherwise, or it is a redirect. `page` is that page, if the
    wiki sent it along; `fragment` the section that a redirect names."""

    title: str
    fragment: str = ""
    page: Page | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such page, or none that can be had. What is there and no article, such as a redirect in a circle, is
    rejected; of what cannot be read, the trouble is another one."""

    reason: str
    trouble: Trouble = Trouble.NOT_FOUND


Answer = Page | Moved | Absent
