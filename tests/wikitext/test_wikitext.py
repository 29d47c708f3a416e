"""Wikitext as sections of plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.wikitext import Section, parse
from detent.wikitext.site import Site

SITE = Site()


def text_of(wikitext: str) -> str:
    """The text of a page that has no headings."""
    (lead,) = parse(wikitext, SITE).sections
    return lead.text


def outline(wikitext: str) -> list[tuple[int, str]]:
    return [(section.level, section.title) for section in parse(wikitext, SITE).sections[1:]]


def test_a_page_without_headings_is_its_lead() -> None:
    assert parse("Rivers flow.", SITE).sections == [Section(0, "", "Rivers flow.", None)]


def test_an_empty_page_has_a_lead() -> None:
    assert parse("", SITE).sections == [Section(0, "", "", None)]


def test_a_page_that_begins_with_a_heading_has_an_empty_lead() -> None:
    assert parse("== Course ==\nIt flows.", SITE).sections == [
        Section(0, "", "", None),
        Section(2, "Course", "It flows.", 0),
    ]


def test_sections_are_a_tree_by_their_levels() -> None:
    page = "=a=\n==b==\n====c====\n===d===\n==e==\n=====f=====\n======g======\n=h="
    sections = parse(page, SITE).sections
    assert [(each.level, each.title) for each in sections[1:]] == [
        (1, "a"),
        (2, "b"),
        (4, "c"),
        (3, "d"),
        (2, "e"),
        (5, "f"),
        (6, "g"),
        (1, "h"),
    ]
    assert [each.parent for each in sections] == [None, 0, 1, 2, 2, 1, 5, 6, 0]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("== a ==", [(2, "a")]),
        ("==a==   \t", [(2, "a")]),
        ("== a == <!-- why -->", [(2, "a")]),
        ("== a <!-- why --> b ==", [(2, "a b")]),
        ("=== a ==", [(2, "= a")]),
        ("== a ===", [(2, "a =")]),
        ("= a = b =", [(1, "a = b")]),
        ("======= a =======", [(6, "= a =")]),
        ("===", [(1, "=")]),
        ("====", [(1, "==")]),
        ("=====", [(2, "=")]),
        ("==", []),
        ("=", []),
        ("== a", []),
        ("a ==", []),
        (" == a ==", []),
        ("== a == b", []),
        ("== a ==<nowiki/>", []),
        ("<!-- why -->== a ==", []),
        ("<nowiki>\n== a ==\n</nowiki>", []),
        ("<!--\n== a ==\n-->", []),
        ("<pre>\n== a ==\n</pre>", []),
        ("{{note|\n== a ==\n}}", []),
        ("{{note|1=\n= a =\n}}", []),
        ("b<ref>\n== a ==\n</ref>", []),
        ("{{unclosed|\n== a ==\n", [(2, "a")]),
        ("<ref>unclosed\n== a ==\n", [(2, "a")]),
        ("<nowiki>unclosed\n== a ==\n", [(2, "a")]),
        ("{|\n|\n== a ==\n|}", [(2, "a")]),
    ],
)
def test_what_is_a_heading(line: str, found: list[tuple[int, str]]) -> None:
    assert outline(f"Before.\n{line}\nAfter.") == found


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("''The'' '''Rhine'''", "The Rhine"),
        ("[[Rhine|The river]] and [[Aare]]s", "The river and Aares"),
        ("{{anchor|x}} Course", "Course"),
        ("Sources<ref>a [[b]]</ref>", "Sources"),
        ("a<br>b &amp; c", "a b & c"),
        ("* a", "* a"),
        ("| a", "| a"),
        ("<nowiki>[[a]]</nowiki>", "[[a]]"),
        ("<math>a\nb</math>", "a b"),
        ("{{anchor|x}}", ""),
    ],
)
def test_a_heading_is_plain_text(written: str, title: str) -> None:
    assert outline(f"== {written} ==\nText.") == [(2, title)]


def test_a_heading_in_a_template_takes_no_text_with_it() -> None:
    sections = parse("a\n{{note|\n== b ==\nc}}\nd\n== e ==\nf", SITE).sections
    assert [(each.title, each.text) for each in sections] == [("", "a\n\nd"), ("e", "f")]


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("''a'' '''b''' '''''c'''''", "a b c"),
        ("l''''eau''' d'''''", "l'eau d"),
        ("it's 'a'", "it's 'a'"),
        ("[[a]] [[b|c]] [[d]]s [[e|f]]en [[:Category:g]]", "a c ds fen Category:g"),
        ("[[a (b)|]], [[Help:c|]], [[d, e|]]", "a, c, d"),
        ("[[a|b [c] d]] [[e|[f]]]", "b [c] d [f]"),
        ("[[a|''b'' <small>c</small>]]", "b c"),
        ("[[a\nb]] [c] [[", "[[a\nb]] [c] [["),
        ("a [[File:b.jpg|thumb|c [[d]] {{e}}]] f [[Category:g|h]]", "a f"),
        ("[http://a.org b c] [http://a.org] http://a.org [//a.org d] [mailto:a@a.org e]", "b c http://a.org d e"),
        ("[http://a.org b [c] d] [e]", "b [c] d [e]"),
        ("[http://a.org ''b'' [[c]]]", "b c"),
        ("a [[File:b.jpg|thumb|c [https://x.y z]]] d", "a d"),
        ("a [[File:b.jpg|thumb|[[c]] [https://x.y z]]]d", "a d"),
        ("a [[File:b.jpg|thumb|c [d] e]]] f", "a ] f"),
        ("a [[b|c [https://x.y z]]] d", "a c z d"),
        ("a [[File:b.jpg|thumb|c [[d|[https://x.y z]]]]] e", "a e"),
        ("a{{b|c={{d}}}} e {{unclosed", "a e {{unclosed"),
        ("a ({{b}}) c ({{d}}; {{e}}) f() ( )", "a c f() ( )"),
        ("a {{b}}. c {{d}} e {{f}}g", "a. c e g"),
        ("a <nowiki/>b", "a b"),
        ("{{lang|de|Fluss}}, {{Lang-la|flumen}}, {{nowrap|1=a {{nowrap|b}}}}", "Fluss, flumen, a b"),
        ("{{convert|5|km|mi}}, {{cvt|5|to|7|kg}}, {{convert}} {{convert|a=b}}", "5 km, 5 to 7 kg"),
        ("{{birth date|1879|3|14|df=y}} {{circa|1900}} {{ubl|a|{{b}}|c}}", "1879-03-14 c. 1900 a, c"),
        ("{{{1|a}}} {{{2}}} {{{{{b}}}}}", "a"),
        ("a<ref>b [[c]]</ref> d<ref name=e /> f<REF name='g'>h</ref>.<references/>", "a d f."),
        ("a<ref>{{b</ref> c {{d}} e", "a c e"),
        ("a<ref>b<ref>c</ref> d</ref> e", "a d e"),
        ("{{a|<ref>b}}</ref>c}} d", "d"),
        ("a <!-- b --> c <!-- d\n\ne --> f <!-- g", "a c f"),
        ("a\n<!-- b -->\nc", "a\nc"),
        ("a\n  <!-- b --> <!-- c -->\t\nd", "a\nd"),
        ("[<!-- a -->[b]] {<!-- c -->{d}} {{e<!-- f -->}}", "b {{d}}"),
        ("<nowiki>''a'' [[b]] {{c}} <i> &lt;</nowiki>", "''a'' [[b]] {{c}} <i> <"),
        ("'<nowiki/>''a''", "'a"),
        ("<nowiki>a <NOWIKI>b</nowiki >c", "a <NOWIKI>bc"),
        ("<math>a_{{b}} &lt; [[c]]</math>", "a_{{b}} &lt; [[c]]"),
        ("<code>a [[b]]</code> <kbd>c</kbd>", "a b c"),
        ('a<syntaxhighlight lang="c">\nint  b[[1]];\n</syntaxhighlight>c', "a\nint  b[[1]];\nc"),
        ("a\n<pre>\n  b &amp;\n\n\n  c\n</pre>\nd", "a\n\n  b &\n\n  c\n\nd"),
        ("<div class='a'>b<span>c</span></div>d<br/>e<br>\nf", "bc\nd\ne\nf"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        ("1 < 2 and a<b or <g> <https://a.org>", "1 < 2 and a<b or <g> <https://a.org>"),
        ("a<gallery>\nb.jpg|[[c]]\n</gallery><timeline>d</timeline><score>e</score><imagemap>f</imagemap>g", "ag"),
        ("a<templatestyles src='b' />c", "ac"),
        (
            "&eacute;&#233;&#xE9; &nbsp;a &amp;lt; &unknown; &lt b &#0;&#xD800;",
            "ééé a &lt; &unknown; &lt b \ufffd\ufffd",
        ),
        ("a __NOTOC__ __init__ b __KEIN_INDEX__", "a __init__ b __KEIN_INDEX__"),
        ("Thanks. ~~~~", "Thanks. ~~~~"),
        ("<pre><nowiki>''a'' &lt;</nowiki> b\n</pre>", "''a'' < b"),
        ("<pre><NOWIKI>a <nowiki> b</nowiki> <nowiki>c</pre>d", "a <nowiki> b <nowiki>c\nd"),
        ("a\n\n\n\nb  c\n d", "a\n\nb c\nd"),
        ("a\n----\nb\n-----c", "a\nb\nc"),
        ("x\r\ny\rz", "x\ny\nz"),
    ],
)
def test_what_is_seen(written: str, seen: str) -> None:
    assert text_of(written) == seen


def test_items_of_lists_have_dashes() -> None:
    page = "* a\n** b\n# c\n#* d\n: e\n:: f\n; g\n; h : i\n*\n*{{j}}\n:* k"
    assert text_of(page) == "- a\n  - b\n- c\n  - d\ne\nf\ng\nh : i\n  - k"


def test_a_dash_in_a_line_is_no_list() -> None:
    assert text_of("a - b * c\n- d") == "a - b * c\n- d"


def test_a_table_is_a_line_for_each_row() -> None:
    page = """Before.
{| class="wikitable" style="x"
|+ style="y" | '''Rivers'''
|-
! scope="col" | Name !! Length
! Mouth
|- align=right
| [[Rhine|The Rhine]] || style="z" | 1,233&nbsp;km
| North Sea<ref>a</ref>
|-
| Aare
| || [[Rhine]]
and more
* of it
|}
After."""
    assert text_of(page) == "\n".join(
        [
            "Before.",
            "Rivers",
            "Name | Length | Mouth",
            "The Rhine | 1,233 km | North Sea",
            "Aare | | Rhine and more of it",
            "After.",
        ]
    )


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ('a<span style="display:none">b</span>c', "ac"),
        ("<SPAN class=x style='color:red; Display : none;'>a <b>b</b> [[c]]</SPAN >d", "d"),
        ('<div><span style="display:none">a</span>b</div>c', "b\nc"),
        ('<span style="display:inline">a</span> none', "a none"),
        ("<div style='display:none'>a <span>b</span> <div>c</div> d</div>e", "e"),
        ("<span style='DISPLAY:NONE'><span>b</span></span>c", "c"),
        ("<p style='display:none'>a</p><small style='display:none'>b</small>c", "c"),
        ("a<br style='display:none'/><span style='display:none'/>b<span style='display:none'>c</span>", "a\nb"),
        ('<span style="display:none">a', "a"),
        ('<span style="display:none">a</div>', "a"),
        ('<spanner style="display:none">a</spanner>', '<spanner style="display:none">a</spanner>'),
    ],
)
def test_what_is_hidden_is_not_read(written: str, seen: str) -> None:
    assert text_of(written) == seen


def test_a_heading_among_hidden_text_is_one() -> None:
    sections = parse('<div style="display:none">a\n== b ==\nc</div>', SITE).sections
    assert [(each.title, each.text) for each in sections] == [("", "a"), ("b", "c")]


def test_a_row_without_words_is_left_out() -> None:
    assert text_of("{|\n|-\n| || \n|-\n|\n|-\n| || a\n|}") == "| a"


@pytest.mark.parametrize(
    ("rows", "seen"),
    [
        ("| rowspan=2 | a\n| b\n|-\n| c\n|-\n| d || e", ["a | b", "a | c", "d | e"]),
        ("! a\n! ROWSPAN = '3' style=x | b\n! c\n|-\n| 1 || 3\n|-\n| 2", ["a | b | c", "1 | b | 3", "2 | b"]),
        ('| a || rowspan="2" | b\n|-\n|\n|-\n| c || d', ["a | b", "| b", "c | d"]),
        ("! colspan=2 | a !! b\n|-\n| 1 || 2 || 3", ["a | | b", "1 | 2 | 3"]),
        ("| a || colspan=3 | b\n|-\n| c", ["a | b", "c"]),
        ("| rowspan=2 colspan=2 | a || b\n|-\n| c", ["a | | b", "a | | c"]),
        ("| a || rowspan=2 | b\n|- style=x\n|-\n| c", ["a | b", "c | b"]),
        ("| rowspan=2 | a\n|-\n|}\n{|\n| b", ["a", "b"]),
        ("| rowspan=2 | a\n{|\n| b\n|}\n|-\n| c", ["a", "b", "c"]),
        ("| rowspan=0 | a || rowspan=x | b\n|-\n| c", ["a | b", "c"]),
        ("| colspan=0 | a || rowspan=2 | b\n|-\n| c", ["a | b", "c | b"]),
        ("| a || b || rowspan=3 | c\n|-\n| d\n|-\n| e || f", ["a | b | c", "d", "e | f | c"]),
        ("| style='display:none' | a || b", ["| b"]),
    ],
)
def test_a_cell_that_takes_several_rows_is_in_each_of_them(rows: str, seen: list[str]) -> None:
    assert text_of(f"{{|\n{rows}\n|}}").split("\n") == seen


def test_on_a_short_page_a_long_cell_is_in_all_its_rows() -> None:
    rows = "".join(f"\n|-\n| {year} || N{year}" for year in range(2002, 2007))
    page = f"{{|\n| 2001 || rowspan=6 | {'Prize ' * 50} || N2001{rows}\n|}}".replace("|| N2", "|| N2")
    seen = text_of(page).split("\n")
    assert [row.count("Prize") for row in seen] == [50] * 6
    assert [row.split(" | ")[2] for row in seen] == [f"N{year}" for year in range(2001, 2007)]


def test_what_hangs_makes_no_page_many_times_as_long() -> None:
    page = "{|\n| rowspan=999 colspan=999 | " + "a" * 10_000 + "\n|-\n| b" * 20_000
    assert len(text_of(page)) < 3 * len(page)


def test_the_items_of_a_list_in_a_cell_are_told_apart() -> None:
    assert text_of("{|\n| a\n* b\n|-\n* c\n*\n* d\n|}") == "a b\nc; d"
    page = "{|\n| Pears:\n* [[Comice]]\n* Conference.\n** Bosc\nand more\n| a\n* b\n|\n* c\n* d\n: e\n|}"
    assert text_of(page) == "Pears: Comice; Conference. Bosc and more | a b | c; d e"


def test_a_table_in_a_table_has_its_own_lines() -> None:
    assert text_of("{|\n| a\n|\n{| class=x\n| b || c\n|-\n| d\n|}\n| e\n|}\nf") == "a |\nb | c\nd\ne\nf"


def test_a_table_that_is_not_closed_ends_with_the_page() -> None:
    sections = parse("{|\n| a\n== b ==\n| c || d\n", SITE).sections
    assert [(each.title, each.text) for each in sections] == [("", "a"), ("b", "c | d")]


def test_more_ends_than_tables_are_left_out() -> None:
    assert text_of("{|\n|a\n|} |} b\nc") == "a\nb\nc"


def test_a_line_break_in_a_cell_is_a_space() -> None:
    assert text_of("{|\n| a<br>b || c<br />\n|}") == "a b | c"


def test_a_table_written_with_templates_for_its_pipes_is_one() -> None:
    assert text_of("{{{!}} class=x\n{{!}}-\n{{!}} a {{!}}{{!}} b\n{{!}}}") == "a | b"


def test_rows_outside_of_a_table_are_of_one_that_a_template_began() -> None:
    page = "{{awards}}\n|-\n|2005\n|Himself\n|{{Nom}}\n|- class=x\n! scope=row | 2006 !! b\n{{end}}\n| a"
    assert text_of(page) == "2005 | Himself |\n2006 | b\n\n| a"


@pytest.mark.parametrize("end", ["|}\n", "\n", "== a ==\n"])
def test_what_ends_a_table_that_a_template_began(end: str) -> None:
    sections = parse(f"{{{{b}}}}\n|-\n| c || d\n{end}| e", SITE).sections
    assert [line for each in sections for line in each.text.split("\n") if line] == ["c | d", "| e"]


def test_a_table_may_stand_in_one_that_a_template_began() -> None:
    page = "{{a}}\n|-\n| b\n{|\n| c\n\n|-\n| d\n|}\n|-\n| e\n\n| f"
    assert text_of(page) == "b\nc\nd\ne\n\n| f"


@pytest.mark.parametrize("line", ["|-5| = 5", "|-x| is |x|", "|- a", "||-", "|+ a"])
def test_what_looks_like_a_row_outside_of_a_table_is_text(line: str) -> None:
    assert text_of(f"{line}\n| a") == f"{line}\n| a"


def test_a_pipe_outside_of_a_table_is_text() -> None:
    assert text_of("| a\n! b\n|}") == "| a\n! b\n|}"


@given(st.text(alphabet="ab cé.,;:-\n()", max_size=80))
def test_plain_text_stays_as_it_is_but_for_spaces_and_lists(text: str) -> None:
    seen = text_of(text)
    for mark in ":;":
        assert seen.count(mark) <= text.count(mark)
    letters = [letter for letter in text if letter.isalpha()]
    assert [letter for letter in seen if letter.isalpha()] == letters


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="<&"), max_size=120))
def test_nothing_within_nowiki_is_markup(text: str) -> None:
    assert text_of(f"x (<nowiki>{text}</nowiki>) y") == f"x ({text}) y"
