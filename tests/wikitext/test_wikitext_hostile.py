"""Wikitext that nobody would write: it is read all the same, and in a time that grows with its length."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from detent.wikitext import Article, parse, transclusion
from detent.wikitext.marks import cleaned
from detent.wikitext.markup import Reader
from detent.wikitext.site import Site
from detent.wikitext.titles import Titles
from detent.wikitext.verbatim import set_aside

SITE = Site(interwikis=frozenset({"de"}), language="zh")
LONG = 1_000_000
DEEP = 100_000
PIECES = (
    *(
        "[[",
        "]]",
        "[",
        "]",
        "{{",
        "}}",
        "{{{",
        "}}}",
        "{",
        "}",
        "|",
        "||",
        "{{!}}",
        "[[a|",
        "[[File:a|",
        "[[Category:a",
    ),
    *("\n|", "\n!", "!!", "\n{|", "\n|}", "\n|-", "{|", "\n", " ", "\t", "\n*", "\n#:", ";", ":", "----", "&", "&amp;"),
    *(
        "'",
        "''",
        "'''",
        "=",
        "==",
        "\n=",
        "\n==",
        "==\n",
        "__",
        "__TOC__",
        "(",
        ")",
        "~~~~",
        "#",
        "#REDIRECT",
        "http://",
    ),
    *("<!--", "-->", "<nowiki>", "</nowiki>", "<nowiki/>", "<pre>", "</pre>", "<math>", "</math>", "<ref>", "</ref>"),
    *("<ref name=a>", "<ref/>", "<div>", "</div>", "<br>", "<td>", "<b", "<", ">", "/>", "<gallery>", "</gallery>"),
    *("a", "b|c", "1", "File:", "Category:", "de:", "[http://a ", "Infobox", "{{Infobox|a=", "{{nowrap|", "{{lang|a|"),
    *("{{convert|", "{{ubl|", "{{birth date|", "{{circa|", "{{plainlist|", "{{Template:", "{{#if:", "{{PAGENAME}}"),
    *("{{=}}", "{{langx|a|", "{{convert|5|x|", "{{convert|5|ft|6|in|", "{{dda|1|", ",", "(", "; ", "{{a}}", "__FILE__"),
    *("\n{|", "\n|-", "\n|a", "\n* b", "\n|rowspan=2|", "||colspan=2|", "\n|}"),
    *("\0", "\1", "\2", "\3", "\4", "\5", "\6", "\7", "\x08", "\ud800", "\udfff"),
    *("&#0;", "&#xD800;", "&#4;", "%00", "%07"),
    *("-{", "}-", "-{H|", "-{zh-hans:", ";zh-hant:", "=>", "]]]", "[[File:a|[http://a "),
    *("\u0301", "\u0323", "\r", "\r\n", "\u2028", "\x1f", "\u00a0", "\ufeff", "\U0001f30a"),
)

texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)


def check(article: Article) -> None:
    """What must hold of any page."""
    sections = article.sections
    assert (sections[0].level, sections[0].title, sections[0].parent) == (0, "", None)
    for number, section in enumerate(sections[1:], 1):
        assert section.parent is not None
        assert section.parent < number
        assert sections[section.parent].level < section.level <= 6
    assert all(0 <= link.section < len(sections) for link in article.links)
    assert len(set(article.categories)) == len(article.categories)
    assert len(set(article.templates)) == len(article.templates)
    for text in strings(article):
        assert not any(mark in text for mark in "\0\1\2\3\4\5\6\7\x08"), text
        text.encode()


def strings(article: Article) -> list[str]:
    return [
        *(text for section in article.sections for text in (section.title, section.text)),
        *(text for link in article.links for text in (link.title.text, link.title.fragment)),
        *(text for pair in article.infobox.items() for text in pair),
        *article.categories,
        *article.templates,
        *article.switches,
    ]


@settings(max_examples=400)
@given(texts)
def test_any_text_is_read(text: str) -> None:
    check(parse(text, SITE))


TAGS = ("<noinclude>", "</noinclude>", "<includeonly>", "</includeonly>", "<onlyinclude>", "</onlyinclude>", "{{A}}")


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES + TAGS) | st.just("__TOC__"), max_size=40).map("".join))
def test_any_template_is_read(text: str) -> None:
    given_to_pages = transclusion.given(text, SITE)
    assert given_to_pages.switches <= {"TOC", "FILE"}
    assert all(name.isprintable() for name in given_to_pages.templates)


def steps(text: str) -> int:
    """What is done for a text: functions that are called, and characters that are put together once more."""
    called = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        parse(text, SITE)
    finally:
        sys.setprofile(before)
    reader = Reader(Titles(SITE))
    reader.read(set_aside(cleaned(text))[0])
    return called + reader.found.steps


@settings(max_examples=60)
@given(*(st.lists(st.sampled_from(PIECES), min_size=least, max_size=4).map("".join) for least in (1, 0, 0)))
@example("{{nowrap|a", "", "}}")
@example("{{{a|b", "", "}}}")
@example("[[a|b", "", "]]")
@example("{", "a", "}}")
@example("{{", "a", "}} ")
@example("\n== {{", "a", "}} ==")
@example("-{", "a", "}-")
@example("[[a|[", "", "]]]")
@example("{{nowrap|[[a|b=", "", "]]}}")
@example("[[a|b|", "", "]]")
@example("(, {{a}}", "", ", )")
@example("\n|-\n|a", "", "")
@example("<pre><nowiki>", "", "</pre>")
def test_twice_the_text_takes_twice_the_steps(opening: str, middle: str, closing: str) -> None:
    once, twice = (steps(opening * many + middle + closing * many) for many in (300, 600))
    assert twice <= 2.3 * once + 1_000


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "[[",
            "{{",
            "{|",
            "\n{|",
            "<div>",
            "<ref>",
            "<ref",
            "'''",
            "=",
            "\n=",
            "\n==",
            "<!--",
            "<nowiki>",
            "<b",
            "[[a|",
        ),
        *("{{a|", "[http://", "[http://a ", "__A", "__a_", "&", "(", " ", "\n", "|}", "\n|}", "\n|a||", "!!", "[[{{"),
        *("{{[[", "<ref>{{", "\0", "\ud800", "\n== [[a]] ==", "{{nowrap|", "{{{a|", "[[File:a|", "a\u0301\u0323", "*"),
        *("<!-- -->", "\n*:;#", "({{a}}", "<br> ", "-{", "}-", "-{a}-", "-{zh:a;", "-{a=>", "[[a|[", "[[a|[]]]"),
        *("({{a}}", ",{{a}}", " {{a}}", "{{a}},", "&a;{{b}}", ", ;", "( ,", "{{=}}", "\n|-", "\n|-\n|a\n", "\n|-a"),
        *("<span style=display:none>", "<div style=display:none>a</span>", "<span none>a</span>", "<div none><span>"),
        *("__TOC__", "__A__", "\n__A__", "\n __A__ ", "\n__a__", "<pre><nowiki>", "<pre><nowiki></nowiki></pre>"),
    ],
)
def test_a_page_of_one_thing_over_and_over_is_read(piece: str) -> None:
    check(parse(piece * (LONG // len(piece)), SITE))


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("[[a|", "]]"),
        ("{{a|b=", "}}"),
        ("{{nowrap|b", "}}"),
        ("{{lc:b", "}}"),
        ("{{{a|b", "}}}"),
        ("[[File:a|b", "]]"),
        ("{{nowrap|[[a|", "]]}}"),
        ("<ref>", "</ref>"),
        ("<div>", "</div>"),
        ("\n{|\n|", "\n|}"),
        ("{|\n", "|}"),
        ("{{a|\n== b ==\n[[x]]", "}}"),
        ("[[a|b", "}}"),
        ("-{", "}-"),
        ("-{zh-hans:a;zh-hant:", ";}-"),
        ("[[File:a|[http://b ", "]]]"),
        ("{{nowrap|[[a|b=|", "]]}}"),
        ("[[a|b|", "]]"),
        ("(, {{a}}", ", )"),
        ("\n|-\n{|\n|", "\n|}"),
    ],
)
def test_things_within_each_other_are_read_however_deep(opening: str, closing: str) -> None:
    check(parse(opening * DEEP + "x" + closing * DEEP, SITE))


@pytest.mark.parametrize(
    "page",
    [
        "[http://" + "a" * LONG,
        "[http://a " + "[b]" * LONG,
        "#REDIRECT" + " " * LONG + "a",
        "[[a" + " " * LONG + "b|]]",
        "[[a" + "\u0301\u0323" * LONG + "]]",
        "[[" + "a" * LONG + "]]",
        "{{" + "a " * LONG + "}}",
        "\n= " + "a =" * LONG + " b",
        "word " * LONG,
        "{{a" * 1_000 + "}" * LONG,
        "{" * LONG + "}}" * LONG,
        "<div " + "a " * LONG,
        "-{zh:" + ";" * LONG + "}-",
        "-{zh:" + "; " * LONG + "}-",
        "-{zh:" + " " * LONG + ";" + " " * LONG + "a}-",
        "-{" + "a=>" * LONG + "}-",
        "-{zh:;" + "a=>" * LONG + "}-",
        "-{" + "a;" * LONG + "|b}-",
        "{{convert|" + "5|x|" * LONG + "7|km}}",
        "{{convert|5|ft|" + "6|in|" * LONG + "}}",
        "{{cvt|" + "1" * LONG + "e|km}}",
        "{{lc:" * 39 + "a" * LONG + "}}" * 39,
        "{{lc:" * 39 + "{{PAGENAME}}" * (LONG // 10) + "}}" * 39,
        "{{dda|" + "1" * LONG + "}}",
        "<pre>" + "<nowiki>" * LONG + "</pre>",
        "<pre>a" + "</nowiki><nowiki>" * LONG + "</pre>",
        "(" + " ,;" * LONG + "{{a}}",
        "(a" + ", " * LONG + "b",
        "{{a}}" + " ,;" * LONG + ".",
        "&" + "a" * LONG + ";{{b}}.",
        "\n|-" + "-" * LONG + "a",
        "\n|- " + "a " * LONG,
        "\n" + "__A__ " * LONG + "b",
        "{|\n|rowspan=999|" + "a" * LONG + "\n|-\n|b" * (LONG // 10),
        "{|" + "\n|rowspan=999 colspan=999|a" * (LONG // 30) + "\n|-\n|b" * (LONG // 10),
        "{|\n|" + "rowspan=" * LONG + "|a",
        "{|\n|" + "rowspan" + " " * LONG + "=1|a",
        "{|\n|a" + "\n*b" * LONG,
        "__" + "A_" * LONG,
    ],
    ids=lambda page: page[:12].strip(),
)
def test_a_page_of_one_long_line_is_read(page: str) -> None:
    check(parse(page, SITE))


def test_what_stands_deeper_than_anyone_looks_is_left_out_with_its_template() -> None:
    article = parse("a " + "{{nowrap|" * 100 + "b" + "}}" * 100 + " c", SITE)
    assert article.sections[0].text == "a c"


def test_what_stands_as_deep_as_people_write_is_seen() -> None:
    article = parse("a " + "{{nowrap|" * 30 + "[[b]]" + "}}" * 30 + " c", SITE)
    assert article.sections[0].text == "a b c"
