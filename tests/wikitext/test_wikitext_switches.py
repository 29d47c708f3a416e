"""Words between two underscores: which of them are switches, and which are text."""

from __future__ import annotations

import pytest

from detent.wikitext import parse
from detent.wikitext.site import Site

SITE = Site()


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("a __NOTOC__b __DISAMBIG__ c__NOINDEX__", "a b c"),
        ("__toc__a __NoEditSection__ __ForceToc__", "a"),
        ("__noindex__ __Index__", "__noindex__ __Index__"),
        ("__NOTOC____EXPECTED_UNCONNECTED_PAGE__a", "a"),
        ("FOO__BAR__BAZ and __FILE__", "FOO__BAR__BAZ and __FILE__"),
        ("http://x.org/?a__B__c", "http://x.org/?a__B__c"),
        ("a\n<code>__FILE__</code>\n{{nowrap|__LINE__}}", "a\n__FILE__\n__LINE__"),
        ("a\n\t__KEIN_INDEX__ __OHNE_TOC__ \n__NOTOC__ __KEIN_INDEX__\nb", "a\n\nb"),
        ("__KEIN_INDEX__\na\n__KEIN_INDEX__", "a"),
        ("a\n__KEIN_INDEX__ __init__\nb", "a\n__KEIN_INDEX__ __init__\nb"),
        ("__A____NOTOC__", ""),
        ("__ __a __A_ __1__ ____", "__ __a __A_ __1__ ____"),
        ("<nowiki>__TOC__</nowiki>", "__TOC__"),
    ],
)
def test_switches_are_no_text(written: str, seen: str) -> None:
    assert parse(written, SITE).sections[0].text == seen


def test_a_heading_is_one_with_a_switch_behind_it() -> None:
    sections = parse("== a __NOTOC__ == __NOEDITSECTION__\nb\n== __FILE__ ==", SITE).sections
    assert [(each.title, each.text) for each in sections] == [("", ""), ("a", "b"), ("__FILE__", "")]


def test_a_value_of_an_infobox_has_no_switches() -> None:
    assert parse("{{Infobox|a=__FILE__|b=__NOTOC__c}}", SITE).infobox == {"a": "__FILE__", "b": "c"}


def test_switches_are_told_in_capitals_wherever_they_stand() -> None:
    page = "__notoc__ A__HIDDENCAT__ <code>__FILE__</code> __init__ __index__ {{a|__DISAMBIG__}}\n__KEIN_INDEX__"
    assert parse(page, SITE).switches == {"NOTOC", "HIDDENCAT", "FILE", "DISAMBIG", "KEIN_INDEX"}
