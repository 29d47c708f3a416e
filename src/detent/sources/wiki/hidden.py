"""Hidden categories of a dump. An API tells which ones are; in a dump their own pages do, or the templates that these
are made with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from detent.sources.wiki.dump import Dump
from detent.sources.wiki.pages import Moved, Page
from detent.wikitext import Given, given, parse
from detent.wikitext.site import CATEGORIES, TEMPLATES

_HIDES = "HIDDENCAT"
_NOTHING = Given(frozenset(), ())

T = TypeVar("T")


class HiddenCategories:
    """Those that a wiki does not show to readers. Each page is looked at once."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump
        self._hidden: dict[str, bool] = {}
        self._given: dict[str, Given] = {}

    def among(self, categories: Sequence[str]) -> frozenset[str]:
        """The hidden ones of these categories, all without their namespace."""
        titles = {name: self._title(CATEGORIES, name) for name in categories}
        self._look_up(titles.values(), self._hidden, self._is_hidden, False)
        return frozenset(name for name, title in titles.items() if self._hidden[title])

    def _is_hidden(self, page: Page) -> bool:
        """Tell whether the page of a category marks it as hidden, itself or through its templates, at any depth."""
        article = parse(page.text, self._dump.site())
        if _HIDES in article.switches:
            return True
        names, seen = set(article.templates), set[str]()
        while names:
            titles = [self._title(TEMPLATES, name) for name in names]
            self._look_up(titles, self._given, lambda each: given(each.text, self._dump.site()), _NOTHING)
            found = [self._given[title] for title in titles]
            if any(_HIDES in each.switches for each in found):
                return True
            seen |= names
            names = {name for each in found for name in each.templates} - seen
        return False

    def _look_up(self, titles: Iterable[str], known: dict[str, T], read: Callable[[Page], T], otherwise: T) -> None:
        """Make known what is read of the pages that have these titles."""
        if unknown := [title for title in titles if title not in known]:
            for title, answer in self._dump.find(unknown).items():
                page = answer.page if isinstance(answer, Moved) else answer
                known[title] = read(page) if isinstance(page, Page) else otherwise

    def _title(self, namespace: int, name: str) -> str:
        return f"{self._dump.site().own_names[namespace]}:{name}"
