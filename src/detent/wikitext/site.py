"""How a wiki spells titles: its namespaces and their names, the other wikis it knows, what it does with letters, and
the addresses of its pages."""

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
"""The numbers of namespaces, which are the same in every wiki."""

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
"""The names that every wiki understands, beside those in its own language."""

_ALWAYS_CAPITALISED = {-1, 2, 3, 8, 9}
_ALIASES = {"Image": 6, "Image talk": 7}
LONGEST_TITLE = 255
"""Bytes of a title, without the name of its namespace."""

LONGEST_WRITTEN = 1_000
"""Characters that a title may be written with: each of its bytes may be an entity, and a fragment may follow."""

_SPACES = re.compile("[ _\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e]")
_FORBIDDEN = re.compile(
    r"^:|[<>\[\]{}|\x00-\x1f\x7f\ufffd\ud800-\udfff]|%[0-9A-Fa-f]{2}|&(?:[A-Za-z0-9\x80-\U0010ffff]+|#[0-9]+|#x[0-9A-Fa-f]+);"
    r"|~~~"
)
_COLONS = re.compile(" *:? *:? *")
"""What may stand before a link: a colon says that it is one, and another that its title is an article's."""
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|([A-Za-z0-9]+));")
_WITHOUT_CAPITALS = frozenset(map(chr, range(0x10D0, 0x1100)))
_DOTS = re.compile(r"\.{1,2}|\.{1,2}/.*|.*/\.{1,2}/.*|.*/\.{1,2}", re.DOTALL)


class Title(NamedTuple):
    """A title as the wiki writes it. `text` has the name of its namespace before it. `interwiki` is the prefix of the
    other wiki that it belongs to; `told` says that it was written with a colon before it, so that it is a link to a
    category and does not put the page into it."""

    text: str
    namespace: int = 0
    fragment: str = ""
    interwiki: str = ""
    told: bool = False


@dataclass(frozen=True)
class Site:
    """A wiki as far as its titles go. `names` are all names of its namespaces with their numbers; `own_names` the one
    of each that titles are written with. `interwikis` are the prefixes that lead to other wikis, `case_sensitive` the
    namespaces in which a title may begin with a small letter. `language` is the code of the one it is written in,
    `addresses` the pattern of those of its pages; "" where it does not tell. `subpages` says whether articles have
    some, so that a link may be relative to the page that it stands on."""

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
        """What `action=query&meta=siteinfo` tells, in either of the formats that there are."""
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
        """A title in its one form; None if this is none that a page could have."""
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
        """The address of a page, by its title as the wiki writes it."""
        return address_of(title, self.addresses) if self.addresses else None

    @property
    def host(self) -> str:
        """The host of its pages, with its port; "" where it does not tell."""
        return urlsplit(self.addresses).netloc

    def spelled(self, name: str, namespace: int) -> str:
        """The name of a page with the first letter that it has in this namespace."""
        return name if namespace in self.case_sensitive else capitalised(name)

    def _is_refused(self, namespace: int, name: str) -> bool:
        """Whether no page can have this name. One that has the name of a namespace in it is not talked about."""
        if namespace == TALK and self._split(name)[2] != name:
            return True
        if _FORBIDDEN.search(name) or _DOTS.fullmatch(name):
            return True
        return len(name.encode()) > LONGEST_TITLE

    def namespace(self, name: str) -> int | None:
        """The number of the namespace that has this name, in any of its spellings."""
        return self._numbers.get(_plain(name))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        found = {_plain(name): number for number, name in CANONICAL.items() if name}
        found |= {_plain(name): number for name, number in _ALIASES.items()}
        found |= {_plain(name): number for name, number in self.names.items() if name}
        return found | {_plain(name): number for number, name in self.own_names.items() if name}

    def _split(self, text: str) -> tuple[int, str, str]:
        """The namespace, the other wiki, and the rest of a title. What stands before a colon may be a part of it."""
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
    """The namespaces that keep first letters, by the rule of the wiki and those of its namespaces. Of one that is not
    told, '', it is that of the wiki; but those of users and messages never do."""
    told = {**dict.fromkeys(CANONICAL, ""), **cases}
    rules = {number: case or ("" if number in _ALWAYS_CAPITALISED else general) for number, case in told.items()}
    return frozenset(number for number, rule in rules.items() if rule == "case-sensitive")


def _values(listed: Mapping[str, Any] | Iterable[Any]) -> Iterable[Any]:
    return listed.values() if isinstance(listed, Mapping) else listed


def _decodes(written: str) -> bool:
    """Whether what is written as `%C3%A4` is text, and not something that only looks like it."""
    try:
        unquote(written, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def capitalised(name: str) -> str:
    """A name with a capital letter at its beginning, if it has one by itself there. Which letters have none is decided
    as Wikipedia does: `ß`, and those of Georgian, are not written so."""
    first = name[0]
    if first.isascii():
        return first.upper() + name[1:]
    if first in _WITHOUT_CAPITALS:
        return name
    capital = first.upper() if len(first.upper()) == 1 else first.title()
    return capital + name[1:] if len(capital) == 1 else name


def _character(entity: re.Match[str]) -> str:
    """The character that an entity stands for. One that there is not stays as it is."""
    return entity[0] if entity[1] and f"{entity[1]};" not in html5 else unescape(entity[0])


def _plain(name: str) -> str:
    return _SPACES.sub(" ", name).strip(" ").lower()
