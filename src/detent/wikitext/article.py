"""The result of parsing wikitext."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from detent.wikitext.site import Title


class Section(NamedTuple):
    """A heading, of level 1 to 6, and the plain text up to the next one.

    `parent` is the index of the section that contains this one. The text before the first heading is the lead, of
    level 0, which has no parent.
    """

    level: int
    title: str
    text: str
    parent: int | None


class Link(NamedTuple):
    """A link to a page of this or another wiki, and the index of the section that contains it."""

    title: Title
    section: int


@dataclass(frozen=True, slots=True)
class Article:
    """A page.

    `links` has each link as often as it occurs; `categories` and `templates` have each name once, without its
    namespace. `infobox` has the parameters of the first infobox, `switches` are words such as `NOTOC`.
    """

    redirect: Title | None
    sections: Sequence[Section]
    links: Sequence[Link]
    categories: Sequence[str]
    infobox: Mapping[str, str]
    templates: Sequence[str]
    switches: frozenset[str]
