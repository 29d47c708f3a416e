"""Spelling of titles in a wiki: its namespaces and their names, the other wikis it links to, its rules for
letters, and the addresses of its pages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from html.entities import html5
from typing import Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from detent.wikitext.addresses import address_of, pattern

ARTICLES, TALK, TEMPLATES, FILES, CATEGORIES = 0, 1, 10, 6, 14
"""Numbers of namespaces, the same in every wiki."""

CANONICAL = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Project",
    5: "Project talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
}
"""Namespace names that every wiki accepts, besides those in its own language."""

_ALWAYS_CAPITALISED = {-1, 2, 3, 8, 9}
_ALIASES = {"Image": 6, "Image talk": 7}
LONGEST_TITLE = 255
"""Longest title in bytes, without the name of its namespace."""

LONGEST_WRITTEN = 1_000
"""Longest written form of a title in characters: each of its bytes may be an entity, and a fragment may follow."""

_SPACES = re.compile("[ _\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e]")
_FORBIDDEN = re.compile(
    r"^:|[<>\[\]{}|\x00-\x1f\x7f\ufffd\ud800-\udfff]|%[0-9A-Fa-f]{2}|&(?:[A-Za-z0-9\x80-\U0010ffff]+|#[0-9]+|#x[0-9A-Fa-f]+);"
    r"|~~~"
)
_COLONS = re.compile(" *:? *:? *")
"""Colons before a link's title: one makes it a plain link, another makes its title an article's."""
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|([A-Za-z0-9]+));")
_WITHOUT_CAPITALS = frozenset(map(chr, range(0x10D0, 0x1100)))
_DOTS = re.compile(r"\.{1,2}|\.{1,2}/.*|.*/\.{1,2}/.*|.*/\.{1,2}", re.DOTALL)


class Title(NamedTuple):
    """A title as the wiki writes it.

    `text` includes the name of its namespace. `interwiki` is the prefix of the other wiki it belongs to. `told`:
    it was written with a leading colon, so it is a link to a category and does not put the page into it.
    """

    text: str
    namespace: int = 0
    fragment: str = ""
    interwiki: str = ""
    told: bool = False


@dataclass(frozen=True)
class Site:
    """A wiki's rules for titles.

    `names` maps all names of its namespaces to their numbers; `own_names` has the one name of each that titles are
    written with. `interwikis` are the prefixes of other wikis; `case_sensitive` are the namespaces in which a
    title may begin with a small letter. `language` is the code of the wiki's language, `addresses` the pattern of
    its pages' addresses; "" if unknown. `subpages`: articles have subpages, so a link may be relative to its page.
    """

    own_names: Mapping[int, str] = field(default_factory=lambda: dict(CANONICAL))
    names: Mapping[str, int] = field(default_factory=dict)
    interwikis: frozenset[str] = frozenset()
    case_sensitive: frozenset[int] = frozenset()
    redirect_words: tuple[str, ...] = ("#REDIRECT",)
    language: str = ""
    addresses: str = ""
    subpages: bool = False

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Self:
        """Read the answer to `action=query&meta=siteinfo`, in either of its two formats."""
        general = info.get("general", {})
        spaces = [each for each in _values(info.get("namespaces", {})) if "id" in each]
        own = {int(each["id"]): str(each.get("name", each.get("*", ""))) for each in spaces}
        names = {str(each["canonical"]): int(each["id"]) for each in spaces if each.get("canonical")}
        for each in info.get("namespacealiases", ()):
            names[str(each.get("alias", each.get("*", "")))] = int(each["id"])
        cases = {int(each["id"]): str(each.get("case", "")) for each in spaces}
        words = [each for each in info.get("magicwords", ()) if each.get("name") == "redirect"]
        return cls(
            {**CANONICAL, **own},
            names,
            frozenset(str(each["prefix"]).lower() for each in info.get("interwikimap", ())),
            case_sensitive(str(general.get("case", "")), cases),
            tuple(words[0]["aliases"]) if words else ("#REDIRECT",),
            str(general.get("lang", "")),
            pattern(*(str(general.get(name, "")) for name in ("base", "server", "articlepath"))),
            any(int(each["id"]) == ARTICLES and each.get("subpages", False) is not False for each in spaces),
        )

    def title(self, written: str) -> Title | None:
        """Return the canonical form of a title; None if no page can have it."""
        text = unquote(written, errors="strict") if "%" in written and _decodes(written) else written
        text = _ENTITY.sub(_character, text) if "&" in text else text
        text = _SPACES.sub(" ", unicodedata.normalize("NFC", _DIRECTIONS.sub("", text))).strip(" ")
        told = text.startswith(":")
        text, _, fragment = _COLONS.sub("", text, count=1).partition("#")
        namespace, interwiki, name = self._split(text.strip(" "))
        if not name and not interwiki:
            return None
        if interwiki:
            return Title(name, 0, fragment.strip(" "), interwiki, told)
        if self._is_refused(namespace, name):
            return None
        name = self.spelled(name, namespace)
        space = self.own_names.get(namespace, "")
        return Title(f"{space}:{name}" if space else name, namespace, fragment.strip(" "), "", told)

    def address(self, title: str) -> str | None:
        """Return the address of a page, by its title as the wiki writes it."""
        return address_of(title, self.addresses) if self.addresses else None

    @property
    def host(self) -> str:
        """The host of its pages, with its port; "" if unknown."""
        return urlsplit(self.addresses).netloc

    def spelled(self, name: str, namespace: int) -> str:
        """Return the name of a page with its first letter as this namespace requires."""
        return name if namespace in self.case_sensitive else capitalised(name)

    def _is_refused(self, namespace: int, name: str) -> bool:
        """True if no page can have this name. Names that contain the name of a namespace are not checked."""
        if namespace == TALK and self._split(name)[2] != name:
            return True
        if _FORBIDDEN.search(name) or _DOTS.fullmatch(name):
            return True
        return len(name.encode()) > LONGEST_TITLE

    def namespace(self, name: str) -> int | None:
        """Return the number of the namespace with this name, in any of its spellings."""
        return self._numbers.get(_plain(name))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        found = {_plain(name): number for number, name in CANONICAL.items() if name}
        found |= {_plain(name): number for name, number in _ALIASES.items()}
        found |= {_plain(name): number for name, number in self.names.items() if name}
        return found | {_plain(name): number for number, name in self.own_names.items() if name}

    def _split(self, text: str) -> tuple[int, str, str]:
        """Split a title into namespace, other wiki and rest. A colon may also be part of the name itself."""
        prefix, colon, rest = text.partition(":")
        if not colon:
            return ARTICLES, "", text
        number = self.namespace(prefix)
        if number is not None:
            return number, "", rest.strip(" ")
        if _plain(prefix) in self.interwikis:
            return ARTICLES, _plain(prefix), _COLONS.sub("", rest, count=1).strip(" ")
        return ARTICLES, "", text


def case_sensitive(general: str, cases: Mapping[int, str]) -> frozenset[int]:
    """Return the namespaces that keep first letters, by the rules of the wiki and of each namespace.

    A namespace without a rule, '', follows the wiki's; those of users and messages are never case sensitive.
    """
    told = {**dict.fromkeys(CANONICAL, ""), **cases}
    rules = {number: case or ("" if number in _ALWAYS_CAPITALISED else general) for number, case in told.items()}
    return frozenset(number for number, rule in rules.items() if rule == "case-sensitive")


def _values(listed: Mapping[str, Any] | Iterable[Any]) -> Iterable[Any]:
    return listed.values() if isinstance(listed, Mapping) else listed


def _decodes(written: str) -> bool:
    """True if percent-encoded text such as `%C3%A4` decodes to text, and does not just look like it."""
    try:
        unquote(written, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def capitalised(name: str) -> str:
    """Return a name with a capital first letter, if that letter has a single capital.

    Exceptions follow Wikipedia: `ß` and Georgian letters stay as they are.
    """
    first = name[0]
    if first.isascii():
        return first.upper() + name[1:]
    if first in _WITHOUT_CAPITALS:
        return name
    capital = first.upper() if len(first.upper()) == 1 else first.title()
    return capital + name[1:] if len(capital) == 1 else name


def _character(entity: re.Match[str]) -> str:
    """Return the character of an entity. An unknown entity stays as it is."""
    return entity[0] if entity[1] and f"{entity[1]};" not in html5 else unescape(entity[0])


def _plain(name: str) -> str:
    return _SPACES.sub(" ", name).strip(" ").lower()
