"""Outlines: the sections of a document, whatever their headings are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.documents.outline import LONGEST_KEY, Outline, symbol


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("connect", "connect"),
        ("Client.connect()", "Client.connect"),
        ("std::vector", "std::vector"),
        (" Client ", "Client"),
        ("größe", "größe"),
        ("ls -la", ""),
        ("my folder/file", ""),
        ("src/a.py", ""),
        ("--verbose", ""),
        ("ab", ""),
        ("3rd", ""),
        ("a..b", ""),
        ("f(x)", ""),
        ("x" * 300, ""),
    ],
)
def test_a_symbol_is_told_from_other_code(code: str, name: str) -> None:
    assert symbol(code) == name


def test_the_key_of_a_deep_section_with_long_headings_stays_short() -> None:
    outline = Outline("Section")
    for level in range(1, 7):
        outline.open(level, "深" * 120, level)
    keys = [part.key for part in outline.parsed("a", 6, properties={}).parts]
    assert len(set(keys)) == 6
    assert max(len(key.encode()) for key in keys) <= LONGEST_KEY
    assert all(key.endswith("/" + "深" * 120) for key in keys[2:])


def test_data_and_scripts_in_links_are_no_places() -> None:
    outline = Outline("Section")
    for target in ("data:image/png;base64,AAAA", "JavaScript:alert(1)", "", " ", "x" * 3000, " a.html "):
        outline.link("link", target, 1)
    assert [link.target for link in outline.parsed("a", 1, properties={}).links] == ["a.html"]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 4)), max_size=20))
def test_parents_come_first_and_reach_around_what_is_in_them(headings: list[tuple[str, int]]) -> None:
    outline = Outline("Section")
    for place, (title, level) in enumerate(headings, 1):
        outline.open(level, title, place)
    parts = outline.parsed("text", len(headings), properties={}).parts
    seen = {part.key: part for part in parts}
    assert len(seen) == len(parts)
    for place, part in enumerate(parts):
        if part.parent:
            parent = seen[part.parent]
            assert parts.index(parent) < place
            assert parent.first < part.first <= part.last <= parent.last
            assert parent.properties["level"] < part.properties["level"]
