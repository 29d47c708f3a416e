"""Wikis that show their words in variants of a language: of each choice, one is read."""

from __future__ import annotations

import pytest

from detent.wikitext import parse
from detent.wikitext.site import Site

CHINESE = Site(language="zh")


def text_of(wikitext: str, site: Site = CHINESE) -> str:
    return parse(wikitext, site).sections[0].text


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("a-{b}-c", "abc"),
        ("a-{}-c", "ac"),
        ("-{zh-hans:简体;zh-hant:繁體}-字", "简体字"),
        ("-{zh-hans:简体; zh-hant:繁體;}-字", "简体字"),
        ("-{ zh-cn : 简 体 ;\nzh-tw:繁體}-字", "简 体字"),
        ("-{zh:a;b;zh-hant:c}-", "a;b"),
        ("-{zh-hans:a&nbsp;b;zh-hant:c}-", "a b"),
        ("-{大=>zh-hans:小;中=>zh-hant:多}-", "小"),
        ("-{A|zh-hans:简;zh-hant:繁}-字", "简字"),
        ("-{A;T|zh-hans:简;zh-hant:繁}-字", "简字"),
        ("-{H|zh-hans:简;zh-hant:繁}-字", "字"),
        ("-{T|zh-hans:简;zh-hant:繁}-字", "字"),
        ("-{-|zh-hans:简;zh-hant:繁}-字", "字"),
        ("-{R|zh-hans:简}-字", "zh-hans:简字"),
        ("-{zh-hans;zh-hant|简}-字", "简字"),
        ("-{[[鸟|鳥]]}-", "鳥"),
        ("-{en:a}- -{10:30}- -{a: b}-", "en:a 10:30 a: b"),
        ("-{zh-hans:a-{b}-c;zh-hant:d}-", "abc"),
        ("-{ {{nowrap|鸟}} }-", "鸟"),
        ("a -{b} c} -{d", "a -{b} c} -{d"),
        ("<nowiki>-{a}-</nowiki> <math>x^-{a}-</math>", "-{a}- x^-{a}-"),
        ("{{nowrap|-{zh-hans:简;zh-hant:繁}-}}", "简"),
        ("a{{b|-{{c}}}}", "a"),
        ("a-{{nowrap|b}}-c", "a-b-c"),
    ],
)
def test_of_a_choice_the_first_is_read(wikitext: str, text: str) -> None:
    assert text_of(wikitext) == text


def test_a_link_and_a_heading_have_the_title_that_is_chosen() -> None:
    article = parse("[[-{AA}-|x]] [[-{zh-hans:鸟;zh-hant:鳥}-]]\n== -{zh-hans:简;zh-hant:繁}- ==\n-{H|a}-b", CHINESE)
    assert [link.title.text for link in article.links] == ["AA", "鸟"]
    assert [(section.title, section.text) for section in article.sections] == [("", "x 鸟"), ("简", "b")]


def test_a_choice_does_not_reach_over_a_heading_that_a_template_left_in_it() -> None:
    article = parse("-{a {{b|}\n== c ==\nd}-", CHINESE)
    assert [section.title for section in article.sections] == ["", "c"]


def test_a_value_of_an_infobox_is_chosen() -> None:
    assert parse("{{Infobox|a=-{zh-hans:简;zh-hant:繁}-}}", CHINESE).infobox == {"a": "简"}


@pytest.mark.parametrize("language", ["", "en", "de", "ja"])
def test_where_a_language_has_no_variants_such_marks_are_text(language: str) -> None:
    assert text_of("x-{a|b}-y {{z|-{c}-}}", Site(language=language)) == "x-{a|b}-y"


@pytest.mark.parametrize(
    ("language", "wikitext"), [("sr", "-{sr-ec:a;sr-el:b}-"), ("zh-tw", "-{zh-hans:a;zh-hant:b}-"), ("kk", "-{a}-")]
)
def test_other_languages_have_variants_too(language: str, wikitext: str) -> None:
    assert text_of(wikitext, Site(language=language)) == "a"
