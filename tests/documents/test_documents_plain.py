"""Plain text, and what holds of the parsers of all documents, whatever they are given."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.documents import html, markdown, plain, restructured
from detent.documents.parsed import Parsed, Unparsable

Parser = Callable[[bytes, str], Parsed]

PARSERS = pytest.mark.parametrize(
    "parse", [plain.parse, markdown.parse, restructured.parse, html.parse], ids=["plain", "markdown", "rst", "html"]
)
PIECES = (
    *(
        "# a\n",
        "## b\n",
        "a\n===\n",
        "b\n---\n",
        "> ",
        "- ",
        "1. ",
        "    ",
        "\n",
        "\n\n",
        "word ",
        "`code_name`",
        "``x``",
    ),
    *(
        "| a | b |\n|---|---|\n",
        "```py\n",
        "[a](b)",
        "[a]: b\n",
        "![i](j)",
        "---\n",
        "title: &a [*a]\n",
        "+++\n",
        "é\u0301",
    ),
    *(
        ".. note:: x\n",
        ".. code::\n\n",
        "::\n\n",
        ":ref:`a`",
        "`t <u>`_",
        "+--+\n|a |\n",
        "== ==\n",
        "* - a\n",
        "a_ ",
        "__",
    ),
    *(
        "<h1>",
        "</h1>",
        "<h3 id=a>",
        "<table>",
        "<tr>",
        "<td>",
        "<ul><li>",
        "<pre>",
        "<a href=x>",
        "<code>abc</code>",
        "</a>",
    ),
    *(
        "<script>",
        "<!--",
        "-->",
        "<title>",
        "<svg>",
        "<math>",
        "<br>",
        "<",
        "&#0;",
        "&#xd800;",
        "<b><p>",
        "</table>",
        '"',
    ),
)
SOUP = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def check(parsed: Parsed, lines: int) -> None:
    """What every parser promises."""
    seen = {""}
    for part in parsed.parts:
        assert part.key and part.key not in seen
        assert part.parent in seen
        assert 1 <= part.first <= part.last <= max(lines, 1)
        seen.add(part.key)
    assert all(link.part in seen and link.target for link in parsed.links)
    assert all(1 <= link.line <= max(lines, 1) for link in parsed.links)
    texts = [parsed.title, parsed.text, *(text for part in parsed.parts for text in (part.key, part.title, part.text))]
    texts += [link.target for link in parsed.links]
    texts.append(json.dumps([dict(parsed.properties), [dict(part.properties) for part in parsed.parts]]))
    for text in texts:
        assert "\0" not in text
        text.encode()


@PARSERS
@given(data=st.binary(max_size=300))
def test_of_any_bytes_something_is_read_or_they_are_refused(parse: Parser, data: bytes) -> None:
    try:
        parsed = parse(data, "a")
    except Unparsable:
        return
    check(parsed, plain.read(data)[0].count("\n") + 1)


@PARSERS
@given(text=st.one_of(SOUP, st.text(max_size=200)))
def test_of_any_text_something_is_read(parse: Parser, text: str) -> None:
    data = text.encode("utf-8", "replace").replace(b"\0", b"")
    try:
        parsed = parse(data, "a")
    except Unparsable:
        return
    check(parsed, plain.read(data)[0].count("\n") + 1)


@PARSERS
def test_what_is_no_text_is_refused(parse: Parser) -> None:
    with pytest.raises(Unparsable, match="holds no text"):
        parse(b"\x7fELF\0\0\0\0\x01\x02", "a")


@PARSERS
def test_an_empty_file_is_read(parse: Parser) -> None:
    parsed = parse(b"", "a")
    assert (parsed.title, parsed.text, list(parsed.parts)) == ("", "", [])


@PARSERS
def test_bytes_that_are_no_text_are_told(parse: Parser) -> None:
    parsed = parse("Grüße ".encode() * 200 + b"\xff", "a")
    assert parsed.text.startswith("Grüße")
    assert parsed.text.endswith("\ufffd")
    assert parsed.problems == ["Some bytes are no UTF-8 text; \ufffd stands for each of them."]


def test_plain_text_stays_as_it_is() -> None:
    parsed = plain.parse(b"# one\n\n  two\r\n", "notes.txt")
    assert (parsed.kind, parsed.text, parsed.parts) == ("text", "# one\n\n  two\n", ())


def test_a_log_loses_its_colours() -> None:
    assert plain.parse(b"\x1b[1;31mERROR\x1b[0m no disk\n", "a.log").text == "ERROR no disk\n"
