"""The selection of links to follow: those to articles, except lists and disambiguation pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from detent.wikitext.article import Article, Link
from detent.wikitext.site import ARTICLES, Title

_LISTS = re.compile(
    r"Lists? of\b"
    r"|Listen? (?:der|des|von|(?-i:[a-zäöüß]+er) )\b"
    r"|Listes? (?:des?\b|du\b|d['\u2019])"
    r"|Lista (?:del?|d[ao]s?|di|dei|degli|delle|över)\b"
    r"|Llist(?:a|es) (?:del?\b|dels\b|d['\u2019])"
    r"|Anexo:"
    r"|Lijst(?:en)? van\b"
    r"|Lister? over\b"
    r"|Luettelo "
    r"|Seznam (?-i:[a-záčďéěíňóřšťúůýž])"
    r"|Спис(?:ок|ки) (?-i:[\u0430-\u045f\u04910-9])"
    r"|.*[^ ]の一覧$"
    r"|.*[^ ] 목록$",
    re.IGNORECASE,
)
"""Titles of lists. The text after the word matters: the Liste Fritz is a party, Список Шиндлера a film."""

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
_RELATED = {
    "ar": ("انظر أيضًا", "انظر أيضا"),
    "az": ("Həmçinin bax",),
    "be": ("Гл. таксама",),
    "bg": ("Вижте също",),
    "bn": ("আরও দেখুন",),
    "ca": ("Vegeu també",),
    "cs": ("Související články", "Viz také"),
    "da": ("Se også",),
    "de": ("Siehe auch",),
    "el": ("Δείτε επίσης",),
    "en": ("See also", "Related pages"),
    "eo": ("Vidu ankaŭ",),
    "es": ("Véase también",),
    "et": ("Vaata ka",),
    "eu": ("Ikus, gainera",),
    "fa": ("جستارهای وابسته",),
    "fi": ("Katso myös",),
    "fr": ("Voir aussi", "Articles connexes"),
    "ga": ("Féach freisin",),
    "gl": ("Véxase tamén",),
    "he": ("ראו גם",),
    "hi": ("इन्हें भी देखें",),
    "hr": ("Vidi još",),
    "hu": ("Lásd még", "Kapcsolódó szócikkek"),
    "hy": ("Տես նաև",),
    "id": ("Lihat pula",),
    "it": ("Voci correlate", "Vedi anche"),
    "ja": ("関連項目",),
    "ko": ("같이 보기",),
    "lt": ("Taip pat skaitykite",),
    "lv": ("Skatīt arī",),
    "ms": ("Lihat juga",),
    "ne": ("यो पनि हेर्नुहोस्",),
    "nl": ("Zie ook",),
    "nn": ("Sjå òg",),
    "no": ("Se også",),
    "pl": ("Zobacz też",),
    "pt": ("Ver também",),
    "ro": ("Vezi și",),
    "ru": ("См. также",),
    "sk": ("Pozri aj",),
    "sl": ("Glej tudi",),
    "sr": ("Види још", "Vidi još"),
    "sv": ("Se även",),
    "ta": ("இவற்றையும் பார்க்கவும்",),
    "th": ("ดูเพิ่ม",),
    "tr": ("Ayr\u0131ca bak\u0131n\u0131z",),
    "uk": ("Див. також",),
    "vi": ("Xem thêm",),
    "yi": ("זעט אויך",),
    "zh": ("参见", "參見", "参看", "參看"),
}
"""Headings of the sections with links to related articles, by language."""

_SEE_ALSO = frozenset(heading.lower() for headings in _RELATED.values() for heading in headings)


def followed(article: Article, title: str) -> Iterator[Link]:
    """The links of the article of this title to others, each target once, where it first stands."""
    seen = {title}
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
    """Tell whether a page marks itself as a disambiguation page."""
    if "DISAMBIG" in article.switches or _DISAMBIGUATION.search(title):
        return True
    return any(_DISAMBIGUATING.fullmatch(name) for name in article.templates)
