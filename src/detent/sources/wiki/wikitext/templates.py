"""Templates: what each is called, whether it is an infobox, and what a few of them show.

What a template shows is known to its wiki alone. Those that only dress up the words they are given are many, and mean
the same everywhere; the words of the others are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from detent.sources.wiki.site import ARTICLES, TEMPLATES
from detent.sources.wiki.wikitext.marks import EQUALS, GONE, NOTHING, PIPE
from detent.sources.wiki.wikitext.titles import Titles

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
"""What is written like a template and is none."""


class Use(NamedTuple):
    """How a template is used: its name, if it is one; whether it is an infobox; and what it shows, if that is known."""

    name: str
    infobox: bool
    shown: Shown | None


def use_of(written: str, titles: Titles) -> Use:
    """How the template is used that is called so, in any of the ways in which that can be written."""
    plain = " ".join(written.replace("_", " ").split())
    lower = plain.lower()
    shown = _SHOWN.get(lower) or (_first if lower.startswith("lang-") else None)
    if _FUNCTION.match(plain):
        return Use("", False, shown)
    title = titles.of(plain)
    if title is None or title.interwiki or title.namespace not in (ARTICLES, TEMPLATES) or title.told:
        return Use("", False, shown)
    name = title.text if title.namespace == ARTICLES else title.text.partition(":")[2]
    return Use(name, _INFOBOX.match(name) is not None, shown)


def positional(arguments: str) -> list[str]:
    """The arguments that have no name, or a number for one."""
    found = []
    for argument in arguments.split("|"):
        name, equals, value = argument.partition("=")
        if not equals:
            found.append(argument)
        elif name.strip().isdecimal():
            found.append(value.strip())
    return found


def parameters(arguments: str) -> Mapping[str, str]:
    """The arguments that have a name, as wikitext. Those that say nothing are left out."""
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


def _listed(values: Sequence[str]) -> str:
    return ", ".join(filter(None, (value.strip(f" \n{NOTHING}{GONE}") for value in values)))


def _measured(values: Sequence[str]) -> str:
    """`5|km|mi` is 5 km, `5|to|7|km` is 5 to 7 km."""
    first, *rest = map(str.strip, values or [""])
    if len(rest) > 2 and rest[0] in ("-", "\u2013", "to", "and", "or", "by", "x"):
        return f"{first} {rest[0]} {rest[1]} {rest[2]}"
    return f"{first} {rest[0]}" if rest else first


def _dated(values: Sequence[str]) -> str:
    numbers = [value.strip().zfill(2) for value in values if value.strip().isdecimal()]
    return "-".join(numbers[:3])


_SHOWN: Mapping[str, Shown] = {
    **dict.fromkeys(("lang", "transl", "transliteration", "script"), _second),
    **dict.fromkeys(
        ("nowrap", "nobr", "nobold", "noitalic", "small", "smaller", "big", "larger", "em", "strong"), _first
    ),
    **dict.fromkeys(("mono", "code", "var", "mvar", "math", "abbr", "tooltip", "nihongo", "ill", "url"), _first),
    **dict.fromkeys(("interlanguage link", "plainlist", "flatlist", "plain list", "flat list", "center"), _first),
    **dict.fromkeys(("ubl", "hlist", "unbulleted list"), _listed),
    **dict.fromkeys(("convert", "cvt"), _measured),
    **dict.fromkeys(
        ("birth date", "birth date and age", "bda", "start date", "start date and age", "end date"), _dated
    ),
    **dict.fromkeys(("death date", "film date"), _dated),
    **dict.fromkeys(("snd", "spnd", "spaced ndash", "spaced en dash"), lambda _: " \u2013 "),
    **dict.fromkeys(("ndash", "en dash"), lambda _: "\u2013"),
    **dict.fromkeys(("mdash", "em dash"), lambda _: "\u2014"),
    **dict.fromkeys(("circa", "c."), lambda values: f"c. {_first(values)}".strip()),
    "!": lambda _: PIPE,
    "=": lambda _: EQUALS,
}
