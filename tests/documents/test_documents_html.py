"""Reading HTML."""

from __future__ import annotations

import time

import pytest

from detent.documents.html import fragment, parse
from detent.documents.parsed import Parsed

PAGE = """\
<!doctype html>
<html lang="en"><head><title>The &amp; page
</title><script>var a = "<h1>no</h1>";</script><style>h1 {}</style></head>
<body>
<nav><h2>Menu</h2><a href="menu.html">m</a></nav>
Before.
<!-- <h1>no</h1> -->
<h1>Guide</h1>
<p>Read <b>th</b>is
 now.</p><p>And <i>that</i>.</p>
<div role="navigation">up</div>
<section id="install"><h2>Install <a class="headerlink" href="#install">&para;</a></h2>
Text.</section>
<h4
 id="deep">Deep</h4><h2><a name="use"></a>Use</h2>
</body></html>
"""


def read(text: str) -> Parsed:
    return parse(text.encode(), "a.html")


def links(text: str) -> list[tuple[str, str, int]]:
    return [(link.kind, link.target, link.line) for link in read(text).links]


def test_headings_make_a_tree_of_sections_with_their_lines() -> None:
    parsed = read(PAGE)
    assert [(part.key, part.title, part.text, part.first, part.last) for part in parsed.parts] == [
        ("guide", "Guide", "Read this now.\n\nAnd that.", 8, 16),
        ("install", "Install", "Text.", 12, 14),
        ("deep", "Deep", "", 14, 14),
        ("use", "Use", "", 15, 16),
    ]
    assert [part.parent for part in parsed.parts] == ["", "guide", "install", "guide"]


def test_a_section_says_its_level_and_its_anchor() -> None:
    assert [dict(part.properties) for part in read(PAGE).parts] == [
        {"level": 1},
        {"level": 2, "anchor": "install"},
        {"level": 4, "anchor": "deep"},
        {"level": 2, "anchor": "use"},
    ]


def test_the_title_is_that_of_the_page() -> None:
    assert read(PAGE).title == "The & page"
    assert read("<title>Use <b> tags</title>").title == "Use <b> tags"
    assert read("<svg><title>icon</title></svg><h1>A</h1>").title == "A"


def test_scripts_styles_and_navigation_are_left_out() -> None:
    parsed = read(PAGE)
    assert parsed.text == "Before."
    assert parsed.links == []


def test_paragraphs_lists_and_definitions_stand_on_lines() -> None:
    text = "a<p>b<br>c<ul><li>d<li>e<ol><li>f<li><p>g</p><p>h</p></ol></ul><dl><dt>i<dd>j<dt>k<dd>l</dl>m"
    assert read(text).text == "a\n\nb\nc\n\n- d\n- e\n  1. f\n  2. g\n\nh\n\ni\nj\n\nk\nl\n\nm"


def test_rows_of_tables_are_lines() -> None:
    text = "<table><tr><th>a<th>b<tr><td>1<td><p>2</p><p>3</p><tr><td></table><table><tbody><tr><td>x</table>"
    assert read(text).text == "a | b\n1 | 2 3\n\nx"


def test_a_table_in_a_table_is_part_of_its_cell() -> None:
    assert read("<table><tr><td>a<table><tr><td>b<td>c</table>d<td>e</table>").text == "a b | c d | e"


def test_a_heading_or_code_in_a_table_is_none_of_its_cells() -> None:
    parsed = read("<table><tr><td>a<td>b<h1>C</h1>d<pre>e\n f</pre></table>")
    assert parsed.text == "a\n\nb"
    assert [(part.title, part.text) for part in parsed.parts] == [("C", "d\n\ne\n f")]


def test_preformatted_text_is_kept() -> None:
    assert read("<pre>\n if <b>a</b> &lt; b:\n\n     c\n</pre>").text == " if a < b:\n\n     c"


def test_links_images_and_code_are_told_with_their_lines() -> None:
    text = (
        '<p>\n<a href="a.html?b=1&amp;c">x</a><img\n src="d.png" alt="D">\n<code>run_it()</code> <code>rm -rf</code>\n'
        "<h1><code>Client</code> <a href=e>f</a></h1>\n<a name=g>h</a> <a href='javascript:i()'>j</a>\n"
        "<pre><code>kkk</code></pre>"
    )
    assert links(text) == [
        ("link", "a.html?b=1&c", 2),
        ("image", "d.png", 2),
        ("code", "run_it", 4),
        ("code", "Client", 5),
        ("link", "e", 5),
    ]
    assert [link.part for link in read(text).links] == ["", "", "", "client-f", "client-f"]
    assert read(text).text == "xD run_it() rm -rf"


def test_a_page_in_another_encoding_is_read_as_it_says() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>Привет, мир</p>'
    assert parse(page.encode("koi8-r"), "a").text == "Привет, мир"
    assert parse(page.replace("koi8-r", "koi8-x").encode("koi8-r"), "a").text


def test_a_piece_of_html_is_read() -> None:
    parsed = fragment("<details><summary>More</summary>\n<h2>X</h2> y")
    assert (parsed.text, parsed.parts[0].text, parsed.parts[0].first) == ("More", "y", 2)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "<div>",
            "<span>",
            "<b id=x><p>",
            "<font><p>",
            "<code><p>",
            "<table><tr><td>",
            "<ul><li>",
            "<a href=x>",
            "<h1><div>",
        ),
        *(
            "<svg><g>",
            "<svg><i>",
            "<!--",
            "<a ",
            "<",
            "</p>",
            "<script>",
            "<template>",
            "<button>",
            "<html x>",
            "<pre>",
            "<x-y>",
        ),
    ],
)
def test_a_large_file_of_anything_is_read(unit: str) -> None:
    started = time.process_time()
    read(unit * (300_000 // len(unit)) + "x")
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"<b id={i}><p>" for i in range(20_000)) + "x",
        "".join(f"<code id={i}><p>" for i in range(20_000)) + "x",
        "<p " + " ".join(f"a{i}" for i in range(100_000)) + ">x",
        "".join(f"<html a{i}>" for i in range(40_000)) + "x",
        "<span>" * 40_000 + "</i>" * 40_000 + "x",
        "<table><tr><td>" * 20_000 + "x",
    ],
)
def test_what_would_cost_the_parser_the_square_is_read(text: str) -> None:
    started = time.process_time()
    assert read(text).text == "x"
    assert time.process_time() - started < 10


def test_text_below_too_many_elements_is_read() -> None:
    text = "<div>" * 1000 + "a" + "</div>" * 1000 + "<h1>B</h1><p>c</p><p>d</p>"
    parsed = read(text)
    assert parsed.text == "a"
    assert [(part.title, part.text) for part in parsed.parts] == [("B", "c\n\nd")]
