"""The wiki's client of the document "Expansion Module"."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from detent.application import Detent
from detent.application.wikis import ENGLISH_WIKIPEDIA, Absent, Answer, AskedWiki, Moved, Page, WikiFailed, parsed
from detent.errors import DetentError
from detent.services.pace import Quota, Wait
from detent.wikitext.article import Section
from detent.wikitext.site import Site

T = TypeVar("T")

_KEPT = 100
_KEEP_SECONDS = 300.0


class ArticleNotFound(DetentError):
    """The wiki has no such article."""


@dataclass(frozen=True)
class WikipediaArticle:
    """An article as the wiki has it: `links` are the titles of those that it links to, in their order."""

    title: str
    page_id: int
    revision_id: int
    text: str
    sections: Sequence[Section]
    links: list[str]
    categories: list[str]
    infobox: Mapping[str, str] = field(default_factory=dict)


class _Kept(NamedTuple):
    """An answer of the wiki, and its time on this process's clock."""

    answer: Answer
    at: float


class WikipediaAPIClient:
    """Asks a MediaWiki for articles. Wikimedia's wikis want a `contact`: your e-mail address, or a page about you.

    What it was told is kept for `keep_seconds`, of the last hundred titles. With `db`, or once an ArticleLoader has it,
    it asks no oftener than all together may who share that database: `per_minute`, if that is said.
    """

    def __init__(
        self,
        api: str = ENGLISH_WIKIPEDIA,
        contact: str | None = None,
        *,
        db: Detent | None = None,
        per_minute: float | None = None,
        keep_seconds: float = _KEEP_SECONDS,
    ) -> None:
        self._wiki = AskedWiki(api, contact, per_minute)
        self._db = db
        self._keep_seconds = keep_seconds
        self._known: OrderedDict[str, _Kept] = OrderedDict()

    def keep_pace(self, db: Detent) -> None:
        """Ask no oftener than all together may who share this database."""
        self._db = db

    def fetch_article(self, title: str) -> WikipediaArticle:
        """The article of this title, or the one that it leads to; raises ArticleNotFound if there is none."""
        answer = self.answer(title)
        page = _page(answer)
        if page is None:
            raise ArticleNotFound(answer.reason if isinstance(answer, Absent) else f"There is no article {title!r}.")
        article = parsed(page, self.site())
        return WikipediaArticle(
            page.title,
            page.id,
            page.revision,
            page.text,
            article.sections,
            article.links,
            article.categories,
            article.infobox,
        )

    def answer(self, title: str) -> Answer:
        """Return the wiki's answer for a title, which may be a recent one."""
        return self.answers([title])[title]

    def answers(self, titles: Sequence[str]) -> dict[str, Answer]:
        """Return the wiki's answers for some titles, recent ones where there are, the others in one request."""
        fresh = time.monotonic() - self._keep_seconds
        kept = {title: self._known[title] for title in titles if title in self._known}
        known = {title: answer for title, (answer, at) in kept.items() if at > fresh}
        asked = [title for title in titles if title not in known]
        if asked:
            try:
                told = _done(self._asked(asked))
            except WikiFailed as error:
                self._keep(error.answered)
                raise
            self._keep(told)
            known |= told
        return known

    def names_of(self, title: str) -> list[str]:
        """The other titles that led to this article when they were asked for."""
        return [
            name
            for name, (answer, _) in self._known.items()
            if isinstance(answer, Moved) and answer.page is not None and answer.page.title == title
        ]

    def site(self) -> Site:
        """Return the wiki's spelling of titles."""
        if self._wiki.site is None:
            _done(self._asked([]))
        return self._wiki.site or Site()

    async def _asked(self, titles: Sequence[str]) -> dict[str, Answer]:
        return await self._wiki.fetch(titles, _SharedPace(self._db) if self._db is not None else None)

    def _keep(self, told: Mapping[str, Answer]) -> None:
        led_to = [each.page for each in told.values() if isinstance(each, Moved) and each.page is not None]
        for name, each in {**told, **{page.title: page for page in led_to}}.items():
            self._known[name] = _Kept(each, time.monotonic())
            self._known.move_to_end(name)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


class _SharedPace:
    """The pace of a database, for who is in another event loop than the database."""

    def __init__(self, db: Detent) -> None:
        self._db = db
        self._pacing = db.asynchronous.store.pacing

    async def turn(self, service: str, per_minute: float, at_most: float, quotas: Sequence[Quota] = ()) -> Wait | None:
        return await asyncio.to_thread(self._db.wait, self._pacing.turn(service, per_minute, at_most, quotas))

    async def hold(self, service: str, seconds: float, reason: str) -> None:
        await asyncio.to_thread(self._db.wait, self._pacing.hold(service, seconds, reason))


def _page(answer: Answer) -> Page | None:
    page = answer.page if isinstance(answer, Moved) else answer
    return page if isinstance(page, Page) else None


def _done(work: Coroutine[Any, Any, T]) -> T:
    """Do it in an event loop of its own, also where one is running already."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
