"""Loading articles and discovering their links, as the documents "Expansion State Machine" and "Expansion Module" do.

What is loaded for an article that a WorkQueueManager has claimed is written when that manager advances it, in one
transaction with its new state: there is no moment at which an article says `loaded` and its sections are missing. An
article that nobody has claimed is claimed for the purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from detent.application import Detent
from detent.application.articles import LABEL, LoadedArticles, lost, references_to, refused
from detent.application.wikis import ENGLISH_WIKIPEDIA, TITLES_AT_ONCE, Moved, is_followed
from detent.errors import DetentError
from detent.interfaces.wikipedia_client import WikipediaAPIClient
from detent.interfaces.work_queue_manager import WorkQueueManager
from detent.knowledge import Done, Failed, NewItem
from detent.lifecycle import ARTICLE, Event
from detent.wikitext.site import Site

_WIKIPEDIA = Site(names={"Wikipedia": 4, "Wikipedia talk": 5, "Portal": 100, "Portal talk": 101})
"""The document's wiki, the English Wikipedia, as far as its namespaces go."""


class ArticleLoader:
    """Loads articles of one source into the graph, with sections, links and categories."""

    def __init__(self, db: Detent, client: WikipediaAPIClient | None = None, source: str = "wiki") -> None:
        self.conn = db
        self._client = client
        if client is not None:
            client.keep_pace(db)
        self._source = source
        self._articles = LoadedArticles(db.asynchronous, source)
        db.wait(self._articles.declare())

    def load_article(
        self,
        title: str,
        category: str | None = None,
        expansion_state: str = "loaded",
        expansion_depth: int = 0,
    ) -> tuple[bool, str | None]:
        """Load an article; returns whether that succeeded, and why not. `category` is put before its own categories."""
        try:
            ARTICLE.path("claimed", Event.DONE, expansion_state, item=f"{self._source}/{LABEL}/{title}")
            outcome = self._outcome(title, category, expansion_depth)
            if isinstance(outcome, Failed):
                return False, self._given_up(title, outcome)
            led_here = self._tell_other_names(title, expansion_depth)
            return self._write(title, replace(outcome, to=expansion_state), expansion_depth, led_here=led_here)
        except DetentError as error:
            return False, str(error)

    @property
    def client(self) -> WikipediaAPIClient:
        """The client that articles are fetched with: the one that was given, or else one for the wiki that was added
        as this source, or for the English Wikipedia."""
        self._client = self._client or self._own_client()
        return self._client

    def _own_client(self) -> WikipediaAPIClient:
        added = self.conn.wait(self._articles.added())
        if added is None:
            return WikipediaAPIClient(ENGLISH_WIKIPEDIA, db=self.conn)
        if added.api is None:
            raise DetentError(f"{self._source} is read from a dump. To fetch its articles, give a client.")
        return WikipediaAPIClient(added.api, added.contact, db=self.conn, per_minute=added.per_minute)

    def _outcome(self, title: str, category: str | None, depth: int) -> Done | Failed:
        answer = self.client.answer(title)
        if isinstance(answer, Moved) and answer.page is not None and answer.page.title == title:
            answer = answer.page
        outcome = self._articles.outcome(title, answer, self.client.site(), depth)
        if isinstance(outcome, Done) and category and category != "General":
            return self._articles.in_category(outcome, category)
        return outcome

    def _given_up(self, title: str, failed: Failed) -> str:
        manager = WorkQueueManager.holding(self.conn, self._source, title)
        if manager is not None and not failed.trouble.transient:
            manager.give_up(title, failed)
        return failed.reason

    def _write(self, title: str, done: Done, depth: int, *, led_here: bool) -> tuple[bool, str | None]:
        manager = WorkQueueManager.holding(self.conn, self._source, title)
        if manager is not None:
            manager.carry(title, done)
            return True, None
        item = self.conn.wait(self._articles.take(title, depth))
        if item is None and led_here:  # what was claimed is another name; whoever has the article loads it
            return True, None
        if item is None:
            return False, f"{title} is being worked on by somebody else."
        [receipt] = self.conn.settle([(item, done)])
        if lost(receipt.status):
            return False, f"{title} was taken by somebody else meanwhile. Nothing was written."
        return not refused(receipt.status), receipt.reason

    def _tell_other_names(self, title: str, depth: int) -> bool:
        """Of a claimed title that leads to this article, it is written that it is another name, and nothing else.
        Returns whether there is one."""
        told = False
        for name in self._names_of(title):
            manager = WorkQueueManager.holding(self.conn, self._source, name)
            outcome = self._outcome(name, None, depth) if manager is not None else None
            if manager is not None and isinstance(outcome, Done):
                manager.carry(name, outcome)
                told = True
        return told

    def _names_of(self, title: str) -> list[str]:
        """The titles that lead to this article, as far as the client was asked for them. Where another client was, and
        the article is not claimed itself, those are asked for that are claimed: each is to be loaded anyway."""
        names = self.client.names_of(title)
        if names or WorkQueueManager.holding(self.conn, self._source, title) is not None:
            return names
        claimed = WorkQueueManager.to_be_loaded(self.conn, self._source)
        for start in range(0, len(claimed), TITLES_AT_ONCE):
            with suppress(DetentError):  # that is told of what is claimed when it is loaded itself
                self.client.answers(claimed[start : start + TITLES_AT_ONCE])
            if names := self.client.names_of(title):
                break
        return names


