"""Templates: their names, the infoboxes among them, and the output of a few.

A template's output is known only to its wiki. But many templates only format the words they are given, and mean
the same in every wiki; the words of all others are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from detent.wikitext.marks import EQUALS, GONE, NOTHING, PIPE
from detent.wikitext.measures import dated, measured
from detent.wikitext.site import ARTICLES, TEMPLATES
from detent.wikitext.titles import Titles

Shown = Callable[[Sequence[str]], str]

_INFOBOX = re.compile(
    r"(?:infobo[xk]|taxobox|speciesbox|subspeciesbox|automatic[ _]taxobox|chembox|starbox|drugbox|geobox|infotaula"
    r"|infocaja|infocaixa|infocaseta|infoboîte|ficha\b|info/|faktamall|thông tin\b|карточка|картка|инфокутија|инфокутия"
    r"|κουτί πληροφοριών|جعبه اطلاعات|صندوق معلومات|معلومات)"
    r"|.*(?:[ _]infobox|[ _]taxobox|bilgi kutusu|инфокутия|정보)$",
    re.IGNORECASE,
)
_FUNCTION = re.compile(
    r"#|(?i:anchorencode|default(?:category)?sort(?:key)?|displaytitle|filepath|formatnum|fullurle?|gender|grammar|int|lc"
    r"|lcfirst|localurle?|msg|msgnw|nse?|padleft|padright|pagesincategory|plural|raw|safesubst|subst|uc|ucfirst|urlencode):"
    r"|(?:(?:CURRENT|LOCAL|REVISION|NUMBEROF)[A-Z0-9]+|(?:BASE|FULL|ROOT|SUB|SUBJECT|TALK)?PAGENAMEE?|NAMESPACE[A-Z]*"
    r"|(?:SUBJECT|TALK)SPACEE?|SERVER(?:NAME)?|SITENAME|SCRIPTPATH|CONTENTLANGUAGE|PAGEID|PAGELANGUAGE)(?::|$)"
)
"""Syntax that is written like a template but is not one."""

_NUMBER = re.compile("[1-9][0-9]?")


class Use(NamedTuple):
    """The use of a template: its name, if it is one; True if it is an infobox; and its output, if known."""

    name: str
    infobox: bool
    shown: Shown | None


def use_of(written: str, titles: Titles) -> Use:
    """Return the use of the template with this name, in any spelling."""
    plain = " ".join(written.replace("_", " ").split())
    lower = plain.lower()
    if plain in _OF_THE_PAGE:
        return Use("", False, lambda _: titles.own())
    if _FUNCTION.match(plain):
        words = _said(plain)
        return Use("", False, lambda _: words)
    shown = _SHOWN.get(lower) or (_first if lower.startswith("lang-") else None)
    title = titles.of(plain)
    if title is None or title.interwiki or title.namespace not in (ARTICLES, TEMPLATES) or title.told:
        return Use("", False, shown)
    name = title.text if title.namespace == ARTICLES else title.text.partition(":")[2]
    return Use(name, _is_infobox(name), shown)


def _said(function: str) -> str:
    """Return the visible text of a parser function that only changes the case of letters."""
    name, _, words = function.partition(":")
    said = _LETTERS.get(name.lower())
    return said(words.strip()) if said else ""


@lru_cache(maxsize=4096)
def _is_infobox(name: str) -> bool:
    """True if the template is an infobox. Cached for all pages, because they use the same templates."""
    return _INFOBOX.match(name) is not None


def positional(arguments: str) -> list[str]:
    """Return the arguments without a name or with a number as name, in order. Of equal numbers the last one counts."""
    listed = arguments.split("|")
    if "=" not in arguments:
        return listed
    found: dict[int, str] = {}
    unnamed = count(1)
    for argument in listed:
        name, equals, value = argument.partition("=")
        if not equals:
            found[next(unnamed)] = argument
        elif _NUMBER.fullmatch(name.strip()):
            found[int(name)] = value.strip()
    return [found.get(number, "") for number in range(1, max(found, default=0) + 1)]


def parameters(arguments: str) -> Mapping[str, str]:
    """Return the named arguments as wikitext, without empty ones."""
    found = {}
    for argument in arguments.split("|"):
        name, _, value = argument.partition("=")
        name, value = " ".join(name.split()), value.strip()
        if name and value and not name.isdecimal():
            found[name] = value
    return found


def _first(values: Sequence[str]) -> str:
    return values[0] if values else ""


def _second(values: Sequence[str]) -> str:
    return values[1] if len(values) > 1 else ""


def _last(values: Sequence[str]) -> str:
    """Return the last value, if there is more than one."""
    return next((value for value in reversed(values[1:]) if value.strip()), "")


def _about(values: Sequence[str]) -> str:
    """Format `1500|1600` as c. 1500 to c. 1600."""
    years = [value for value in values[:2] if value.strip()]
    return " \u2013 ".join(f"c. {year}" for year in years) or "c."


def _listed(values: Sequence[str]) -> str:
    return ", ".join(filter(None, (value.strip(f" \n{NOTHING}{GONE}") for value in values)))


def _since(values: Sequence[str]) -> str:
    """Format `2020|5` as As of 2020-05."""
    return f"As of {when}" if (when := dated(values)) else ""


_OF_THE_PAGE = frozenset(("PAGENAME", "FULLPAGENAME"))
_LETTERS: Mapping[str, Callable[[str], str]] = {
    "lc": str.lower,
    "uc": str.upper,
    "lcfirst": lambda words: words[:1].lower() + words[1:],
    "ucfirst": lambda words: words[:1].upper() + words[1:],
    "formatnum": str,
}

_SHOWN: Mapping[str, Shown] = {
    **dict.fromkeys(("lang", "langx", "script", "native name", "native phrase"), _second),
    **dict.fromkeys(("transl", "transliteration"), _last),
    **dict.fromkeys(
        ("nowrap", "nobr", "nobold", "noitalic", "small", "smaller", "big", "larger", "em", "strong"), _first
    ),
    **dict.fromkeys(("mono", "code", "var", "mvar", "math", "abbr", "tooltip", "nihongo", "ill", "url"), _first),
    **dict.fromkeys(("interlanguage link", "plainlist", "flatlist", "plain list", "flat list", "center"), _first),
    **dict.fromkeys(("flag", "flagcountry", "flagu", "sup", "sub", "chem2"), _first),
    **dict.fromkeys(("as of", "asof"), _since),
    **dict.fromkeys(("ubl", "ublist", "unbulleted list", "unbulletedlist", "vunblist", "hlist"), _listed),
    **dict.fromkeys(("horizontal list", "bulleted list", "blist", "ordered list", "olist"), _listed),
    **dict.fromkeys(("comma separated entries", "comma-separated entries", "cslist"), _listed),
    **dict.fromkeys(("convert", "cvt"), measured),
    **dict.fromkeys(("birth date", "birth date and age", "bda", "death date", "death date and age", "dda"), dated),
    **dict.fromkeys(("start date", "start date and age", "end date", "end date and age", "film date"), dated),
    **dict.fromkeys(("birth-date", "birth-date and age", "death-date", "death-date and age"), _first),
    **dict.fromkeys(("snd", "spnd", "spaced ndash", "spaced en dash"), lambda _: " \u2013 "),
    **dict.fromkeys(("ndash", "en dash"), lambda _: "\u2013"),
    **dict.fromkeys(("mdash", "em dash"), lambda _: "\u2014"),
    **dict.fromkeys(("circa", "c."), _about),
    "'": lambda _: "'",
    "'s": lambda _: "'s",
    "!": lambda _: PIPE,
    "=": lambda _: EQUALS,
}
