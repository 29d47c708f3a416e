"""The wiki's client of the document "Expansion Module"."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from detent.errors import DetentError
from detent.sources.wiki.client import Client
from detent.sources.wiki.following import followed
from detent.sources.wiki.pages import Absent, Answer, Moved, Page
from detent.sources.wiki.settings import WIKIPEDIA, WikiSettings, is_wikimedia
from detent.sources.wiki.site import Site
from detent.sources.wiki.source import user_agent
from detent.sources.wiki.wikitext import parse
from detent.sources.wiki.wikitext.article import Section

T = TypeVar("T")

_KEPT = 100


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


class WikipediaAPIClient:
    """Asks a MediaWiki for articles. Wikimedia's wikis want a `contact`: your e-mail address, or a page about you."""

    def __init__(self, api: str = WIKIPEDIA.format(language="en"), contact: str | None = None) -> None:
        if is_wikimedia(WikiSettings(api=api).host) and not contact:
            raise DetentError("Wikimedia's wikis want to know who asks: WikipediaAPIClient(contact='you@example.org').")
        self._api = api
        self._agent = user_agent(contact)
        self._known: OrderedDict[str, Answer] = OrderedDict()
        self._site: Site | None = None

    def fetch_article(self, title: str) -> WikipediaArticle:
        """The article of this title, or the one that it leads to; raises ArticleNotFound if there is none."""
        page = self.page(title)
        if page is None:
            answer = self.answer(title)
            raise ArticleNotFound(answer.reason if isinstance(answer, Absent) else f"There is no article {title!r}.")
        article = parse(page.text, self.site())
        return WikipediaArticle(
            page.title,
            page.id,
            page.revision,
            page.text,
            article.sections,
            [link.title.text for link in followed(article)],
            list(article.categories),
            article.infobox,
        )

    def page(self, title: str) -> Page | None:
        """The page that a title leads to."""
        answer = self.answer(title)
        page = answer.page if isinstance(answer, Moved) else answer
        return page if isinstance(page, Page) else None

    def answer(self, title: str) -> Answer:
        """What the wiki says to a title. It is not asked twice in a row."""
        if title not in self._known:
            self._keep(title, _done(self._asked(title)))
        return self._known[title]

    def names_of(self, title: str) -> list[str]:
        """The other titles that led to this article when they were asked for."""
        return [
            name
            for name, answer in self._known.items()
            if isinstance(answer, Moved) and answer.page is not None and answer.page.title == title
        ]

    def site(self) -> Site:
        """How the wiki spells titles."""
        if self._site is None:
            _done(self._asked(None))
        return self._site or Site()

    async def _asked(self, title: str | None) -> Answer:
        async with Client(self._api, self._agent) as client:
            self._site = await client.site()
            return (await client.fetch([title]))[title] if title is not None else Absent("")

    def _keep(self, title: str, answer: Answer) -> None:
        self._known[title] = answer
        if isinstance(answer, Moved) and answer.page is not None:
            self._known[answer.page.title] = answer.page
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


def _done(work: Coroutine[Any, Any, T]) -> T:
    """Do it in an event loop of its own, also where one is running already."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
