"""TOML: a part for each table, as its header names it, and for each key before the first of them."""

from __future__ import annotations

import tomllib
from functools import cache

import tree_sitter
import tree_sitter_toml

from detent.documents import tree
from detent.documents.data.entries import Entries, Places, read
from detent.documents.decoding import storable
from detent.documents.parsed import Parsed
from detent.documents.source_text import SourceText

_LARGEST_CHECKED = 5_000_000
_MOST_DOTS = 100
"""Dots on a line of a TOML file that is checked: tomllib takes the square of a key's length in time."""

_KEYS = frozenset({"bare_key", "quoted_key", "dotted_key"})
_TABLES = frozenset({"table", "table_array_element"})
_TYPES = {"integer": "number", "float": "number", "inline_table": "object"}


@cache
def _grammar() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_toml.language())


def parse(data: bytes, name: str) -> Parsed:
    """Read a TOML file."""
    text, faulty = read(data)
    entries = Entries(text)
    entries.problems.extend(_problems(text))
    _read(text, entries)
    entries.loose.append((0, entries.start if entries.parts else len(text)))
    return entries.parsed("toml", faulty=faulty)


def _problems(text: str) -> list[str]:
    if len(text) > _LARGEST_CHECKED or any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        return ["It was not checked to be valid TOML: it is too large, or it has a very long key."]
    try:
        tomllib.loads(text)
    except RecursionError:
        return ["It is no valid TOML: it is nested too deeply."]
    except ValueError as error:
        return [f"It is no valid TOML: {storable(str(error), ' ')}."]
    return []


def _read(text: str, entries: Entries) -> None:
    """Find the tables, and the keys before them. What makes no sense belongs to the table that it stands in."""
    source = SourceText(text)
    grown = tree.grow(source, _grammar())
    if grown is None:
        entries.problems.append("It is too tangled to be read; it is kept as plain text.")
        return
    places = Places(source.data)
    table: tuple[str, int] | None = None
    end = 0
    for node in grown.root_node.children:
        if node.type in _TABLES:
            if table:
                entries.add_commented(table[0], "object", table[1], end)
            table = _key(node, source), places.at(node.start_byte)
        if (last := _last(node)) is None:
            continue
        if node.type == "pair" and table is None:
            start = places.at(node.start_byte)
            entries.add_commented(_key(node, source), _type(last.type), start, places.at(last.end_byte))
        end = places.at(min(last.end_byte, len(source.data)))
        while text[end - 1 : end].isspace():
            end -= 1
    if table:
        entries.add_commented(table[0], "object", table[1], end)


def _key(node: tree_sitter.Node, source: SourceText) -> str:
    """The key of a pair or a table, as it is written."""
    return source.text(next((child for child in node.children if child.type in _KEYS), None))


def _last(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """The last node in a node, without comments and the ends of lines; None if it is a comment itself."""
    while node.type in _TABLES or node.type == "pair":
        inside = [child for child in node.children if child.type != "comment"]
        if not inside:
            break
        node = inside[-1]
    return None if node.type == "comment" else node


def _type(kind: str) -> str:
    return "date" if kind.endswith(("_date", "_time")) else _TYPES.get(kind, kind)
