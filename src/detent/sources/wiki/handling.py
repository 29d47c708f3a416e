"""The handlers of the wiki source: titles in, articles with their sections and links out.

What the wiki answers decides: a page becomes an article, another name of one an alias of it, and what is no article
fails for good. An article that is asked for again without having changed is not fetched: what it links to is known.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from detent.knowledge import Done, Failed, Item, NewItem, Outcome, Reference, Retry
from detent.lifecycle import Trouble
from detent.sources.source import PartlyTold
from detent.sources.wiki import nodes
from detent.sources.wiki.client import TITLES_AT_ONCE, Client, Revision, WikiFailed
from detent.sources.wiki.dump import CacheUnwritable, Dump, DumpMissing, DumpUnreadable
from detent.sources.wiki.fetched import FetchedPages
from detent.sources.wiki.following import tells_apart
from detent.sources.wiki.hidden import HiddenCategories
from detent.sources.wiki.manners import client_of
from detent.sources.wiki.nodes import ARTICLE, LINKS_TO
from detent.sources.wiki.pages import Absent, Answer, Moved, Page
from detent.sources.wiki.settings import WikiSettings
from detent.wikitext import parse
from detent.wikitext.site import ARTICLES, Site

Hidden = Callable[[Sequence[str]], frozenset[str]]

ARTICLES_IN, OTHERWISE = "processed", "loaded"
"""The resting states of articles; and of titles that are only an alias of one."""

_MISSING = "missing"
"""The stamp of a title without a page."""
_AWAY_SECONDS = 60.0
_KEPT_PAGES = 200
_SILENT = Retry("The wiki said nothing about it.", Trouble.SERVER)


class Articles:
    """The outcomes of titles for the wiki's answers. `hidden` tells which categories are hidden, if a page does not."""

    def __init__(self, settings: WikiSettings, hidden: Hidden | None = None) -> None:
        self._settings = settings
        self._hidden = hidden

    def as_it_was(self, item: Item) -> Outcome | None:
        """The outcome, if only the depth of the article changed."""
        known = item.node.content_hash if item.node else None
        if item.content_hash is None or known != nodes.stamp(item.content_hash, self._settings.passage_size):
            return None
        return Done(found=self._found(item, item.links or ()), to=ARTICLES_IN, note="as it was")

    def outcome(self, item: Item, answer: Answer, site: Site) -> Outcome:
        match answer:
            case Page():
                return self._loaded(item, answer, site)
            case Moved():
                return self._moved(item, answer, site)
            case Absent() if answer.trouble in (Trouble.NOT_FOUND, Trouble.REJECTED):
                return Failed(answer.reason, answer.trouble, _MISSING, emptied=True)
            case Absent():
                return Failed(answer.reason, answer.trouble)

    def _loaded(self, item: Item, page: Page, site: Site) -> Outcome:
        if page.namespace != ARTICLES:
            return _no_article(f"{page.title} is no article.", str(page.revision))
        if page.model != "wikitext":
            return _no_article(f"{page.title} is written in {page.model}, not in wikitext.", str(page.revision))
        article = parse(page.text, site, page.title)
        if page.disambiguation or (page.disambiguation is None and tells_apart(page.title, article)):
            return _no_article(f"{page.title} is a disambiguation page.", str(page.revision))
        if self._hidden is not None:
            page = replace(page, hidden=self._hidden(article.categories))
        categories = nodes.visible(page, article)
        links = nodes.links(page.title, article, categories)
        return Done(
            nodes.article_node(page, article, self._settings.passage_size, site.address(page.title)),
            references=links,
            found=self._found(item, links),
            content_hash=str(page.revision),
            to=ARTICLES_IN,
            children=nodes.sections(page, article, self._settings.passage_size),
            mentions=[nodes.category(name) for name in categories],
            aliases=(),
        )

    def _moved(self, item: Item, moved: Moved, site: Site) -> Outcome:
        """The title is another name of an article, which is as near as this one."""
        target = site.title(moved.title)
        if target is None or target.namespace != ARTICLES or target.interwiki:
            return _no_article(f"It leads to {moved.title}, which is no article.", _moved_to(moved.title))
        found = [NewItem(target.text, ARTICLE, item.priority)]
        standing = _moved_to(target.text)
        return Done(alias_of=target.text, found=found, content_hash=standing, to=OTHERWISE, note=standing)

    def _found(self, item: Item, links: Sequence[Reference]) -> list[NewItem]:
        """The articles that it links to, how many of which are followed the bounds say; none where all of a dump is
        taken: what is not named is not in it."""
        if self._settings.dump is not None and not self._settings.seeds:
            return []
        return [NewItem(link.key, ARTICLE, item.priority + 1) for link in links if link.type == LINKS_TO]


