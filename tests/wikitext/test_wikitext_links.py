"""What is found in wikitext besides its text: links, categories, templates, the infobox, redirects, switches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.wikitext import Link, parse
from detent.wikitext.site import Site, Title
from detent.wikitext.titles import Titles

SITE = Site(interwikis=frozenset({"de", "wikt", "mw"}))
GERMAN = Site(
    own_names={0: "", 6: "Datei", 10: "Vorlage", 14: "Kategorie"},
    redirect_words=("#WEITER", "#WEITERLEITUNG", "#REDIRECT"),
)


def linked(wikitext: str, site: Site = SITE) -> list[str]:
    return [link.title.text for link in parse(wikitext, site).links]


def test_links_are_in_the_order_in_which_they_stand_each_as_often_as_it_does() -> None:
    assert linked("[[b]] [[a]] [[b|c]]") == ["B", "A", "B"]


def test_a_link_tells_its_section_and_its_words_stand_there() -> None:
    page = "[[a]]s\n== [[b|''c'']] ==\n[[d|e &amp; f]]\n=== g ===\n== h ==\n[[i (j)|]]"
    article = parse(page, SITE)
    assert article.links == [Link(Title("A"), 0), Link(Title("B"), 1), Link(Title("D"), 1), Link(Title("I (j)"), 3)]
    sections = [("", "as"), ("c", "e & f"), ("g", ""), ("h", "i")]
    assert [(section.title, section.text) for section in article.sections] == sections


def test_a_link_in_a_heading_that_is_none_of_the_page_is_in_the_section_around_it() -> None:
    page = "[[a]]\n== b ==\n{{c|\n== [[d]] ==\n[[e]]}}\n[[f]]"
    assert [(link.title.text, link.section) for link in parse(page, SITE).links] == [
        ("A", 0),
        ("D", 1),
        ("E", 1),
        ("F", 1),
    ]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("{{a|[[b]]|c={{d|[[e]]}}}}", ["B", "E"]),
        ("a<ref>{{b|[[c]]}} [[d]]</ref>", ["C", "D"]),
        ("{|\n! [[a]] !! [[b|c]]\n|-\n| x || [[d]]\n|}", ["A", "B", "D"]),
        ("[[File:a.jpg|thumb|[[b]] {{c|[[d]]}} [[File:e.jpg|[[f]]]]]] [[g]]", ["B", "D", "F", "G"]),
        ("<div>[[a]]<b>[[b]]</b></div>", ["A", "B"]),
        ("<!-- [[a]] --> <nowiki>[[b]]</nowiki> <math>[[c]]</math> <gallery>\nd.jpg|[[e]]\n</gallery>", []),
        ("[[a|b [[c]] d]]", ["A", "C"]),
        ("[[a|{{b}}]] [[c {{d}}|e]] [[{{nowrap|f}}]] [[{{{1|g}}}]] [[{{{1}}}h]]", ["A", "G"]),
        ("[[a]<!-- b -->] [<!-- c -->[d]] [[e<!-- f -->|g]]", ["A", "D", "E"]),
        ("[[a|b", []),
        ("[[a|b [[c]]", ["C"]),
        ("{{a|[[b|c}} [[d]]", ["D"]),
        ("{{unclosed [[a|b {{c}}]] [[d]]", ["A", "D"]),
        ("[[a<ref>b</ref>|c]]", []),
        ("[[a{{!}}b]]", ["A"]),
        ("[[../c]] [[#d]] [[]] [[|a]] [[a<b]] [[a[b]] [[http://a.org]] [[//a.org]] [[ ]]", []),
        ("[[/b]] [[/c/]] [[d/e]]", ["/b", "/c/", "D/e"]),
        ("[[a#b]] [[c_d]] [[ e  f ]] [[AT&amp;T]] [[g%20h]] [[ß]]", ["A", "C d", "E f", "AT&T", "G h", "ß"]),
        ("[[Help:a]] [[:Category:b]] [[:File:c.jpg]]", ["Help:A", "Category:B", "File:C.jpg"]),
        ("[[Media:d.jpg]] [[talk:e]]", ["Media:D.jpg", "Talk:E"]),
    ],
)
def test_what_is_a_link(written: str, found: list[str]) -> None:
    assert linked(written) == found


@pytest.mark.parametrize(
    ("written", "leads_to", "seen"),
    [
        ("[[/a]]", "Owl/Food/a", "/a"),
        ("[[/a/]]", "Owl/Food/a", "a"),
        ("[[ /a b// ]]s", "Owl/Food/a b", "a bs"),
        ("[[/]]", "Owl/Food/", ""),
        ("[[/a#b|c]]", "Owl/Food/a", "c"),
        ("[[../]]", "Owl", "Owl"),
        ("[[../#b]]", "Owl", "Owl#b"),
        ("[[../a]]s", "Owl/a", "Owl/as"),
        ("[[../a/]]", "Owl/a", "a"),
        ("[[../a/#b|c]]", "Owl/a", "c"),
        ("[[../../a]]", None, "../../a"),
        ("[[//a]]", None, "//a"),
        ("[[..]]", None, ".."),
        ("[[a/../b]]", None, "a/../b"),
        ("[[b/c]]", "B/c", "b/c"),
    ],
)
def test_a_link_may_be_relative_where_articles_have_subpages(written: str, leads_to: str | None, seen: str) -> None:
    article = parse(written, Site(subpages=True), "Owl/Food")
    assert [link.title.text for link in article.links] == ([leads_to] if leads_to else [])
    assert article.sections[0].text == seen


def test_no_link_is_relative_where_articles_have_no_subpages() -> None:
    article = parse("[[/a]] [[../b]]", Site(), "Owl/Food")
    assert [link.title.text for link in article.links] == ["/a"]
    assert article.sections[0].text == "/a ../b"


def test_a_redirect_is_never_relative() -> None:
    assert parse("#REDIRECT [[/a]]", Site(subpages=True), "Owl").redirect == Title("/a")


def test_a_fragment_is_told() -> None:
    article = parse("[[a#b c]]", SITE)
    assert (article.links, article.sections[0].text) == ([Link(Title("A", 0, "b c"), 0)], "a#b c")


def test_no_title_has_a_character_that_cannot_be_kept() -> None:
    assert linked("[[a#%00]] [[de:%00]] [[%00]] [[a#<nowiki>b</nowiki>]] [[a&#0;]]") == []


def test_a_link_to_another_wiki_tells_which() -> None:
    article = parse("[[wikt:river|river]] [[:de:Fluss]] [[mw:Help]]\n[[de:Fluss]]", SITE)
    assert [(link.title.interwiki, link.title.text) for link in article.links] == [
        ("wikt", "river"),
        ("de", "Fluss"),
        ("mw", "Help"),
        ("de", "Fluss"),
    ]
    assert article.sections[0].text == "river de:Fluss mw:Help"


def test_categories_are_told_once_and_are_no_links() -> None:
    article = parse("[[Category:b]] [[category: a|sorted]] [[Category:B]] {{x|[[Category:c]]}} [[:Category:d]]", SITE)
    assert article.categories == ["B", "A", "C"]
    assert [link.title for link in article.links] == [Title("Category:D", 14, told=True)]


def test_namespaces_go_by_the_names_of_the_wiki() -> None:
    article = parse("[[Kategorie:a]] [[Category:b]] [[Datei:c.jpg|[[d]]]] [[Image:e.jpg]]", GERMAN)
    assert (article.categories, [link.title.text for link in article.links]) == (["A", "B"], ["D"])


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("#REDIRECT [[a b#c]]", Title("A b", 0, "c")),
        ("\n #redirect: [[a]]\n[[Category:b]]", Title("A")),
        ("#REDIRECT[[:Category:a|b]]", Title("Category:A", 14, told=True)),
        ("<!-- a -->#REDIRECT [[b]]", Title("B")),
        ("#REDIRECT a [[b]]", None),
        ("a #REDIRECT [[b]]", None),
        ("#REDIRECT [[<b>]]", None),
        ("#REDIRECT", None),
        ("#WEITERLEITUNG [[a]]", None),
    ],
)
def test_what_is_a_redirect(written: str, target: Title | None) -> None:
    assert parse(written, SITE).redirect == target


def test_a_redirect_goes_by_the_words_of_the_wiki() -> None:
    article = parse("#weiterleitung [[a]]\n[[Kategorie:b]]", GERMAN)
    assert (article.redirect, article.categories, article.sections[0].text) == (Title("A"), ["B"], "")
    assert article.links == [Link(Title("A"), 0)]


def test_templates_are_told_once_in_the_order_in_which_they_begin() -> None:
    page = "{{b|{{a}}|{{b}}}} {{ template:c_d }} {{a}} {{User:e}} {{Infobox\n|f={{g<!-- h -->}}}}"
    assert parse(page, SITE).templates == ["B", "A", "C d", "Infobox", "G"]


def test_what_only_looks_like_a_template_is_none() -> None:
    page = "{{#if:a|b}} {{PAGENAME}} {{DEFAULTSORT:a}} {{lc:A}} {{CURRENTYEAR}} {{a{{b}}}} {{{c}}} {{}} {{current}}"
    assert parse(page, SITE).templates == ["B", "Current"]


def test_a_template_in_a_heading_is_told() -> None:
    assert parse("== a {{b}} ==\n{{c}} {{b}}", SITE).templates == ["B", "C"]


def test_the_infobox_is_plain_text_by_the_names_of_its_parameters() -> None:
    page = """{{note|a=b}}
{{Infobox river
| name = '''Rhine'''
| source = [[Lake Toma|Toma]]<ref>a|b=c</ref>, {{nowrap|[[Switzerland]]}}
| length_km = {{convert|1233|km|mi}}
| empty =
| unknown = {{unknown|x=y}}
| first
| 2 = second
| cities = {{plainlist|
* [[Basel]]
* Cologne
}}
| formula = <math>a|b</math>
| pipe = a {{!}} b = c
}}
{{Infobox bridge|name=other}}"""
    assert parse(page, SITE).infobox == {
        "name": "Rhine",
        "source": "Toma, Switzerland",
        "length_km": "1233 km",
        "cities": "- Basel\n- Cologne",
        "formula": "a|b",
        "pipe": "a | b = c",
    }


@pytest.mark.parametrize(
    "name",
    [
        *("infobox person", "Taxobox", "Automatic_taxobox", "Speciesbox", "Chembox", "Starbox begin", "Drugbox"),
        *("Geobox", "Ficha de río", "Infocaja", "Info/Rio", "Rzeka infobox", "Infoboks", "Карточка", "Картка"),
        "صندوق معلومات",
    ],
)
def test_what_is_an_infobox(name: str) -> None:
    assert parse(f"{{{{{name}\n|a=b}}}}", SITE).infobox == {"a": "b"}


@pytest.mark.parametrize("name", ["Navbox", "Info", "Fichas", "About infoboxes", "#if:Infobox", "Cardbox"])
def test_what_is_no_infobox(name: str) -> None:
    assert parse(f"{{{{{name}\n|a=b}}}}", SITE).infobox == {}


def test_the_outer_of_two_infoboxes_is_the_first() -> None:
    page = "{{Infobox a|b=c|module={{Infobox d|e=f}}}} {{Infobox g|h=i}}"
    assert parse(page, SITE).infobox == {"b": "c"}


def test_switches_are_words_between_underscores() -> None:
    page = "__NOTOC__ a __DISAMBIG__ __lower__ <nowiki>__TOC__</nowiki> __OHNE_INDEX__"
    assert parse(page, SITE).switches == {"NOTOC", "DISAMBIG", "OHNE_INDEX"}


@given(
    st.text(
        alphabet=st.one_of(
            st.sampled_from("aAzé ßŉǆᾳﬁს:_#/.%&;~0 \u0301\u00a0\u200e\u3000\u0131한ÅK"),
            st.characters(exclude_categories=["Cs", "Cc"]),
        ),
        max_size=90,
    ),
    st.frozensets(st.sampled_from([0, 3, 12, 14])),
    st.sampled_from(["", "Help:", "de:", "category:", "x:", "User talk:"]),
)
def test_the_short_way_to_a_title_leads_to_that_of_the_site(written: str, keeping: frozenset[int], prefix: str) -> None:
    site = Site(interwikis=frozenset({"de"}), case_sensitive=keeping)
    title = Titles(site).of(prefix + written)
    if title is not None or not (prefix + written).lstrip().startswith("//"):
        assert title == site.title(prefix + written)
