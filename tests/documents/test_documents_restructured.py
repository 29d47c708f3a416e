"""Reading reStructuredText."""

from __future__ import annotations

import time

import pytest

from detent.documents.parsed import Parsed
from detent.documents.restructured import DEEPEST, parse


def read(text: str) -> Parsed:
    return parse(text.encode(), "a.rst")


def links(text: str) -> list[tuple[str, str, int]]:
    return [(link.kind, link.target, link.line) for link in read(text).links]


def test_titles_make_a_tree_of_sections() -> None:
    parsed = read("Before.\n\n=====\nGuide\n=====\n\nOne.\n\nInstall\n-------\n\nTwo.\n\nLinux\n~~~~~\n\nUse\n---\n")
    assert parsed.kind == "restructuredtext"
    assert (parsed.title, parsed.text) == ("Guide", "Before.")
    assert [(part.label, part.key, part.parent, part.text, part.first, part.last) for part in parsed.parts] == [
        ("Section", "guide", "", "One.", 3, 18),
        ("Section", "install", "guide", "Two.", 9, 16),
        ("Section", "linux", "install", "", 14, 16),
        ("Section", "use", "guide", "", 17, 18),
    ]


def test_the_order_of_first_appearance_gives_the_level() -> None:
    parts = read("A\n~~~\n\nB\n===\n\nC\n~~~\n\n===\nD\n===\n").parts
    assert [(part.key, part.properties["level"]) for part in parts] == [("a", 1), ("b", 2), ("c", 1), ("d", 3)]


@pytest.mark.parametrize(
    "text",
    [
        "A long title\n--\n",
        "text\n\n----\n\nmore\n",
        "  Indented\n  ========\n",
        "::\n\n    Title\n    =====\n",
        ".. code::\n\n   Title\n   =====\n",
        "text\n::\n\n  x\n",
        "====  ====\nA     B\n====  ====\n",
    ],
)
def test_what_only_looks_like_a_title_is_none(text: str) -> None:
    assert read(text).parts == []


def test_more_styles_than_levels_are_read() -> None:
    text = "".join(f"T\n{sign * 4}\n\n" for sign in "=-~^\"'`#*+<>:._")
    assert max(part.properties["level"] for part in read(text).parts) == DEEPEST


def test_paragraphs_and_lists_are_readable() -> None:
    text = (
        "One *two*\nthree **four**.\n\n- a\n  b\n- c\n\n  d\n\n:field: value\n  goes on\n\n| x\n| y\n\nterm\n  meaning"
    )
    assert (
        read(text).text == "One two three four.\n\n- a b\n- c\n\nd\n\n:field: value\ngoes on\n\nx\ny\n\nterm\nmeaning"
    )


def test_literal_blocks_are_kept() -> None:
    assert read("See::\n\n    if *a*:\n\n        ``b``\n\nThen.\n").text == "See:\n\nif *a*:\n\n    ``b``\n\nThen."
    assert read("::\n\n  x\n").text == "x"
    assert read("- a::\n\n    x\n\n  b\n").text == "- a:\n\nx\n\nb"
    assert read(">>> *a*\n1\n").text == ">>> *a*\n1"


def test_code_is_kept_and_its_languages_are_told() -> None:
    text = "A\n=\n\n.. code-block:: Python\n   :linenos:\n\n   if a:\n       b\n\n.. code:: python\n\n   c\n\nText.\n"
    [part] = read(text).parts
    assert part.text == "if a:\n    b\n\nc\n\nText."
    assert part.properties == {"level": 1, "languages": ["python"]}


def test_what_is_in_a_directive_is_text() -> None:
    text = ".. note:: Mind\n   :class: x\n\n   The *gap*.\n\n   - one\n\n.. only:: html\n\n   shown\n"
    assert read(text).text == "Mind\n\nThe gap.\n\n- one\n\nshown"


def test_comments_and_what_is_raw_are_left_out() -> None:
    assert read(".. a comment\n   goes on\n\n..\n\n   this too\n\n.. raw:: html\n\n   <b>\n\nText.\n").text == "Text."


