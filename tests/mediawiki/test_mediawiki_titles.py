"""Titles are spelled here as a real MediaWiki spells them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import islice
from unicodedata import normalize

import pytest
from tests.mediawiki.mediawiki import MediaWiki
from tests.mediawiki.packing import pack
from tests.mediawiki.pages import all_pages

from detent.sources.wiki.dump import Dump
from detent.wikitext import parse
from detent.wikitext.site import Site

SPELLINGS = (
    *(
        "owl",
        "Owl_",
        "_Owl",
        " Owl  nest ",
        "Owl__nest",
        "öl",
        "ёлка",
        "öL",
        "\N{NO-BREAK SPACE}Owl\N{IDEOGRAPHIC SPACE}",
    ),
    *("Owl\N{LEFT-TO-RIGHT MARK}s", "A\u0308pfel", "\N{ANGSTROM SIGN}ngström", "\N{KELVIN SIGN}elvin"),
    *("AT&amp;T", "R&#38;D", "&eacute;tat", "&#xe9;tat", "&copy x", "A &notit", "&notit;", "&nosuch;", "A&ü;", "&#;"),
    *("100%", "%", "50% of", "%x", "A%2", "a+b", "A\\b", "=a=", "'a'", '"a"', "?", "!", "~", "~~a", "A~~~b", "`a"),
    *(":Owl", ": Owl", ":category:birds", "Category::x", "Category:", "category : birds", "CATEGORY:_birds", "Owl:"),
    *("image:owl", "File talk:x", "Alm:about", "project:about", "Almanac talk:x", "picture book:a", "Media:a"),
    *("Talk:a", "talk:category:x", "Talk:wikipedia:x", "Talk:No:x", "help:a#b", "Owl#A", "Owl # A b", "A:b:c"),
    *("wikipedia:owl", "WIKIPEDIA: owl", "wikipedia::owl", ":wikipedia:owl#a", "Http://a", "&lt;", "#", "#a", ":"),
    *(".", "..", "...", "./a", "a/./b", "a/..", "a/.b", "/a", "a/", "//", "A[b", "A]b", "A{b", "A}b", "A<b", "A>b"),
    *("x" * 255, "x" * 256, "é" * 127 + "x", "é" * 128, "Category:" + "x" * 255, "Category:" + "x" * 256),
    *("אב", "𐐨", "😀", "ⅷ", "ⓐ", "я", "ไทย", "Ǆ", "ǆ", "ÿ", "µ", "İ", "A\N{DELETE}", "A\N{REPLACEMENT CHARACTER}"),
    *(f"{letter}a" for letter in ("\N{LATIN SMALL LETTER LONG S}", "\N{LATIN SMALL LETTER DOTLESS I}")),
)

_AT_ONCE = 50
_TAG = re.compile("<[^>]*>")
_OTHERWISE = "::"
"""In a link, which is what is read here, the first of two colons is no part of the title. Asked for so, it is none."""

WITHOUT_CAPITALS = ("ßa", "ŉa", "ﬁa", "ა")
"""Letters whose capital is not one letter, or is hardly ever written. Wikipedia leaves them as they are, as is done
here; a MediaWiki with the settings that it comes with does not."""

_PIECES = (
    *("Owl", "owl", " ", "_", "  ", ":", "#", "&", ";", "&amp;", "%", "%zz", "/", ".", "..", "~", "-", "'", '"', "?"),
    *("é", "e\u0301", "日", "\N{NO-BREAK SPACE}", "\N{RIGHT-TO-LEFT MARK}", "Category", "talk:", "Help :", "Alm:"),
    *("[", "<", "&#65;", "&nbsp;", "&copy", "1", "a", "Z", "ж", "🦉", "\\", "*", "(", ")", "!", ",", "@", "$", "^"),
    *("wikipedia", "+", "="),
)


@pytest.fixture(scope="module")
def sites(wiki: MediaWiki, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Site]:
    """How titles are spelled, as the wiki itself tells it and as its dump does."""
    folder = tmp_path_factory.mktemp("dump")
    told = wiki.ask(meta="siteinfo", siprop="general|namespaces|namespacealiases|interwikimap|magicwords")
    return {"api": Site.of(told["query"]), "dump": Dump(pack(wiki.dump(), folder, "xml"), folder).site()}


@pytest.mark.parametrize("way", ["api", "dump"])
def test_the_title_of_every_page_is_itself(sites: dict[str, Site], way: str) -> None:
    titles = [page.title for page in all_pages()]
    spelled = {title: found.text if (found := sites[way].title(title)) else None for title in titles}
    assert {title: text for title, text in spelled.items() if title != text} == {}


def test_its_language_is_the_same_both_ways(sites: dict[str, Site]) -> None:
    assert {way: site.language for way, site in sites.items()} == {"api": "en", "dump": "en"}


@pytest.mark.parametrize("way", ["api", "dump"])
def test_the_address_of_every_page_is_the_wikis_own(wiki: MediaWiki, sites: dict[str, Site], way: str) -> None:
    titles = [page.title for page in all_pages()]
    there: dict[str, str] = {}
    for start in range(0, len(titles), _AT_ONCE):
        told = wiki.ask(titles="|".join(titles[start : start + _AT_ONCE]), prop="info", inprop="url")
        there |= {page["title"]: page["canonicalurl"] for page in told["query"]["pages"]}
    assert {title: sites[way].address(title) for title in there} == there


def test_every_page_is_imported_under_its_title(wiki: MediaWiki, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("dump")
    titles = {listed.title for listed in Dump(pack(wiki.dump(), folder, "multistream"), folder).titles()}
    assert titles == {page.title for page in all_pages()} | {"Main Page"}


def test_odd_spellings_are_what_the_wiki_makes_of_them(wiki: MediaWiki, sites: dict[str, Site]) -> None:
    assert _differences(wiki, sites["api"], SPELLINGS) == {}


def test_letters_without_capitals_stay_as_they_are(wiki: MediaWiki, sites: dict[str, Site]) -> None:
    differences = _differences(wiki, sites["api"], WITHOUT_CAPITALS)
    assert {written: ours for written, (ours, _) in differences.items()} == {each: each for each in WITHOUT_CAPITALS}


def test_whatever_is_put_together_is_what_the_wiki_makes_of_it(wiki: MediaWiki, sites: dict[str, Site]) -> None:
    assert _differences(wiki, sites["api"], list(islice(_put_together(random.Random(8)), 1000))) == {}


@pytest.mark.parametrize(
    "written",
    [
        *("[[/a]]", "[[/a/]]", "[[ /a b// ]]s", "[[/a#b]]", "[[/a/#b|c]]", "[[a/b]]", "[[/a/../b]]", "[[//a]]"),
        *("[[../]]", "[[../#b]]", "[[../a]]s", "[[../a/]]", "[[../ a /|c]]", "[[../../]]", "[[../../a/]]"),
        *("[[../../../]]", "[[..]]", "[[../..]]", "[[a/../b]]", "[[./a]]"),
    ],
)
def test_a_link_that_is_relative_leads_where_the_wiki_says(wiki: MediaWiki, written: str) -> None:
    page = "User:Owl/Food/Mice"
    told = wiki.ask(action="parse", title=page, text=written, prop="links|text", disablelimitreport="1")["parse"]
    article = parse(written, Site(subpages=True), page)
    assert [link.title.text for link in article.links] == [link["title"] for link in told["links"]]
    if article.links:
        assert article.sections[0].text == unescape(_TAG.sub("", told["text"])).strip()


def _put_together(chance: random.Random) -> Iterator[str]:
    """Titles, and what is none, out of odd pieces."""
    while True:
        written = "".join(chance.choices(_PIECES, k=chance.randrange(1, 7)))
        if _OTHERWISE not in written:
            yield written


def _differences(wiki: MediaWiki, site: Site, spellings: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
    """What is spelled here otherwise than the wiki does: as it is here, and there. None stands for no title."""
    there: dict[str, str | None] = {}
    for start in range(0, len(spellings), _AT_ONCE):
        there |= _asked(wiki, spellings[start : start + _AT_ONCE])
    here = {written: _spelled(site, written) for written in there}
    return {written: (here[written], there[written]) for written in there if here[written] != there[written]}


def _spelled(site: Site, written: str) -> str | None:
    title = site.title(written)
    if title is None:
        return None
    return f"{title.interwiki}:{title.text}" if title.interwiki else title.text


def _asked(wiki: MediaWiki, spellings: Sequence[str]) -> dict[str, str | None]:
    """What the wiki makes of some spellings. One that has only a section, and no title, is taken for none."""
    sent = {written: normalize("NFC", written) for written in spellings}
    query = wiki.ask(titles="|".join(sent.values()))["query"]
    to = {row["from"]: row["to"] for row in query.get("normalized", ())}
    to |= {row["title"]: "" for row in query.get("pages", ()) if row.get("invalid")}
    return {written: to.get(text, text) or None for written, text in sent.items()}
