"""Asking a wiki for articles, for programs that load them themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from detent.errors import DetentError
from detent.services import pace
from detent.sources.wiki.client import TITLES_AT_ONCE, Client, WikiFailed, read_address
from detent.sources.wiki.following import followed, is_followed
from detent.sources.wiki.manners import client_of
from detent.sources.wiki.pages import Absent, Answer, Moved, Page
from detent.sources.wiki.settings import ENGLISH_WIKIPEDIA, WikiSettings, is_wikimedia, without_password
from detent.sources.wiki.source import user_agent
from detent.wikitext import parse

if TYPE_CHECKING:
    from detent.services.pace import Pace
    from detent.wikitext.article import Section
    from detent.wikitext.site import Site

__all__ = [
    "ENGLISH_WIKIPEDIA",
    "TITLES_AT_ONCE",
    "Absent",
    "Answer",
    "AskedWiki",
    "Moved",
    "Page",
    "ParsedArticle",
    "WikiFailed",
    "is_followed",
    "parsed",
]


@dataclass(frozen=True)
class ParsedArticle:
    """An article's sections, infobox and categories, and the titles of the articles that it links to, in order."""

    sections: Sequence[Section]
    links: list[str]
    categories: list[str]
    infobox: Mapping[str, str]


def parsed(page: Page, site: Site) -> ParsedArticle:
    article = parse(page.text, site, page.title)
    links = [link.title.text for link in followed(article, page.title)]
    return ParsedArticle(article.sections, links, list(article.categories), article.infobox)


class AskedWiki:
    """A MediaWiki that is asked over its API, at most `per_minute` times a minute. Each call makes a connection of its
    own, so that they may come from different event loops."""

    def __init__(self, api: str, contact: str | None, per_minute: float | None) -> None:
        read_address(api)
        address, password = without_password(api)
        self._settings = WikiSettings(api=address, per_minute=per_minute, password=password)
        if is_wikimedia(self._settings.host) and not contact:
            raise DetentError("Wikimedia's wikis want to know who asks: WikipediaAPIClient(contact='you@example.org').")
        self._agent = user_agent(contact)
        self._last: Client | None = None
        self.site: Site | None = None
        """The wiki's spelling of titles, once it was requested."""

    async def fetch(self, titles: Sequence[str], keep_to: Pace | None = None) -> dict[str, Answer]:
        """The answers to titles; none for no titles, but then the wiki is asked how it spells them."""
        if keep_to is not None:
            pace.keep(keep_to)
        async with client_of(self._settings, self._agent) as client:
            if self._last is not None:
                client.remember(self._last)
            self._last, self.site = client, await client.site()
            return await client.fetch(titles) if titles else {}
