"""What is seen of templates, and what those leave that show nothing."""

from __future__ import annotations

import pytest

from detent.wikitext import parse
from detent.wikitext.site import Site

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


@pytest.mark.parametrize(
    ("template", "seen"),
    [
        ("lang|2=Haus|1=de", "Haus"),
        ("lang|de|2=Haus|2=Hof", "Hof"),
        ("lang|2=Haus|de", "Haus"),
        ("lang|1=de|fr|Haus", "Haus"),
        ("lang|2=Haus", "Haus"),
        ("convert|2=km|1=5", "5 km"),
        ("hlist|a|99=z|b|100=c|0=d|\u0663=e", "a, b, z"),
        ("circa|1500|1600", "c. 1500 \u2013 c. 1600"),
        ("circa|1500|lk=no", "c. 1500"),
        ("circa", "c."),
    ],
)
def test_arguments_may_be_named_by_their_numbers_in_any_order(template: str, seen: str) -> None:
    assert text_of(f"{{{{{template}}}}}") == seen


def test_signs_in_words_divide_no_parameters_of_an_infobox() -> None:
    page = """{{Infobox x|known_for={{Plainlist|
* [[Mass\u2013energy equivalence|''E=mc<sup>2</sup>'' x]]
* b}}|b=[[x|y|z]]|c=d{{=}}{{!}}[[e=f]]|g={{{1|h=i}}}}}"""
    assert parse(page, SITE).infobox == {"known_for": "- E=mc2 x\n- b", "b": "y|z", "c": "d=|e=f", "g": "h=i"}


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("'''{{PAGENAME}}''' is an {{lc: OWL}}.", "Great Owl is an owl."),
        ("{{FULLPAGENAME}}: {{uc:a [[b]]}}, {{ucfirst:c d}}, {{lcfirst:E F}}", "Great Owl: A B, C d, e F"),
        ("{{formatnum:12345}} owls, {{formatnum:1|R}} nest", "12345 owls, 1 nest"),
        ("{{#if:a|b}} {{TALKPAGENAME}} {{CURRENTYEAR}} {{DEFAULTSORT:a}}", ""),
        ("H{{sub|2}}O, {{chem2|H2SO4}}, 5{{sup|th}}, Owls{{'}} and James{{'s}}", "H2O, H2SO4, 5th, Owls' and James's"),
        ("{{As of|2020|5}}, it had two. {{As of}}", "As of 2020-05, it had two."),
    ],
)
def test_what_is_only_said_in_other_letters_is_seen(written: str, seen: str) -> None:
    assert parse(written, SITE, "Great Owl").sections[0].text == seen


def test_the_name_of_the_page_is_a_part_of_titles() -> None:
    page = "[[Category:{{PAGENAME}}]][[{{PAGENAME}} (film)|the film]] [[File:{{PAGENAME}}.jpg|thumb|A picture of it]]"
    article = parse(page, SITE, "E=mc²")
    assert article.categories == ["E=mc²"]
    assert [link.title.text for link in article.links] == ["E=mc² (film)"]
    assert article.sections[0].text == "the film"


def test_no_page_becomes_many_times_as_long_by_its_own_name() -> None:
    title, page = "x" * 250, "{{PAGENAME}} [[../a]] " * 20_000
    seen = parse(page, Site(subpages=True), f"{title}/b").sections[0].text
    assert seen.startswith(f"{title}/b {title}/a")
    assert len(seen) < 2 * len(page)


def test_the_name_of_a_parameter_is_one_line() -> None:
    assert parse("{{Infobox x|a<nowiki>1\n2</nowiki>=v}}", SITE).infobox == {"a1 2": "v"}


def test_a_title_may_have_an_equals_sign_wherever_it_stands() -> None:
    page = "{{a|[[b=c]] [[d{{=}}e|f]] [[{{{1|g=h}}}]] [[Category:i{{=}}j]]}}"
    article = parse(page, SITE)
    assert [link.title.text for link in article.links] == ["B=c", "D=e", "G=h"]
    assert article.categories == ["I=j"]


@pytest.mark.parametrize(
    ("template", "seen"),
    [
        ("death date and age|2000|1|2|1950|3|4", "2000-01-02"),
        ("dda|2000|01|02|1950|03|04|df=y", "2000-01-02"),
        ("end date and age|2001|9|11|8|46", "2001-09-11"),
        ("start date|2001|9", "2001-09"),
        ("birth date|1879||", "1879"),
        ("film date|1999|3|31|Los Angeles|1999|6|11", "1999-03-31"),
        ("birth-date and age|14 March 1879", "14 March 1879"),
        ("death-date and age|18 April 1955|14 March 1879", "18 April 1955"),
        ("birth-date|1879", "1879"),
        ("death-date|April 1955", "April 1955"),
    ],
)
def test_a_date_is_seen(template: str, seen: str) -> None:
    assert text_of(f"{{{{{template}}}}}") == seen