class LinkDiscovery:
    """Finds new articles in the links of others. `site` tells the namespaces of another wiki than the document's:
    `WikipediaAPIClient(…).site()`."""

    def __init__(self, db: Detent, source: str = "wiki", site: Site | None = None) -> None:
        self._db = db
        self._source = source
        self._site = site or _WIKIPEDIA
        self._articles = LoadedArticles(db.asynchronous, source)
        db.declare(source, LABEL, ARTICLE)

    def discover_links(self, source_title: str, links: Iterable[str], current_depth: int, max_depth: int = 2) -> int:
        """Add the articles that are linked to and not known yet, one deeper; returns how many those are.

        Links to other namespaces, to files, lists and disambiguation pages are left out. At `max_depth` nothing is
        added. The source refers to all of them: one that is claimed from when it is advanced on, another at once.
        """
        titles = list(dict.fromkeys(self._followed(links)))
        manager = WorkQueueManager.holding(self._db, self._source, source_title)
        if manager is not None:
            manager.refer(source_title, references_to(titles))
        else:
            self._db.wait(self._articles.refer(source_title, titles))
        if current_depth >= max_depth:
            return 0
        return self._db.add(self._source, LABEL, [NewItem(title, LABEL, current_depth + 1) for title in titles])

    def article_exists(self, title: str) -> tuple[bool, str | None]:
        """Tell whether an article is known, and in what state."""
        state = self._db.wait(self._articles.state(title))
        return state is not None, state

    def get_discovered_count(self) -> int:
        """Number of articles discovered and not loaded yet."""
        counts = self._db.count_by_state()
        return sum(
            line.count
            for line in counts
            if (line.source, line.label, line.state) == (self._source, LABEL, ARTICLE.initial)
        )

    def _followed(self, links: Iterable[str]) -> Sequence[str]:
        titles = [title for link in links if (title := self._site.title(link)) is not None]
        return [title.text for title in titles if is_followed(title)]


def initialize_seeds(db: Detent, seed_titles: Sequence[str], source: str = "wiki") -> int:
    """Add articles to begin with, at depth 0; returns how many were new."""
    db.declare(source, LABEL, ARTICLE)
    return db.add(source, LABEL, [NewItem(title, LABEL) for title in seed_titles])


def process_article(
    db: Detent, title: str, *, client: WikipediaAPIClient | None = None, source: str = "wiki", depth: int = 0
) -> tuple[bool, str | None]:
    """Fetch an article and load it into the graph; returns whether that succeeded, and why not."""
    return ArticleLoader(db, client, source).load_article(title, expansion_depth=depth)
