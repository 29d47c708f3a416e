"""From titles to answers: respelled, redirected, in a redirect loop, or missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from detent.lifecycle import Trouble
from detent.sources.wiki.dump.page import Dumped
from detent.sources.wiki.pages import Absent, Answer, Moved, Page
from detent.wikitext.site import Site

MOST_REDIRECTS = 50
"""Number of consecutive redirects that are followed. A wiki fixes chains before they have three."""

Fetch = Callable[[Collection[str]], dict[str, Dumped | Absent]]
"""Returns those of these titles that are in the dump."""


@dataclass
class _Way:
    """The way from a requested title to the page that it leads to, as far as it is known."""

    asked: str
    next: str
    passed: list[str] = field(default_factory=list)
    fragment: str = ""
    answer: Answer | None = None

    def go(self, found: Dumped | Absent | None) -> None:
        """Continue the way with the page of the next title."""
        if found is None:
            self.answer = Absent(self._missing())
        elif isinstance(found, Absent):
            before = f"{self.passed[-1]!r} redirects to {self.next!r}. " if self.passed else ""
            self.answer = Absent(before + found.reason, found.trouble)
        elif found.title in self.passed:
            loop = " → ".join([*self.passed, found.title])
            self.answer = Absent(f"{self.asked!r} is in a redirect loop: {loop}.", Trouble.REJECTED)
        else:
            self._pass(found)

    def _pass(self, page: Dumped) -> None:
        self.passed.append(page.title)
        if page.redirect is None:
            self.answer = self._arrived(page)
        elif len(self.passed) > MOST_REDIRECTS:
            reason = f"{self.asked!r} leads through more than {MOST_REDIRECTS} redirects."
            self.answer = Absent(reason, Trouble.REJECTED)
        else:
            self.next, self.fragment = page.redirect, page.fragment

    def _missing(self) -> str:
        if self.passed:
            return f"{self.passed[-1]!r} redirects to {self.next!r}, which is not in the dump."
        return f"There is no page {self.asked!r} in the dump."

    def _arrived(self, page: Dumped) -> Answer:
        if page.lack is not None:
            return page.lack
        if page.model != "wikitext":
            return Absent(f"{page.title!r} is no article: its content model is {page.model!r}.", Trouble.REJECTED)
        found = Page(page.title, page.id, page.revision, page.text, page.length, page.edited, page.namespace)
        return found if page.title == self.asked else Moved(page.title, self.fragment, found)


def answers(titles: Iterable[str], site: Site, fetch: Fetch, follow: Fetch | None = None) -> dict[str, Answer]:
    """Return an answer for each title.

    All ways advance together, so that neighbouring pages are read together. `follow` may read the targets of
    redirects in another way.
    """
    ways = [_Way(title, title, fragment=_fragment(title, site)) for title in dict.fromkeys(titles)]
    going, fetches = ways, fetch
    while going:
        found = _spelled({way.next for way in going}, site, fetches)
        for way in going:
            way.go(found.get(way.next))
        going, fetches = [way for way in going if way.answer is None], follow or fetch
    return {way.asked: way.answer for way in ways if way.answer is not None}


def _fragment(title: str, site: Site) -> str:
    spelled = site.title(title) if "#" in title else None
    return spelled.fragment if spelled else ""


def _spelled(titles: Collection[str], site: Site, fetch: Fetch) -> dict[str, Dumped | Absent]:
    """Return the pages of titles, as they are written or as the wiki would spell them."""
    found = fetch(titles)
    otherwise: dict[str, str] = {}
    for title in titles:
        if title in found:
            continue
        spelled = site.title(title)
        if spelled is None:
            found[title] = Absent(f"{title!r} is no title that a page could have.", Trouble.REJECTED)
        elif spelled.interwiki:
            found[title] = Absent(f"{title!r} is a page of another wiki.", Trouble.REJECTED)
        elif spelled.text != title:
            otherwise[title] = spelled.text
    more = fetch(set(otherwise.values())) if otherwise else {}
    return found | {title: more[spelled] for title, spelled in otherwise.items() if spelled in more}
