"""The questions that a wiki's API can be asked."""

from __future__ import annotations

import asyncio
import difflib
import re
import unicodedata
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Self, TypeVar

from detent.lifecycle import Trouble
from detent.services.connection import Hold, Repeat, Turn
from detent.sources.wiki.client.answers import (
    Revision,
    marks_disambiguation,
    read_answer,
    read_revision,
    read_site,
)
from detent.sources.wiki.client.connection import WikiConnection, read_address
from detent.sources.wiki.client.failure import TOO_MANY, WikiFailed
from detent.sources.wiki.client.gathering import Found, Gathered, rows
from detent.sources.wiki.pages import Absent, Answer
from detent.wikitext.site import ARTICLES, CATEGORIES, LONGEST_WRITTEN, Site

Told = TypeVar("Told")

TITLES_AT_ONCE = 50
"""Titles in one question, which is what a wiki answers to those without special rights."""

MOST_SUGGESTIONS = 5

_UNASKABLE = re.compile("[\x00-\x1f\x7f|\ud800-\udfff]")
_LONGEST_SEARCH = 255

_ALWAYS = {
    "action": "query",
    "format": "json",
    "formatversion": "2",
    "maxlag": "5",
    "continue": "",  # before 1.26, a wiki is asked by this to tell how to go on as later ones do
}
_RESOLVED = {"redirects": "1", "converttitles": "1"}

# Of the categories, only the hidden ones are asked for. Those that readers see stand in the text; and an answer has at
# most 500 rows for all its pages together, so that each row that is not needed brings the next request nearer.
_PAGES = {
    **_RESOLVED,
    "prop": "revisions|info|pageprops|categories",
    "rvprop": "ids|timestamp|content|size",
    "rvslots": "main",
    "ppprop": "disambiguation",
    "clshow": "hidden",
    "clprop": "hidden",
    "cllimit": "max",
}
_SITE = {"meta": "siteinfo", "siprop": "general|namespaces|namespacealiases|interwikimap|magicwords|extensions"}


