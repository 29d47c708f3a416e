"""The titles of a page's links. Most are ordinary, and take a short cut to their canonical form."""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import is_normalized

from detent.wikitext.site import ARTICLES, LONGEST_WRITTEN, Site, Title

_LONGEST_ORDINARY = 60
"""Characters. Even at four bytes each, that is not too long for a title."""

_MOST_ADDED = 200_000
"""Number of characters that a page may gain by short forms of its own title."""

_UNUSUAL = re.compile(
    "[\0-\x1f#%&/:<>[\\]_{|}~\x7f-\xa0\u1680\u180e\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u3000\ufffd\ud800-\udfff]"
)
_CONTROL = re.compile("[\0-\x1f]")
_ELSEWHERE = re.compile(r"\s*(?://|[A-Za-z]{1,10}://)")
_UP = re.compile(r"(?:\.\./)*")
_MAY_BE_RELATIVE = re.compile(r"\s*(?:/|\.\./)")


class Way(NamedTuple):
    """The full title that a relative link leads to, and the link's visible text."""

    title: str
    words: str


class Titles:
    """Titles in their canonical form, each resolved once, and the titles that links on this page lead to."""

    def __init__(self, site: Site, page: str = "") -> None:
        self._site = site
        self.page = page
        self._room = _MOST_ADDED
        self._known: dict[str, Title | None] = {}

    def of(self, written: str) -> Title | None:
        """Return the title with this spelling; None if it is no title, or an address."""
        try:
            return self._known[written]
        except KeyError:
            title = self._known[written] = self._found(written)
            return title

    def way(self, written: str) -> Way | None:
        """Resolve a link that is relative to the page; None for any other link."""
        if not self._site.subpages or not _MAY_BE_RELATIVE.match(written) or _ELSEWHERE.match(written):
            return None
        found = _relative(written, self.page)
        return found._replace(words=self._within_room(found.words)) if found else None

    def own(self) -> str:
        """The title of the page, for templates that show it."""
        return self._within_room(self.page)

    def _within_room(self, words: str) -> str:
        """Return words that the page does not spell out itself, or '' once they would make it much longer."""
        self._room -= len(words)
        return words if self._room > 0 else ""

    def _found(self, written: str) -> Title | None:
        if _is_ordinary(written):
            return Title(self._site.spelled(written, ARTICLES))
        if len(written) > LONGEST_WRITTEN or _ELSEWHERE.match(written):
            return None
        prefix, colon, name = written.partition(":")
        if colon and _is_ordinary(prefix) and _is_ordinary(name):
            return self._prefixed(prefix, name)
        title = self._site.title(written)
        return title if title and not _CONTROL.search(title.text + title.fragment) else None

    def _prefixed(self, prefix: str, name: str) -> Title | None:
        number = self._site.namespace(prefix)
        if number and (space := self._site.own_names.get(number)):
            return Title(f"{space}:{self._site.spelled(name, number)}", number)
        if prefix.lower() in self._site.interwikis:
            return Title(name, interwiki=prefix.lower())
        return self._site.title(f"{prefix}:{name}")


def _relative(written: str, page: str) -> Way | None:
    """Resolve a link relative to this page: `/a` is below it, `../` above it, `../a` beside it. None for any other
    link."""
    name, sign, fragment = written.partition("#")
    name, rest = name.strip(), sign + fragment
    if name.startswith("/"):
        below = name[1:].rstrip("/")
        return Way(f"{page}/{below.strip()}{rest}", (below if name.endswith("/") else name) + rest)
    below = _UP.sub("", name, count=1)
    levels, above = (len(name) - len(below)) // len("../"), page.split("/")
    if not 0 < levels < len(above):
        return None
    title = "/".join([*above[:-levels], *filter(None, [below.rstrip("/").strip()])]) + rest
    return Way(title, below.rstrip("/") + rest if below.endswith("/") else title)


def _is_ordinary(name: str) -> bool:
    """True if the name can be taken as it is, apart from its first letter."""
    return (
        0 < len(name) <= _LONGEST_ORDINARY
        and name[0] not in " ."
        and name[-1] != " "
        and _UNUSUAL.search(name) is None
        and "  " not in name
        and (name.isascii() or is_normalized("NFC", name))
    )