def test_images_and_documents_are_linked() -> None:
    text = (
        ".. image:: a.png\n   :alt: A picture\n   :target: b.html\n\n.. figure:: c.png\n\n   Caption.\n\n"
        ".. toctree::\n   :maxdepth: 1\n\n   install\n   Use it <guide/use>\n\n"
        ".. include:: d.txt\n\n.. |e| image:: f.png\n"
    )
    assert read(text).text == "A picture\n\nCaption."
    assert links(text) == [
        ("image", "a.png", 1),
        ("link", "b.html", 1),
        ("image", "c.png", 5),
        ("link", "install", 12),
        ("link", "guide/use", 13),
        ("link", "d.txt", 15),
        ("image", "f.png", 17),
    ]


def test_links_lead_where_they_are_said_to() -> None:
    text = (
        "`one <https://a.org/b c>`_ two_ `Three Words`_\nfour__ `five <two_>`_ https://g.org/h. six_\n\n"
        ".. _two: https://d.org\n.. _three words: two_\n__ https://e.org\n"
    )
    assert links(text) == [
        ("link", "https://a.org/bc", 1),
        ("link", "https://d.org", 1),
        ("link", "https://d.org", 1),
        ("link", "https://e.org", 2),
        ("link", "https://d.org", 2),
        ("link", "https://g.org/h", 2),
    ]
    assert read(text).text == "one two Three Words four five https://g.org/h. six_"


def test_roles_name_symbols_documents_and_labels() -> None:
    text = (
        ":py:class:`~pkg.Client` :func:`run()` :doc:`Start <start>` :ref:`here <top>` :kbd:`Escape`\n"
        "``load_all`` ``rm -rf`` `pkg.Thing` :meth:`!stop`\n\n.. autoclass:: pkg.Base\n\n.. py:function:: pkg.go(x)\n"
    )
    assert links(text) == [
        ("code", "pkg.Client", 1),
        ("code", "run", 1),
        ("link", "start", 1),
        ("link", "#top", 1),
        ("code", "load_all", 2),
        ("code", "pkg.Thing", 2),
        ("code", "stop", 2),
        ("code", "pkg.Base", 4),
        ("code", "pkg.go", 6),
    ]
    assert read(text).text.startswith("Client run() Start here Escape load_all rm -rf pkg.Thing stop\n\npkg.Base")


def test_a_label_is_the_anchor_of_the_section_below_it() -> None:
    parts = read(".. _top:\n\nA\n=\n\nB\n=\n").parts
    assert [part.properties.get("anchor") for part in parts] == ["top", None]


def test_tables_are_read_row_by_row() -> None:
    text = (
        "T\n=\n\n+---+-----+\n| a | *b* |\n+===+=====+\n| 1 | two |\n|   | on  |\n+---+-----+\n\n"
        "====  =====\nA     B\n====  =====\n1     2\n      more\n3     4\n====  =====\n\n"
        ".. list-table:: Caption\n   :header-rows: 1\n\n   * - h\n     - i\n   * - v\n     - w\n       x\n"
    )
    [part] = read(text).parts
    assert part.text == "a | b\n1 | two on\n\nA | B\n1 | 2 more\n3 | 4\n\nCaption\n\nh | i\nv | w x"
    assert part.properties["tables"] == 3


def test_escapes_are_resolved() -> None:
    assert read(r"\*a\* b\ c \\ d").text == r"*a* bc \ d"


def test_footnotes_are_text() -> None:
    assert read("See [1]_.\n\n.. [1] A *note*.\n").text == "See [1]_.\n\n[1] A note."


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "``a",
            "`a",
            "*a ",
            ":a:",
            "a-",
            "|a",
            "a_ ",
            "http://.",
            ".. a::\n\n",
            "a::\n\n",
            "== ==\n",
            "T\n=\n",
            "- a\n",
        )
    ],
)
def test_a_large_file_of_anything_is_read(unit: str) -> None:
    started = time.process_time()
    read(unit * (300_000 // len(unit)))
    assert time.process_time() - started < 20


@pytest.mark.parametrize("text", [".. list-table::\n\n   * - a\n" + "       b\n" * 60_000, "+-+\n" + "|b|\n" * 60_000])
def test_a_cell_of_very_many_lines_is_read(text: str) -> None:
    started = time.process_time()
    assert read(text).text.count("b") == 60_000
    assert time.process_time() - started < 10
