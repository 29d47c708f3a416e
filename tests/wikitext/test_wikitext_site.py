"""How a wiki spells titles: what is one, what is none, and which spellings are the same."""

from __future__ import annotations

import pytest

from detent.wikitext.site import CANONICAL, Site
from detent.wikitext.titles import Titles

SITE = Site(interwikis=frozenset({"wikipedia"}))


def _spelled(written: str) -> str | None:
    title = SITE.title(written)
    return title.text if title else None


@pytest.mark.parametrize(
    "title", ["B &copy C", "A &notable owl", "Q&A", "AT&T", "100%", "50% more", "&amp", "Owl:", "A:B:C", "...", "A;B"]
)
def test_a_title_is_itself(title: str) -> None:
    assert _spelled(title) == title


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("&eacute;tat", "État"),
        ("&#xe9;tat", "État"),
        ("R&#38;D", "R&D"),
        ("&copy; of it", "© of it"),
        ("A&#776;pfel", "Äpfel"),
        ("%C3%84pfel", "Äpfel"),
    ],
)
def test_what_an_entity_stands_for_is_a_part_of_the_title(written: str, expected: str) -> None:
    assert _spelled(written) == expected


@pytest.mark.parametrize("written", ["&nosuch;", "&notit;", "A&ü;", "&#9999999;", "&#x110000;"])
def test_what_looks_like_an_entity_and_is_none_is_no_title(written: str) -> None:
    assert _spelled(written) is None


@pytest.mark.parametrize("written", [":::Owl", "Category::x", "Talk:Category:x", "Talk:wikipedia:x", "Talk:Talk:x"])
def test_prefixes_that_do_not_go_together_are_no_title(written: str) -> None:
    assert _spelled(written) is None


def test_a_colon_says_that_it_is_a_link_and_another_that_it_is_an_article() -> None:
    assert _spelled(":owl") == _spelled("::owl") == _spelled(" : : owl") == "Owl"
    assert _spelled("Talk:No:x") == "Talk:No:x"
    assert SITE.title("wikipedia::owl") == SITE.title("Wikipedia: owl")


@pytest.mark.parametrize(
    ("written", "expected"),
    [("öl", "Öl"), ("ёж", "Ёж"), ("ǆ", "Ǆ"), ("ᾳ", "ᾼ"), ("ßa", "ßa"), ("ﬁa", "ﬁa"), ("საქართველო", "საქართველო")],
)
def test_the_first_letter_is_a_capital_if_wikipedia_has_one_for_it(written: str, expected: str) -> None:
    assert _spelled(written) == expected


@pytest.mark.parametrize("letters", ["öl", "ǆ", "ᾳ", "ßa", "საქართველო"])
def test_a_link_is_spelled_as_the_site_does(letters: str) -> None:
    assert Titles(SITE).of(letters) == SITE.title(letters)
    assert Titles(SITE).of(f"Category:{letters}") == SITE.title(f"Category:{letters}")


SPACES = {0: "case-sensitive", 2: "first-letter", 10: "case-sensitive"}


def test_each_namespace_has_its_own_rule_for_first_letters() -> None:
    named = [{"id": number, "name": CANONICAL[number], "case": case} for number, case in SPACES.items()]
    site = Site.of({"general": {"case": "case-sensitive"}, "namespaces": named})
    for written, expected in (("owl", "owl"), ("user:ann", "User:Ann"), ("template:box", "Template:box")):
        for title in (site.title(written), Titles(site).of(written)):
            assert title is not None
            assert title.text == expected


def test_where_a_wiki_tells_of_no_namespace_users_and_messages_have_capitals() -> None:
    site = Site.of({"general": {"case": "case-sensitive"}})
    found = [site.title(written) for written in ("owl", "help:a", "user talk:ann", "mediawiki:b")]
    assert [title and title.text for title in found] == ["owl", "Help:a", "User talk:Ann", "MediaWiki:B"]


@pytest.mark.parametrize(("told", "subpages"), [({"subpages": True}, True), ({"subpages": ""}, True), ({}, False)])
def test_whether_articles_have_subpages_is_what_the_wiki_says_of_them(told: dict[str, object], subpages: bool) -> None:
    others = {"1": {"id": 1, "subpages": True}, "2": {"id": 2}}
    assert Site.of({"namespaces": {"0": {"id": 0, **told}, **others}}).subpages is subpages
    assert Site.of({}).subpages is False
