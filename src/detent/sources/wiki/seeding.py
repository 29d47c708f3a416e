"""Seeds: the titles that a graph begins with, checked before anything is queued."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import NamedTuple

from detent.sources.wiki.client import TITLES_AT_ONCE, Client
from detent.sources.wiki.dump import Dump
from detent.sources.wiki.following import tells_apart
from detent.sources.wiki.pages import Absent, Answer, Moved, Page
from detent.sources.wiki.slips import great_slips, small_slips
from detent.wikitext import parse
from detent.wikitext.addresses import is_address, is_of, title_at
from detent.wikitext.site import ARTICLES, CATEGORIES, LONGEST_TITLE, Site

Keep = Callable[[Sequence[Page]], object]

MOST_MEMBERS = 100_000
MOST_TOLD = 20
"""Seeds that are none, of which it is told what is wrong with them, and found out what may have been meant."""

_SUGGESTED = 5
_LONGEST_SHOWN = 100
_LINKS_LOOKED_AT = 20
_AS_CATEGORY = " Give it as a category, and its articles are taken."
_LOOKING_SECONDS = 1.0
"""Longest time to search the titles of a dump, which may be millions, for a suggestion."""


@dataclass
class Seeds:
    """Titles as the wiki writes them, each once. `notes` say what was taken for another one; `faults` what is no
    article, with what may have been meant. `language` is the code of the one that the wiki is written in."""

    titles: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    language: str = ""

    def add(self, title: str) -> None:
        self.titles[title] = None


@dataclass(frozen=True)
class _Fault:
    """A problem with a title, and the titles possibly meant, if its page names them; or a mark that it is the title
    of a category, so that no other can have been meant."""

    what: str
    meant: Sequence[str] = ()
    category: bool = False


class _Known(NamedTuple):
    """The facts kept of a requested page: its title, whether that differs from the requested one, and its problem."""

    title: str
    moved: bool = False
    fault: _Fault | None = None


@dataclass(frozen=True)
class Wanted:
    """The requested seeds: titles, the articles of categories, and the results of the wiki's own search."""

    titles: Sequence[str] = ()
    categories: Sequence[str] = ()
    searches: Sequence[str] = ()
    most_found: int = 50

    def __bool__(self) -> bool:
        return bool(self.titles or self.categories or self.searches)


async def from_wiki(client: Client, wanted: Wanted, keep: Keep | None = None) -> Seeds:
    """The seeds that a wiki has. `keep` is called with the pages of some of them, as they were fetched."""
    site = await client.site()
    seeds = Seeds(language=site.language)
    titles = _titles(seeds, wanted.titles, (site.host, client.host), site)
    known: dict[str, _Known] = {}
    for some in _portions(titles):
        answers = await client.fetch(some)
        known |= _looked_at(answers, site)
        if keep is not None:
            await asyncio.to_thread(keep, list(_articles(answers, known)))
    for title in titles:
        if fault := _take(seeds, title, known[title]):
            near = await _near(client, title, fault.meant) if _is_explained(seeds, title, fault) else []
            seeds.faults.append(f"{fault.what}{_AS_CATEGORY if fault.category else _meant(near, title)}")
    for category in wanted.categories:
        members = await _members(seeds, client, category)
        near = await client.suggest_categories(category) if not members else []
        _take_found(seeds, members, f"The category {category!r} has no articles.{_meant(near, category)}")
    for words in wanted.searches:
        _take_found(seeds, await client.search(words, wanted.most_found), f"Nothing was found by {words!r}.")
    return seeds


def _is_explained(seeds: Seeds, title: str, fault: _Fault) -> bool:
    """Tell whether to look for the title that may have been meant. A title that is too long has none."""
    return len(seeds.faults) < MOST_TOLD and not fault.category and len(title) <= LONGEST_TITLE


async def _near(client: Client, title: str, meant: Sequence[str]) -> list[str]:
    """Existing titles that a title without an article may stand for. The wiki's search may return deleted ones."""
    near = await _existing(client, meant) or await _existing(client, await client.suggest(title))
    return near or await _existing(client, small_slips(title))


async def _existing(client: Client, titles: Sequence[str]) -> list[str]:
    """Those of the first titles that the wiki has."""
    asked = titles[:TITLES_AT_ONCE]
    standing = await client.revisions(asked) if asked else {}
    return [title for title in asked if not standing[title].missing]


async def _members(seeds: Seeds, client: Client, category: str) -> list[str]:
    """The articles of a category, but not without end."""
    found: list[str] = []
    async with aclosing(client.members(category)) as members:
        async for member in members:
            if len(found) == MOST_MEMBERS:
                more = f"The category {category!r} has more than {MOST_MEMBERS:,} articles."
                seeds.notes.append(f"{more} The first {MOST_MEMBERS:,} are taken.")
                break
            found.append(member)
    return found