class ByClient:
    """Articles from a wiki's API, as many titles at a time as it answers at once. `fetched` has pages that need not be
    asked for."""

    def __init__(self, settings: WikiSettings, agent: str, fetched: FetchedPages | None = None) -> None:
        self._settings = settings
        self._agent = agent
        self._fetched_before = fetched
        self._articles = Articles(settings)
        self._client: Client | None = None
        self._kept: OrderedDict[str, Page] = OrderedDict()
        """Pages that came along with other names of theirs, and will be asked for next."""

    async def load(self, items: Sequence[Item]) -> list[Outcome]:
        outcomes = {item.id: known for item in items if (known := self._articles.as_it_was(item)) is not None}
        due = [item for item in items if item.id not in outcomes]
        if due:
            outcomes |= await self._fetched(due)
        return [outcomes[item.id] for item in items]

    async def standing(self, titles: Sequence[str]) -> dict[str, str]:
        """Return the current stamps of these titles. A title that the wiki cannot report does not affect the others."""
        told: dict[str, Revision] = {}
        failures: list[WikiFailed] = []
        async with client_of(self._settings, self._agent, patient=True) as client:
            for start in range(0, len(titles), TITLES_AT_ONCE):
                try:
                    told |= await client.revisions(titles[start : start + TITLES_AT_ONCE])
                except WikiFailed as error:
                    told |= error.answered
                    failures.append(error)
                    if error.away or len(failures) > 1:
                        break
        standing = {title: _standing(revision) for title, revision in told.items()}
        if failures:
            raise PartlyTold(str(failures[0]), standing) from failures[0]
        return standing

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _fetched(self, items: Sequence[Item]) -> dict[int, Outcome]:
        if self._client is None:
            self._client = client_of(self._settings, self._agent)
        answers: dict[str, Answer] = {item.key: page for item in items if (page := self._kept_for(item)) is not None}
        failed: Outcome = _SILENT
        try:
            site = await self._client.site()
        except WikiFailed as error:
            return dict.fromkeys([item.id for item in items], _failed(error))
        answers |= await self._fetched_ahead([item for item in items if item.key not in answers])
        try:
            answers |= await self._client.fetch([item.key for item in items if item.key not in answers])
        except WikiFailed as error:
            answers |= error.answered
            failed = _failed(error)
        self._keep(answers)
        return await asyncio.to_thread(self._outcomes, items, answers, site, failed)

    def _outcomes(
        self, items: Sequence[Item], answers: Mapping[str, Answer], site: Site, otherwise: Outcome
    ) -> dict[int, Outcome]:
        return {
            item.id: self._articles.outcome(item, answers[item.key], site) if item.key in answers else otherwise
            for item in items
        }

    async def _fetched_ahead(self, items: Sequence[Item]) -> dict[str, Page]:
        """The pages that were fetched when seeds were checked. Whoever has been tried or loaded before wants newer
        ones."""
        first = [item.key for item in items if item.content_hash is None and item.priority == 0]
        if self._fetched_before is None or not first:
            return {}
        return await asyncio.to_thread(self._fetched_before.take, first)

    def _kept_for(self, item: Item) -> Page | None:
        """The page that came along before, unless the wiki has told of a newer one since."""
        page = self._kept.pop(item.key, None)
        return page if page is not None and item.content_hash in (None, str(page.revision)) else None

    def _keep(self, answers: Mapping[str, Answer]) -> None:
        for answer in answers.values():
            if isinstance(answer, Moved) and answer.page is not None and answer.page.title not in answers:
                self._kept[answer.page.title] = answer.page
        while len(self._kept) > _KEPT_PAGES:
            self._kept.popitem(last=False)


class ByDump:
    """Articles out of a dump."""

    def __init__(self, settings: WikiSettings, dump: Dump) -> None:
        # where all of a dump is taken, nobody asks: it would be to read most of it many times
        self._articles = Articles(settings, HiddenCategories(dump).among if settings.seeds else None)
        self._dump = dump

    def load(self, items: Sequence[Item]) -> list[Outcome]:
        outcomes = {item.id: known for item in items if (known := self._articles.as_it_was(item)) is not None}
        due = [item for item in items if item.id not in outcomes]
        if due:
            outcomes |= self._read(due)
        return [outcomes[item.id] for item in items]

    def _read(self, items: Sequence[Item]) -> dict[int, Outcome]:
        """Return the outcomes of these items. A missing dump, or no room for its index, does not count against them;
        if the dump cannot be read at all, it is not read again for each item."""
        try:
            answers = self._dump.load([item.key for item in items])
            site = self._dump.site()
            return {item.id: self._articles.outcome(item, answers[item.key], site) for item in items}
        except (DumpMissing, CacheUnwritable) as error:
            outcome: Outcome = Retry(str(error), Trouble.RESOURCES, _AWAY_SECONDS, blameless=True)
        except DumpUnreadable as error:
            outcome = Failed(str(error), Trouble.MALFORMED)
        return dict.fromkeys([item.id for item in items], outcome)

    def standing(self, titles: Sequence[str]) -> dict[str, str]:
        """Return the current stamps of these titles in the dump, which may have been replaced since they were read. A
        damaged part of it gives none."""
        answers = self._dump.standing(titles)
        damaged = {title: answer.reason for title, answer in answers.items() if _is_damaged(answer)}
        standing = {title: _standing_of(answer) for title, answer in answers.items() if title not in damaged}
        if damaged:
            raise PartlyTold(next(iter(damaged.values())), standing)
        return standing


def _failed(error: WikiFailed) -> Outcome:
    return Retry(str(error), error.trouble, error.retry_after, alone=not error.away, blameless=error.away)


def _no_article(reason: str, standing: str) -> Outcome:
    """Fail a title without an article, until the wiki changes. Its earlier content leaves the graph."""
    return Failed(reason, Trouble.REJECTED, standing, emptied=True)


def _standing(revision: Revision) -> str:
    if revision.missing:
        return _MISSING
    return _moved_to(revision.moved_to) if revision.moved_to else str(revision.id)


def _is_damaged(answer: Answer) -> TypeGuard[Absent]:
    return isinstance(answer, Absent) and answer.trouble is Trouble.MALFORMED


def _standing_of(answer: Answer) -> str:
    if isinstance(answer, Page):
        return str(answer.revision)
    return _moved_to(answer.title) if isinstance(answer, Moved) else _MISSING


def _moved_to(title: str) -> str:
    return f"another name of {title}"