@pytest.mark.parametrize(
    "dates",
    [
        *("2000|1950", "2000|1|1950|3", "2000|12|40", "2000|0|0"),
        *("1879|March|14", "1879||14", "c. 1879", "9" * 5_000, "", "{{x}}|1"),
    ],
)
def test_no_wrong_date_is_seen(dates: str) -> None:
    assert text_of(f"{{{{death date and age|{dates}}}}}") == ""


@pytest.mark.parametrize(
    ("template", "seen"),
    [
        ("langx|de|Fluss|flumen", "Fluss"),
        ("native name|de|Rhein|italics=off", "Rhein"),
        ("native phrase|la|Veni", "Veni"),
        ("transl|ru|Moskva", "Moskva"),
        ("transl|ru|ISO|Moskva", "Moskva"),
        ("transliteration|ar|ALA|Dimashq|", "Dimashq"),
        ("transl|ru", ""),
        ("flag|Chile|1817", "Chile"),
        ("flagcountry|PER", "PER"),
        ("flagu|Peru", "Peru"),
        ("ublist|a|{{x}}|b", "a, b"),
        ("vunblist|a|b", "a, b"),
        ("Unbulleted list|a|b|class=c", "a, b"),
        ("bulleted list|a|b", "a, b"),
        ("comma separated entries|a|b", "a, b"),
    ],
)
def test_words_that_a_template_is_given_are_seen(template: str, seen: str) -> None:
    assert text_of(f"{{{{{template}}}}}") == seen


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("5|km|mi", "5 km"),
        ("1,233.5|km|mi|0|abbr=on", "1,233.5 km"),
        ("-40|C", "-40 C"),
        ("5+1/2|in|cm", "5+1/2 in"),
        ("5|km|1", "5 km"),
        ("5|km||1", "5 km"),
        ("5|x|7|x|9|cm", "5 \u00d7 7 \u00d7 9 cm"),
        ("5|&times;|7|cm|in", "5 \u00d7 7 cm"),
        ("10|±|2|km", "10 ± 2 km"),
        ("10|+/-|2|km", "10 ± 2 km"),
        ("5|to(-)|7|km|mi", "5 to 7 km"),
        ("5|and(-)|7|km", "5 and 7 km"),
        ("5|-|7|km", "5\u20137 km"),
        ("5|{{ndash}}|7|km", "5\u20137 km"),
        ("5|,|6|, or|7|km", "5, 6, or 7 km"),
        ("5|ft|6|in|cm", "5 ft 6 in"),
        ("5|ft|6|in", "5 ft 6 in"),
        ("1|yd|2|ft|3|in|m|2", "1 yd 2 ft 3 in"),
        ("11|st|4|lb|kg", "11 st 4 lb"),
        ("6|foot|2|inches|m", "6 foot 2 inches"),
    ],
)
def test_a_measure_is_seen_with_the_units_that_it_is_given_in(given: str, seen: str) -> None:
    assert text_of(f"{{{{convert|{given}}}}}") == seen


@pytest.mark.parametrize(
    "given",
    [
        *("", "5", "5|", "|km", "km", "5 or so|km"),
        *("5|7|km", "5|x|km", "5|x|7", "5|km|to|7|km", "5|km|0|mi", "5|in|6|ft", "5|thru|7|km", "10|e3km|mi"),
        *("1{{frac|1|2}}|in", "5|{{x}}|mi", "5|ft|{{x}}|in", "1|ft|3|in|x|3|ft|5|in|mm", "{{x}}|to|7|km"),
    ],
)
def test_no_part_of_a_measure_is_seen(given: str) -> None:
    assert text_of(f"{{{{convert|{given}}}}}") == ""


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("Ukraine ({{a}}; Україна, ''tr. Ukrayina'')", "Ukraine (Україна, tr. Ukrayina)"),
        ("Kharkiv (Харків, {{a}}, Russian: x)", "Kharkiv (Харків, Russian: x)"),
        ("a (b, {{c}}) (d; {{e}}, {{f}}) ({{g}} h)({{i}})", "a (b) (d) (h)"),
        ("a, {{b}}. c {{d}}! e; {{f}}{{g}}?", "a. c! e?"),
        ("a, {{b}}, c; {{d}}, e {{f}}, g {{h}} i{{j}}k", "a, c; e, g ik"),
        ("a (b {{c}} {{d}}, e) {{f}} ; g", "a (b, e) ; g"),
        ("a{{b}} {{c}}d", "a d"),
        ("a: {{b}}, {{c}}\n* {{d}}, {{e}}\n* {{f}}, g\nh, {{i}}", "a:\n- g\nh"),
        ("a&nbsp;{{b}}. c&amp;{{d}}, e", "a . c&, e"),
        ("1,{{a}}000 ;, ( , ) b ,c", "1,000 ;, ( , ) b ,c"),
    ],
)
def test_no_separators_are_left_around_what_shows_nothing(written: str, seen: str) -> None:
    assert text_of(written) == seen