def from_dump(dump: Dump, wanted: Wanted) -> Seeds:
    """The seeds that a dump has. It can be asked neither for the members of categories nor to search."""
    site = dump.site()
    seeds = Seeds(language=site.language)
    titles = _titles(seeds, wanted.titles, (site.host,), site)
    known: dict[str, _Known] = {}
    for some in _portions(dump.in_order(titles)):
        known |= _looked_at(dump.find(some), site)
    for title in titles:
        if fault := _take(seeds, title, known[title]):
            near: list[str] = []
            if _is_explained(seeds, title, fault):
                near = _there(fault.meant[:_LINKS_LOOKED_AT], dump) or _near_in(dump, title)
            seeds.faults.append(f"{fault.what}{_meant(near, title)}")
    return seeds


def _titles(seeds: Seeds, written: Sequence[str], hosts: Sequence[str], site: Site) -> list[str]:
    """The titles that were written, also as addresses of pages of the wiki at one of these hosts. Not every wiki tells
    that of its pages, and no dump another one."""
    found, known = [], [host for host in hosts if host]
    for each in written:
        title = title_at(each, site.addresses) if is_address(each) else each
        if title is not None and (title == each or any(is_of(each, host) for host in known)):
            found.append(title)
        else:
            where = f"no address of a page of {known[0]}" if known else "an address"
            such = f", such as {' '.join(title.split('_'))!r}" if title else ""
            seeds.faults.append(f"{each} is {where}. A seed is a title{such}.")
    return list(dict.fromkeys(found))


def _portions(titles: Sequence[str]) -> Iterator[Sequence[str]]:
    """Titles in portions whose pages may all be held at once, which those of all titles may not."""
    return (titles[start : start + TITLES_AT_ONCE] for start in range(0, len(titles), TITLES_AT_ONCE))


def _looked_at(answers: Mapping[str, Answer], site: Site) -> dict[str, _Known]:
    """The facts about the answers to titles, without the texts."""
    return {asked: _known(asked, answer, site) for asked, answer in answers.items()}


def _articles(answers: Mapping[str, Answer], known: Mapping[str, _Known]) -> Iterator[Page]:
    """The pages among these answers that are articles."""
    for asked, answer in answers.items():
        page = answer.page if isinstance(answer, Moved) else answer
        if isinstance(page, Page) and known[asked].fault is None:
            yield page


def _known(asked: str, answer: Answer, site: Site) -> _Known:
    page = answer.page if isinstance(answer, Moved) else answer
    if isinstance(page, Absent):
        return _Known(asked, fault=_Fault(f"{_shown(asked)}: {page.reason.rstrip('.')}."))
    title = page.title if isinstance(page, Page) else answer.title if isinstance(answer, Moved) else asked
    fault = _no_article(page, site) if isinstance(page, Page) else None
    return _Known(title, isinstance(answer, Moved), fault)


def _shown(asked: str) -> str:
    if len(asked) > _LONGEST_SHOWN:
        return f"{asked[:_LONGEST_SHOWN]}\N{HORIZONTAL ELLIPSIS}"
    return asked if asked.strip() else repr(asked)


def _take(seeds: Seeds, asked: str, known: _Known) -> _Fault | None:
    """Take a title for a seed; returns what is wrong with it, if something is."""
    if known.fault is None:
        if known.moved:
            seeds.notes.append(f"{asked} is {known.title} in this wiki.")
        seeds.add(known.title)
    return known.fault


def _no_article(page: Page, site: Site) -> _Fault | None:
    if page.namespace == CATEGORIES:
        return _Fault(f"{page.title} is a category, and no article.", category=True)
    if page.namespace != ARTICLES:
        return _Fault(f"{page.title} is no article.")
    article = parse(page.text, site, page.title)
    if page.disambiguation or (page.disambiguation is None and tells_apart(page.title, article)):
        linked = [link.title.text for link in article.links if link.title.namespace == ARTICLES]
        return _Fault(f"{page.title} is a disambiguation page.", linked[:TITLES_AT_ONCE])
    return None


def _take_found(seeds: Seeds, titles: Sequence[str], otherwise: str) -> None:
    for title in titles:
        seeds.add(title)
    if not titles:
        seeds.faults.append(otherwise)


def _near_in(dump: Dump, title: str) -> list[str]:
    """Titles in a dump that one which is not in it may stand for."""
    if not title.strip():
        return []
    return _there(small_slips(title), dump) or _there(great_slips(title), dump) or _alike(title, dump)


def _there(titles: Sequence[str], dump: Dump) -> list[str]:
    """The articles to which those of these titles lead that are in a dump."""
    found = [answer for answer in dump.find(titles).values() if not isinstance(answer, Absent)]
    return list(dict.fromkeys(answer.title for answer in found))


def _alike(title: str, dump: Dump) -> list[str]:
    """Titles in a dump that begin alike, as far as they are found soon."""
    beginning, end = title[: max(3, len(title) // 2)].lower(), time.monotonic() + _LOOKING_SECONDS
    listed = takewhile(lambda _: time.monotonic() < end, dump.titles())
    titles = (each.title for each in listed if each.namespace == ARTICLES)
    return list(islice((each for each in titles if each.lower().startswith(beginning)), _SUGGESTED))


def _meant(titles: Iterable[str], asked: str) -> str:
    listed = list(islice((each for each in titles if each != asked), _SUGGESTED))
    return f" Did you mean {' or '.join(repr(each) for each in listed)}?" if listed else ""
