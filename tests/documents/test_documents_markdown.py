"""Reading Markdown."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from detent.documents.markdown import parse
from detent.documents.parsed import Parsed, Part

HANDBOOK = """\
Before all, see [the site](https://example.org/a b "t").

# Handbook

What it is.

## Install

Words
on two lines.

### Linux

Run `make_it()`.

### Windows

No.

## Use

Do.
"""


def read(text: str) -> Parsed:
    return parse(text.encode(), "a.md")


def part(text: str, key: str) -> Part:
    return next(part for part in read(text).parts if part.key == key)


def links(text: str) -> list[tuple[str, str, int]]:
    return [(link.kind, link.target, link.line) for link in read(text).links]


def test_headings_make_a_tree_of_sections() -> None:
    parts = [(part.key, part.parent, part.title, part.first, part.last) for part in read(HANDBOOK).parts]
    assert parts == [
        ("handbook", "", "Handbook", 3, 22),
        ("install", "handbook", "Install", 7, 19),
        ("linux", "install", "Linux", 12, 15),
        ("windows", "install", "Windows", 16, 19),
        ("use", "handbook", "Use", 20, 22),
    ]


def test_a_section_has_its_own_text_only() -> None:
    assert part(HANDBOOK, "install").text == "Words on two lines."
    assert part(HANDBOOK, "handbook").text == "What it is."


def test_a_section_says_its_level() -> None:
    assert part(HANDBOOK, "linux").properties == {"level": 3}
    assert part(HANDBOOK, "handbook").label == "MarkdownSection"


def test_what_stands_before_the_first_heading_is_the_files_own_text() -> None:
    parsed = read("Hello [you](b.md).\n\n# One\n")
    assert parsed.text == "Hello you."
    assert [(link.target, link.part) for link in parsed.links] == [("b.md", "")]


def test_the_title_is_the_first_heading_of_level_one() -> None:
    assert read("## Two\n\n# *One*\n").title == "One"
    assert read("## Two\n").title == ""


def test_underlined_headings_are_headings() -> None:
    parts = read("One\nmore\n===\n\nTwo\n---\n").parts
    assert [(part.key, part.properties["level"], part.first) for part in parts] == [
        ("one-more", 1, 1),
        ("two", 2, 5),
    ]


def test_a_heading_in_a_code_block_is_no_heading() -> None:
    parsed = read("# One\n\n```sh\n# two\n```\n\n    # three\n")
    assert [part.key for part in parsed.parts] == ["one"]
    assert parsed.parts[0].text == "# two\n\n# three"


def test_a_heading_in_a_quote_is_text() -> None:
    parsed = read("# One\n\n> # two\n> three\n")
    assert [(part.key, part.text) for part in parsed.parts] == [("one", "two\n\nthree")]


def test_headings_that_are_alike_have_keys_of_their_own() -> None:
    assert [part.key for part in read("# A\n## B\n## B\n# A\n## B\n").parts] == ["a", "b", "a/b", "a~2", "a~2/b"]


def test_a_heading_that_skips_levels_stands_in_the_one_above() -> None:
    assert [(part.key, part.parent) for part in read("# A\n#### B\n## C\n").parts] == [
        ("a", ""),
        ("b", "a"),
        ("c", "a"),
    ]


def test_code_is_kept_as_it_is_and_its_languages_are_told() -> None:
    text = "# A\n\n```Python title=x\nif a:\n\n    b *c*\n```\n\n~~~{.rust}\nfn\n~~~\n\n```python\nd\n```\n"
    assert part(text, "a").text == "if a:\n\n    b *c*\n\nfn\n\nd"
    assert part(text, "a").properties["languages"] == ["python", "rust"]


def test_lists_stay_lists() -> None:
    text = "Before\n\n- one\n- two\n  - three\n\n3. x\n4. y\n\nafter"
    assert read(text).text == "Before\n\n- one\n- two\n  - three\n\n3. x\n4. y\n\nafter"


def test_the_items_of_a_list_keep_their_numbers() -> None:
    assert read(" 1. one\n 1. two\n\n> 7) seven\n").text == "1. one\n1. two\n\n7) seven"


def test_blocks_in_a_tight_list_stand_by_themselves() -> None:
    text = "- one\n  ```\n  code\n  ```\n  two\n  ***\n  three\n- # four\n- > five\n- <!-- no -->\n  six\n"
    assert read(text).text == "- one\n\ncode\ntwo\nthree\n- four\n\n- five\n- six"


def test_a_table_is_read_row_by_row() -> None:
    text = "# T\n\n| a | *b* |\n|---|:-:|\n| 1 | `x\\|y` |\n| 2\n\nend\n\na | b\n--|--\n"
    assert part(text, "t").text == "a | b\n1 | x|y\n2\n\nend\n\na | b"
    assert part(text, "t").properties["tables"] == 2


def test_cells_may_be_empty_and_more_than_the_header_has() -> None:
    text = "|a|b|c|\n|-|-|-|\n|1||3|\n|1|2|3| *4*\\|5 | ä |\n|6\n"
    assert read(text).text == "a | b | c\n1 |  | 3\n1 | 2 | 3 | *4*\\|5 | ä\n6"


@pytest.mark.parametrize("text", ["a | b\n---\n", "a | b\n--|--|--\n", "    a | b\n    --|--\n", "a\n|--|\n"])
def test_what_only_looks_like_a_table_is_none(text: str) -> None:
    assert all("tables" not in part.properties for part in read("# T\n\n" + text).parts)


def test_a_table_ends_where_another_block_begins() -> None:
    parsed = read("| a |\n|---|\n| b |\n# C\n")
    assert (parsed.text, [part.key for part in parsed.parts]) == ("a\nb", ["c"])


def test_html_is_read_as_text() -> None:
    block = '<p align="center">\n <img src="logo.png" alt="Logo"> <b>Fa</b>st\n</p>\n'
    text = f"# A\n\n{block}\n<!-- no -->\n\nx <kbd>K</kbd><br>y\n"
    assert part(text, "a").text == "Logo Fast\n\nx K\ny"
    assert links(text) == [("image", "logo.png", 4)]


def test_links_are_told_as_they_are_written() -> None:
    text = (
        "[a](b%20c.md#d) and [e]\n[f][E] <https://g.org> ![h](i/j.png 'k')\n\n| [l](m) |\n|---|\n| [n](ö.md) |\n\n"
        '<a href="o">p</a>\n\nq <a href=r>s</a>\n\n[e]: <../t.md>\n'
    )
    assert links(text) == [
        ("link", "b%20c.md#d", 1),
        ("link", "../t.md", 1),
        ("link", "../t.md", 2),
        ("link", "https://g.org", 2),
        ("image", "i/j.png", 2),
        ("link", "m", 4),
        ("link", "ö.md", 6),
        ("link", "o", 8),
        ("link", "r", 10),
    ]


def test_the_line_of_a_link_is_that_where_it_begins() -> None:
    text = "é `a\nb` <i\nclass=c> [d\ne](f\n'g') <h@i.org>\n\n> j\n> ![k](l)\n\nm\n[n](o)\n===\n"
    assert links(text) == [("link", "f", 3), ("link", "mailto:h@i.org", 5), ("image", "l", 8), ("link", "o", 11)]


def test_the_words_of_an_image_link_to_nothing() -> None:
    text = "[![one `two_three`](four)](five) ![six [seven](eight)](nine)"
    assert links(text) == [("link", "five", 1), ("image", "four", 1), ("image", "nine", 1)]
    assert read(text).text == "one two_three six seven"


def test_code_that_names_a_symbol_is_told() -> None:
    text = "# `Client.run()`\n\nSee `std::sort`, `ls -la`, `x`, and\n`helper`.\n"
    assert links(text) == [("code", "Client.run", 1), ("code", "std::sort", 3), ("code", "helper", 4)]
    assert {link.part for link in read(text).links} == {"clientrun"}


def test_front_matter_is_told_and_is_no_text() -> None:
    parsed = read("---\ntitle: The Title\ndate: 2024-05-06\ntags: [a, 1, null]\nmore: {x: .inf}\n---\n# One\n")
    assert parsed.title == "The Title"
    assert parsed.properties == {
        "date": "2024-05-06",
        "front_matter": {
            "title": "The Title",
            "date": "2024-05-06",
            "tags": ["a", 1, None],
            "more": {"x": "inf"},
        },
    }
    assert (parsed.text, parsed.parts[0].first, parsed.problems) == ("", 7, [])


def test_front_matter_may_be_toml() -> None:
    parsed = read("+++\ntitle = 'T'\nat = 2024-05-06T07:08:09Z\n+++\ntext\n")
    assert parsed.properties == {"front_matter": {"title": "T", "at": "2024-05-06T07:08:09+00:00"}}
    assert parsed.text == "text"


@pytest.mark.parametrize(
    ("written", "date"),
    [("2024-05-06", "2024-05-06"), ("2024-05-06 07:08:09", "2024-05-06T07:08:09"), ("2024", "2024"), ("May", None)],
)
def test_a_date_in_front_matter_is_that_of_the_file(written: str, date: str | None) -> None:
    assert read(f"---\ndate: {written}\n---\n# A\n").properties.get("date") == date


def test_malformed_front_matter_is_read_line_by_line() -> None:
    parsed = read("---\ntitle: A: B\nlist: [\n'tags\n---\ntext\n")
    assert parsed.properties == {"front_matter": {"title": "A: B", "list": "["}}
    assert (parsed.title, parsed.text) == ("A: B", "text")
    assert parsed.problems == ["The front matter is malformed; only its plain lines were read."]


def test_rulers_around_text_are_no_front_matter() -> None:
    parsed = read("---\n\nHello\n\n---\n")
    assert (parsed.properties, parsed.text, parsed.problems) == ({}, "Hello", [])


@pytest.mark.parametrize(
    "values",
    [
        "a: &a [x, x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefgh")),
        "a: &a\n  b: *a\n",
        "a: " + "[" * 5000 + "\n",
        "a: " + "9" * 6000 + "\n",
        "a: 0x" + "f" * 6000 + "\n",
        "a: 2024-99-99\n",
        "a: !!int ''\n",
        "a: !!python/object/apply:os.getcwd []\n",
        "a: " + "x" * 40_000 + "\n",
        "a: @b\n",
    ],
)
def test_front_matter_that_means_harm_does_none(values: str) -> None:
    parsed = read(f"---\ntitle: T\n{values}---\ntext\n")
    assert (parsed.title, parsed.text, len(parsed.problems)) == ("T", "text", 1)


def test_merging_in_front_matter_multiplies_nothing() -> None:
    levels = "".join(f"m{i}: &m{i}\n  <<: [{', '.join([f'*m{i - 1}'] * 9)}]\n" for i in range(1, 12))
    started = time.process_time()
    assert read(f"---\ntitle: T\nm0: &m0 {{k: v}}\n{levels}---\n").title == "T"
    assert time.process_time() - started < 5


def test_values_that_no_database_takes_are_replaced() -> None:
    parsed = read('---\na: "x\\0y"\nb: "\\ud800"\n? 2024-01-01\n: c\n---\n')
    assert parsed.properties["front_matter"] == {"a": "x\ufffdy", "b": "\ufffd", "2024-01-01": "c"}


def test_fifty_thousand_headings_are_read() -> None:
    started = time.process_time()
    parts = read("# Heading\n\ntext\n\n" * 50_000).parts
    assert len({part.key for part in parts}) == 50_000
    assert time.process_time() - started < 30


@pytest.mark.parametrize("mark", [">", "> ", "- ", "1. ", "> - "])
def test_what_stands_too_deep_is_plain_text(mark: str) -> None:
    parsed = read("# A\n\n" + mark * 5000 + "deep words\n\n# B\n")
    assert "deep words" in parsed.parts[0].text
    assert [part.key for part in parsed.parts] == ["a", "b"]
    assert parsed.problems == ["Quotes and lists more than 60 levels deep were read as plain text."]


@pytest.mark.parametrize("deep", ["1. " * 100_000, "> " * 100_000, "- " * 100_000, "> - " * 100_000])
def test_many_lines_below_very_deep_ones_take_no_longer(deep: str) -> None:
    started = time.process_time()
    parsed = read("# A\n\n" + deep + "deep words\n" + "more\n" * 100_000 + "\n# B\n")
    assert parsed.parts[0].text.startswith("deep words more more")
    assert [part.key for part in parsed.parts] == ["a", "b"]
    assert parsed.problems == ["Quotes and lists more than 60 levels deep were read as plain text."]
    assert time.process_time() - started < 10


def test_many_lists_in_each_other_line_by_line_take_no_longer() -> None:
    started = time.process_time()
    parsed = read("".join("\t" * n + "- - a\n" for n in range(2500)) + "more\n" * 600_000)
    assert parsed.text.count("more") == 600_000
    assert time.process_time() - started < 4


def test_deep_marks_in_code_are_code() -> None:
    art = ">" * 100 + "\n" + "- " * 100 + "x"
    assert (read(f"```\n{art}\n```\n").text, read(f"```\n{art}\n```\n").problems) == (art, [])


def test_an_empty_quote_is_not_too_deep() -> None:
    assert read(">\n\n-\n").problems == []


@pytest.mark.parametrize("unit", ["word ", "x", "[", "![a", "*a ", "`a", "<a ", "|a", "[a](", "&lt;"])
def test_a_line_of_very_many_characters_is_read(unit: str) -> None:
    started = time.process_time()
    parsed = read(unit * (200_000 // len(unit)))
    assert parsed.text
    assert time.process_time() - started < 30


def test_a_link_in_a_very_long_paragraph_is_found() -> None:
    text = "word " * 5000 + "[a](b) " + "word " * 5000
    assert links(text) == [("link", "b", 1)]
    assert read(text).text == ("word " * 5000 + "a " + "word " * 5000).strip()


def test_rows_without_cells_cost_nothing() -> None:
    started = time.process_time()
    header = "|" + "a|" * 1000 + "\n|" + "-|" * 1000 + "\n"
    assert part("# T\n\n" + header + "|b\n" * 50_000, "t").text.count("\n") == 50_000
    assert time.process_time() - started < 20


def test_what_comes_after_very_many_rows_without_cells_is_no_part_of_their_table() -> None:
    header = "|" + "a|" * 1000 + "\n|" + "-|" * 1000 + "\n"
    parsed = read("# T\n\n" + header + "|b\n" * 300 + "\ntext\n\n# U\n\n|c|d|\n|-|-|\n|1|2|\n\nend\nof it\n")
    assert [part.text.count("\n") for part in parsed.parts] == [302, 3]
    assert (parsed.parts[0].text[-7:], parsed.parts[1].text) == ("b\n\ntext", "c | d\n1 | 2\n\nend of it")
    assert [part.properties["tables"] for part in parsed.parts] == [1, 1]