class Client:
    """A wiki that is asked over its API. Every question may raise WikiFailed, and is asked twice only if `again` says
    so."""

    def __init__(
        self,
        api: str,
        agent: str,
        turn: Turn | None = None,
        hold: Hold | None = None,
        again: Repeat | None = None,
        *,
        timeout_seconds: float = 30.0,
    ) -> None:
        url = read_address(api)
        self._connection = WikiConnection(url, agent, turn, hold, again, timeout_seconds=timeout_seconds)
        self._site: Site | None = None
        self._asking_for_site = asyncio.Lock()
        self._marks: bool | None = None
        self._titles_at_once = TITLES_AT_ONCE

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._connection.aclose()

    @property
    def host(self) -> str:
        """The host that is asked, and its port where that is not the usual one."""
        return self._connection.host

    def remember(self, other: Client) -> None:
        """Know of the wiki what another client was told of it."""
        self._site, self._marks, self._titles_at_once = other._site, other._marks, other._titles_at_once
        self._connection.failed_in_a_row = other._connection.failed_in_a_row

    async def site(self) -> Site:
        """Return the wiki's spelling of titles, from one request for all callers. From then on, a page without the mark
        of a disambiguation page is known to be none, if the wiki marks them."""
        async with self._asking_for_site:
            if self._site is None:
                async with self._connection.leaving_alone():
                    self._site = await self._asked_for_site()
            return self._site

    async def _asked_for_site(self) -> Site:
        info: dict[str, Any] = {}
        async for answer in self._answers(_SITE):
            info |= answer.get("query") or {}
        with self._connection.understanding():
            site, self._marks = read_site(info), marks_disambiguation(info)
        if site is None:
            raise self._connection.failure("tells nothing of itself, as a MediaWiki would", Trouble.MALFORMED)
        return site

    async def fetch(self, titles: Sequence[str]) -> dict[str, Answer]:
        """The answer to each title. If it fails on the way, the error has those that were there before."""
        async with self._connection.leaving_alone():
            return await self._each(titles, _PAGES, lambda found: read_answer(found, marks=self._marks), _unaskable)

    async def revisions(self, titles: Sequence[str]) -> dict[str, Revision]:
        """Return the current revision of each title, without its text."""
        async with self._connection.leaving_alone():
            return await self._each(titles, {**_RESOLVED, "prop": "info"}, read_revision, _no_revision)

    async def members(self, category: str) -> AsyncGenerator[str, None]:
        """The articles in a category."""
        question = _members(_category_title(await self.site(), category))
        async with aclosing(self._listed("categorymembers", question)) as listed:
            async for namespace, member in listed:
                if namespace == ARTICLES:
                    yield member

    async def search(self, words: str, limit: int) -> list[str]:
        """The titles of the articles in which the wiki's own search finds these words, the best first."""
        found: list[str] = []
        if limit < 1:
            return found
        async with aclosing(self._listed("search", _search(words, limit))) as listed:
            async for _, title in listed:
                found.append(title)
                if len(found) >= limit:
                    break
        return found

    async def suggest(self, title: str) -> list[str]:
        """Titles that may have been meant by one that is missing, the likeliest first."""
        name = " ".join(title.replace("_", " ").split())[:_LONGEST_SEARCH]
        if not name:
            return []
        found = await self._near("prefixsearch|search", name, _search(name, MOST_SUGGESTIONS))
        if not found:
            # Not every wiki's search forgives a slip of the pen. What begins alike is compared here.
            found = _nearest(name, await self._near("prefixsearch", _half(name), {}, 50))
        return [each for each in found if each != title][:MOST_SUGGESTIONS]

    async def suggest_categories(self, category: str) -> list[str]:
        """Categories with articles that may have been meant by one without any, the likeliest first."""
        written = _category_title(await self.site(), category)
        name = " ".join(written.partition(":")[2].replace("_", " ").split())
        if not name:
            return []
        found = await self._categories(name) or _nearest(name, await self._categories(_half(name)))
        return [each for each in found if each != name][:MOST_SUGGESTIONS]

    async def _categories(self, beginning: str) -> list[str]:
        """The names of categories that begin so and have articles, also those without a page of their own."""
        asked = {"list": "allcategories", "acprefix": _sendable(beginning), "acmin": "1", "acprop": "size"}
        query = await self._first({**asked, "aclimit": "50"})
        with self._connection.understanding():
            found = rows(query, "allcategories")
            return [str(row.get("category", row.get("*"))) for row in found if int(row.get("pages", 0)) > 0]

    async def _near(
        self, lists: str, beginning: str, question: Mapping[str, str], limit: int = MOST_SUGGESTIONS
    ) -> list[str]:
        """The titles that one question to several lists finds; none where the wiki cannot be asked so."""
        asked = {**question, "list": lists, "pssearch": _sendable(beginning), "pslimit": str(limit)}
        query = await self._first(asked)
        with self._connection.understanding():
            return list(dict.fromkeys(str(row["title"]) for name in lists.split("|") for row in rows(query, name)))

    async def _first(self, question: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the first answer to a query, which may continue; nothing if the wiki does not support the query."""
        try:
            async with aclosing(self._answers(question)) as answers:
                return (await anext(answers)).get("query") or {}
        except WikiFailed as error:
            if error.trouble is not Trouble.REJECTED:
                raise
            return {}

    async def _each(
        self,
        titles: Sequence[str],
        question: Mapping[str, str],
        read: Callable[[Found], Told | None],
        refuse: Callable[[str], Told | None],
    ) -> dict[str, Told]:
        """Return the result of `read` for the page of each title, and of `refuse` for a title that no wiki can have."""
        told = {title: answer for title in titles if (answer := refuse(title)) is not None}
        waiting = deque(title for title in dict.fromkeys(titles) if title not in told)
        silent: list[str] = []
        while waiting:
            batch = [waiting.popleft() for _ in range(min(self._titles_at_once, len(waiting)))]
            try:
                answers = await self._read(batch, question, read)
            except WikiFailed as failure:
                if failure.code == TOO_MANY and len(batch) > 1:
                    self._titles_at_once = len(batch) // 2
                    waiting.extendleft(reversed(batch))
                    continue
                failure.answered = told
                raise
            told |= answers
            rest = [title for title in batch if title not in answers]
            # Some wikis answer only the first of too many titles, and leave out the others.
            (silent if len(rest) == len(batch) else waiting).extend(rest)
        if silent:
            raise self._unanswered(silent, told)
        return told

    async def _read(
        self, batch: list[str], question: Mapping[str, str], read: Callable[[Found], Told | None]
    ) -> dict[str, Told]:
        """Return the result of `read` for each title in the wiki's answers, once all have arrived."""
        gathered = Gathered()
        sent = dict.fromkeys(unicodedata.normalize("NFC", title) for title in batch)
        async for answer in self._answers({**question, "titles": "|".join(sent)}):
            with self._connection.understanding():
                gathered.add(answer)
        with self._connection.understanding():
            return {title: told for title in batch if (told := read(gathered.found(title))) is not None}

    async def _listed(self, name: str, question: Mapping[str, str]) -> AsyncGenerator[tuple[int, str], None]:
        """The namespaces and titles in a list, to its end."""
        async with aclosing(self._answers(question)) as answers:
            async for answer in answers:
                with self._connection.understanding():
                    found = [(int(row["ns"]), str(row["title"])) for row in rows(answer.get("query") or {}, name)]
                self._connection.failed_in_a_row = 0
                for each in found:
                    yield each

    async def _answers(self, question: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        """The answers to a question: the first, and those that it takes until nothing more is to come."""
        more: dict[str, str] = {}
        places: set[frozenset[tuple[str, str]]] = set()
        while True:
            answer = await self._connection.answer({**_ALWAYS, **question, **more})
            with self._connection.understanding():
                more = {name: str(value) for name, value in (answer.get("continue") or {}).items()}
            yield answer
            if not more:
                return
            place = frozenset(more.items())
            if place in places:
                raise self._connection.failure("goes on for ever with the same answer", Trouble.MALFORMED)
            places.add(place)

    def _unanswered(self, titles: list[str], told: Mapping[str, Any]) -> WikiFailed:
        which = repr(titles[0]) if len(titles) == 1 else f"{len(titles):,} titles, the first of which is {titles[0]!r}"
        failure = WikiFailed(self._connection.address, f"says nothing of {which}", Trouble.SERVER)
        failure.answered = told
        return failure


def _half(name: str) -> str:
    """The first half of a name."""
    return name[: max(len(name) // 2, 1)]


def _nearest(name: str, others: Sequence[str]) -> list[str]:
    """The most similar names, in any case."""
    alike = {each.lower(): each for each in others}
    return [alike[each] for each in difflib.get_close_matches(name.lower(), alike, MOST_SUGGESTIONS)]


def _category_title(site: Site, category: str) -> str:
    """The title of a category, which may be written with or without its namespace."""
    for written in (category, f"Category:{category}"):
        title = site.title(written)
        if title is not None and title.namespace == CATEGORIES:
            return title.text
    return category


def _members(category: str) -> dict[str, str]:
    named = {"cmtitle": _sendable(category), "cmprop": "title", "cmtype": "page", "cmlimit": "max"}
    return {"list": "categorymembers", **named}


def _search(words: str, limit: int) -> dict[str, str]:
    found = {"srlimit": str(limit) if limit < 500 else "max", "srprop": "", "srinfo": "", "srenablerewrites": "1"}
    return {"list": "search", "srsearch": _sendable(words), "srnamespace": str(ARTICLES), **found}


def _sendable(text: str) -> str:
    """A text without what cannot be sent as UTF-8."""
    return text.encode(errors="replace").decode()


def _unaskable(title: str) -> Absent | None:
    """The reason not to request a title: it is empty, except for a section, too long, or would be read as several
    titles."""
    if not title.partition("#")[0].strip():
        return Absent("The title is empty.", Trouble.REJECTED)
    if len(title) > LONGEST_WRITTEN:
        return Absent("No title is so long.", Trouble.REJECTED)
    if (wrong := _UNASKABLE.search(title)) is not None:
        return Absent(f"No title has the character {wrong[0]!r}.", Trouble.REJECTED)
    return None


def _no_revision(title: str) -> Revision | None:
    absent = _unaskable(title)
    return None if absent is None else Revision(0, 0, missing=True, reason=absent.reason)
