"""Which links are followed: those to articles, but for lists and for pages that only tell meanings apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from detent.sources.wiki.site import ARTICLES, Title
from detent.sources.wiki.wikitext.article import Article, Link

_LISTS = re.compile(
    r"(?:Lists? of|Liste (?:der|des|von|d[eu]|du)|Listes? |Lista (?:de|di|över)|Lijst van|Anexo:|"
    r"Список|Списки)\b",
    re.IGNORECASE,
)
_DISAMBIGUATION = re.compile(
    r"\((?:disambiguation|Begriffsklärung|homonymie|desambiguaci[óo]n|desambigua[çc][ãa]o|disambigua|doorverwijspagina|"
    r"ujednoznacznienie|значения|olika betydelser)\)$",
    re.IGNORECASE,
)
_DISAMBIGUATING = re.compile(
    r"(?:disambig(?:uation)?(?: page)?|dab|hndis|geodis|(?:school|place|human name|number) disambiguation|"
    r"begriffsklärung|homonymie|desambiguaci[óo]n|desambigua[çc][ãa]o|disambigua|неоднозначность|förgrening)",
    re.IGNORECASE,
)
_SEE_ALSO = frozenset(
    {"see also", "siehe auch", "voir aussi", "véase también", "vedi anche", "ver também", "zie ook", "zobacz też"}
    | {"см. также", "se även", "関連項目", "参见"}
)


def followed(article: Article) -> Iterator[Link]:
    """The links to other articles, each target once, where it first stands."""
    seen: set[str] = set()
    for link in article.links:
        if link.title.text not in seen and is_followed(link.title):
            seen.add(link.title.text)
            yield link


def is_followed(title: Title) -> bool:
    if title.namespace != ARTICLES or title.interwiki:
        return False
    text = title.text
    too_short = len(text) < 2 and text.isascii()
    return bool(text) and not too_short and not _LISTS.match(text) and not _DISAMBIGUATION.search(text)


def is_see_also(section: str) -> bool:
    return section.strip().lower() in _SEE_ALSO


def tells_apart(title: str, article: Article) -> bool:
    """Whether a page only tells meanings of a word apart, as far as it says so itself."""
    if "DISAMBIG" in article.switches or _DISAMBIGUATION.search(title):
        return True
    return any(_DISAMBIGUATING.fullmatch(name) for name in article.templates)
