"""What wikitext is turned into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from detent.wikitext.site import Title


class Section(NamedTuple):
    """A heading, of level 1 to 6, and the plain text up to the next one. `parent` is the place of the section that this
    one is a part of. What stands before the first heading is the lead, of level 0, which has no parent."""

    level: int
    title: str
    text: str
    parent: int | None


class Link(NamedTuple):
    """A link to a page of this or another wiki, and the place of the section that it stands in."""

    title: Title
    section: int


@dataclass(frozen=True, slots=True)
class Article:
    """A page. `links` has each link as often as it stands there; `categories` and `templates` have each name once,
    without its namespace. `infobox` is what the first infobox says, `switches` are words such as `NOTOC`."""

    redirect: Title | None
    sections: Sequence[Section]
    links: Sequence[Link]
    categories: Sequence[str]
    infobox: Mapping[str, str]
    templates: Sequence[str]
    switches: frozenset[str]
