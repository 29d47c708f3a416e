"""What is seen of templates."""

from __future__ import annotations

import pytest

from detent.sources.wiki.site import Site
from detent.sources.wiki.wikitext import parse

SITE = Site()


def text_of(wikitext: str) -> str:
    return parse(wikitext, SITE).sections[0].text


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("{{math|''E'' {{=}} ''mc''<sup>2</sup>}}", "E = mc2"),
        ("{{nowrap|[[E=mc²]]}} {{nowrap|a [[b|c=d]]}}", "E=mc² a c=d"),
        ("{{hlist|[[C]]|[[D|e=f]]|[[g|h|i]]}}", "C, e=f, h|i"),
        ("{{nowrap|{{nowrap|1=a=b}}}} {{nowrap|{{{c|d=e}}}}}", "a=b d=e"),
        ("[[a{{=}}b]] [[a|b [[c|d|e]]]]", "a=b b d|e"),
        ("{{nowrap|a=b}}", ""),
    ],
)
def test_signs_in_words_divide_no_arguments_of_the_template_around_them(written: str, seen: str) -> None:
    assert text_of(written) == seen


def test_signs_in_words_divide_no_parameters_of_an_infobox() -> None:
    page = """{{Infobox x|known_for={{Plainlist|
* [[Mass\u2013energy equivalence|''E=mc<sup>2</sup>'' x]]
* b}}|b=[[x|y|z]]|c=d{{=}}{{!}}[[e=f]]|g={{{1|h=i}}}}}"""
    assert parse(page, SITE).infobox == {"known_for": "- E=mc2 x\n- b", "b": "y|z", "c": "d=|e=f", "g": "h=i"}


def test_a_title_may_have_an_equals_sign_wherever_it_stands() -> None:
    page = "{{a|[[b=c]] [[d{{=}}e|f]] [[{{{1|g=h}}}]] [[Category:i{{=}}j]]}}"
    article = parse(page, SITE)
    assert [link.title.text for link in article.links] == ["B=c", "D=e", "G=h"]
    assert article.categories == ["I=j"]
