"""A page from its wikitext to an article."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from detent.wikitext.article import Article, Link, Section
from detent.wikitext.marks import BREAK, SECTION, cleaned
from detent.wikitext.markup import Found, Reader
from detent.wikitext.plain import plain
from detent.wikitext.site import Site
from detent.wikitext.switches import without_switches
from detent.wikitext.templates import parameters
from detent.wikitext.titles import Titles
from detent.wikitext.variants import chosen
from detent.wikitext.verbatim import set_aside

_EMPTY_LINES = re.compile(r"\n\n\n+")
_TARGET = re.compile(r"\s*+:?\s*+\[\[([^\[\]{}|\n]*+)(?:\|[^\[\]\n]*+)?+\]\]")


def parse(text: str, site: Site, page: str = "") -> Article:
    """Parse a page's wikitext. Links may be relative to its title."""
    text, shown = set_aside(cleaned(text))
    text = chosen(text, site.language)
    target, text = _redirect(text, site)
    text, switches = without_switches(text)
    titles = Titles(site, page)
    reader = Reader(titles)
    seen = reader.read(f"\n{text}")
    found = reader.found
    redirect = titles.of(target) if target else None
    if redirect is not None:
        found.links.insert(0, (redirect, 0))
    return Article(
        redirect,
        _sections(plain(chosen(seen, site.language), shown), found),
        _links(found),
        list(found.categories),
        _infobox(found.infobox[1], shown) if found.infobox else {},
        sorted(found.templates, key=found.templates.__getitem__),
        switches,
    )


def _redirect(text: str, site: Site) -> tuple[str, str]:
    """Return the target of a redirect, '' if the page is none, and the rest of the text."""
    start = text.lstrip()
    for word in site.redirect_words:
        if start[: len(word)].lower() == word.lower() and (target := _TARGET.match(start, len(word))):
            return target[1].strip(), start[target.end() :]
    return "", text


def _sections(text: str, found: Found) -> list[Section]:
    """Return the sections, each under the nearest preceding title of a lower level."""
    lead, *parts = text.split(SECTION)
    sections = [Section(0, "", _text(lead), None)]
    above = [0]
    for heading, part in zip(found.headings, parts, strict=True):
        title, _, content = part.partition("\n")
        while sections[above[-1]].level >= heading.level:
            above.pop()
        sections.append(Section(heading.level, title.replace(BREAK, " ").strip(), _text(content), above[-1]))
        above.append(len(sections) - 1)
    return sections


def _text(content: str) -> str:
    if BREAK in content:
        content = _EMPTY_LINES.sub("\n\n", content.replace(BREAK, "\n"))
    return content.strip()


def _links(found: Found) -> list[Link]:
    headings = [heading.place for heading in found.headings]
    return [Link(title, bisect_right(headings, place)) for title, place in sorted(found.links, key=itemgetter(1))]


def _infobox(arguments: str, shown: Sequence[str]) -> dict[str, str]:
    """Return the parameters of an infobox that have text, without marks."""
    named = parameters(arguments)
    text = plain("".join(f"\n{SECTION}{name}\n{value}" for name, value in named.items()), shown)
    parts = (part.partition("\n") for part in text.split(SECTION)[1:])
    return {name.replace(BREAK, " "): value for name, _, content in parts if (value := _text(content))}
