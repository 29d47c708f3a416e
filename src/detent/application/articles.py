"""Loading articles one by one, for programs that do the work of the `wiki` source themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from detent.errors import DetentError
from detent.knowledge import Done, Failed, Item, NewItem, Reference
from detent.lifecycle import ARTICLE, PASSAGE
from detent.services.keyring import Keyring
from detent.sources.wiki import nodes
from detent.sources.wiki.handling import Articles
from detent.sources.wiki.settings import WikiSettings
from detent.store import Settled, Stage
from detent.store.ledger.steering import Remark
from detent.worker.names import worker_name

if TYPE_CHECKING:
    from detent.application.verbs import Verbs
    from detent.sources.wiki.pages import Answer
    from detent.wikitext.site import Site

LABEL = nodes.ARTICLE
_LEASE_SECONDS = 300.0


@dataclass(frozen=True)
class AddedWiki:
    """The wiki that was added as a source: `api` as it is asked, None for a dump."""

    api: str | None
    contact: str | None
    per_minute: float | None


class LoadedArticles:
    """The articles of one source, and how they are loaded into the graph."""

    def __init__(self, opened: Verbs, source: str) -> None:
        self._opened = opened
        self._store = opened.store
        self._source = source
        self._articles = Articles(WikiSettings())

    async def declare(self) -> None:
        """Make the labels known that articles and their parts have."""
        await self._store.declare(self._source, LABEL, ARTICLE)
        for label in (nodes.SECTION, nodes.PASSAGE, nodes.CATEGORY):
            await self._store.declare(self._source, label, PASSAGE)

    async def added(self) -> AddedWiki | None:
        """The wiki that was added as this source, if one was."""
        found = await self._store.sources.find(self._source)
        if found is None or found.type != "wiki":
            return None
        project = self._opened.project
        secrets = Keyring(project.folder if project else None).read(self._source, {"password": None})
        given = WikiSettings.of({**found.settings, **secrets})
        return AddedWiki(given.asked if given.dump is None else None, given.contact, given.per_minute)

    def outcome(self, title: str, answer: Answer, site: Site, depth: int) -> Done | Failed:
        """The outcome of a title for the wiki's answer. Titles that the article links to are not discovered."""
        item = Item(0, self._source, LABEL, title, ARTICLE.name, "claimed", 0, 1, depth)
        outcome = self._articles.outcome(item, answer, site)
        if not isinstance(outcome, Done):
            return outcome if isinstance(outcome, Failed) else Failed("It could not be loaded.")
        return replace(outcome, found=[new for new in outcome.found if new.priority == depth])

    def in_category(self, outcome: Done, category: str) -> Done:
        """The outcome with one more category, unless the article is in it anyway."""
        known = {mention.key for mention in outcome.mentions}
        if outcome.node is None or category in known:
            return outcome
        named = Reference(nodes.IN_CATEGORY, nodes.CATEGORY, category, properties={"link_type": "category"})
        mentions = [*outcome.mentions, nodes.category(category)]
        return replace(outcome, references=[*(outcome.references or ()), named], mentions=mentions)

    async def take(self, title: str, depth: int) -> Item | None:
        """The article under a lease of its own; None if another one holds it."""
        await self._store.add(self._source, LABEL, [NewItem(title, LABEL, depth)])
        kind = await self._store.kinds.get(self._source, LABEL)
        found = await self._store.steering.find([(kind, title)])
        if not found:
            raise DetentError(f"{title} is deeper than the articles of {self._source} may be.")
        [row] = found
        if row.state in ARTICLE.working:
            return None
        owner = worker_name(role="loader")
        if row.state != ARTICLE.initial:
            await self._store.items.reset([row.id], owner=owner)
        stage, steering = Stage(ARTICLE, ARTICLE.initial), self._store.steering
        taken = await steering.take({row.id: Remark()}, stage, owner=owner, lease_seconds=_LEASE_SECONDS)
        if not taken and (await self._store.show(row.id)).item.held_back:
            raise DetentError(f"{title} is beyond what {self._source} was asked for: as many articles are loaded.")
        return taken[0] if taken else None

    async def refer(self, title: str, titles: Sequence[str]) -> None:
        """Write that an article which nobody holds links to these."""
        kind = await self._store.kinds.get(self._source, LABEL)
        await self._store.steering.refer(kind, title, nodes.LINKS_TO, titles)

    async def state(self, title: str) -> str | None:
        """The state of an article; None if it is not known."""
        kind = await self._store.kinds.get(self._source, LABEL)
        found = await self._store.items.find(kind, [title])
        return str(found[title].state) if title in found else None


def references_to(titles: Sequence[str]) -> list[Reference]:
    """References to articles."""
    return [Reference(nodes.LINKS_TO, LABEL, title) for title in titles]


def lost(status: Settled) -> bool:
    """True if a lease was lost before its outcome could be written."""
    return status is Settled.LOST


def refused(status: Settled) -> bool:
    """True if an outcome could not be stored."""
    return status is Settled.REFUSED
