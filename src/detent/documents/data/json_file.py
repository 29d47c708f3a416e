"""JSON: the entries of the object at the top. JSON lines: their number and their beginning.

Comments, commas before a closing bracket, and NaN and Infinity are let pass, as many programs write and read them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile

import tree_sitter
import tree_sitter_json

from detent.documents import tree
from detent.documents.data.entries import FAULTY, LONGEST_TEXT, Entries, Malformed, Places, read
from detent.documents.parsed import Parsed
from detent.documents.source_text import SourceText

_DEEPEST = 100_000
_NO_NUMBER = re.compile(r"\b(?:NaN|Infinity)\b")
_PLUS = re.compile(r"(?<=[0-9])[eE]\+(?=[0-9])")
_TYPES = {"true": "boolean", "false": "boolean"}
_BETWEEN = frozenset({",", "comment"})


@cache
def _grammar() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_json.language())


def parse(data: bytes, name: str) -> Parsed:
    """Read a JSON file."""
    text, faulty = read(data)
    entries = Entries(text)
    try:
        if not _read(text, entries):
            entries.loose.append((0, len(text)))
    except Malformed as error:
        entries.fail("JSON", error)
    return entries.parsed("json", faulty=faulty)


def parse_lines(data: bytes, name: str) -> Parsed:
    """Read a file with a JSON value on each line. Its lines have no names, so they become no parts: its text is their
    beginning."""
    text, faulty = read(data)
    shown, lines, problems = text[:LONGEST_TEXT], text[:LONGEST_TEXT].split("\n"), []
    if len(shown) < len(text):
        problems.append(f"It has {len(text):,} characters; the first {len(shown):,} were kept.")
        lines.pop()
    malformed = (_line_problem(number, line) for number, line in enumerate(lines, 1) if line.strip())
    problems.extend([*filter(None, malformed)][:1])
    problems.extend(FAULTY * faulty)
    count = text.count("\n") + (not text.endswith("\n") and bool(text))
    return Parsed("jsonl", text=shown.strip(), properties={"lines": count}, problems=problems)


def _read(text: str, entries: Entries) -> bool:
    """Find the entries of the object at the top; False if something else is there."""
    source = SourceText(_plain(text))
    left_open = sum(map(text.count, "[{")) - sum(map(text.count, "]}"))
    grown = tree.grow(source, _grammar()) if left_open <= _DEEPEST else None
    if grown is None:
        raise Malformed(0, "it is too tangled to be read")
    root, places = grown.root_node, Places(source.data)
    values = [root] if root.is_error else [child for child in root.children if child.type != "comment"]
    fault = _fault(root, values, len(source.data))
    for pair in _pairs(values[0]) if values else ():
        if fault is not None and pair.has_error and pair.end_byte >= fault[0]:
            break
        key, value = pair.children[0], pair.children[-1]
        start, key_end, end = (places.at(byte) for byte in (pair.start_byte, key.end_byte, pair.end_byte))
        entries.add(_name(text[start:key_end]), _TYPES.get(value.type, value.type), start, end)
    if fault is not None:
        raise Malformed(places.at(fault[0]), fault[1])
    return values[0].type == "object"


def _plain(text: str) -> str:
    """A text of the same length whose numbers the grammar knows, which has no word for `1e+9` and `NaN`."""
    if "NaN" in text or "Infinity" in text:
        text = _NO_NUMBER.sub(lambda written: "1" * len(written[0]), text)
    return _PLUS.sub("e0", text) if "+" in text else text


def _pairs(top: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The pairs of an object, up to the first thing in it that is none. One that is never closed is a fault."""
    inside = iter(top.children)
    if next((child.type for child in inside if child.type != "comment"), "") == "{":
        yield from takewhile(lambda child: child.type == "pair", (each for each in inside if each.type not in _BETWEEN))


def _fault(root: tree_sitter.Node, values: Sequence[tree_sitter.Node], end: int) -> tuple[int, str] | None:
    """The place of the first fault, and what is wrong there; None if it is sound."""
    if (found := next(_faults(root, values), None)) is not None and found.start_byte < end:
        return found.start_byte, "something is missing" if found.is_missing else "this is not expected"
    if len(values) > 1:
        return values[1].start_byte, "more follows after its end"
    return (end, "it ends too early") if found or not values or values[0].is_error else None


def _faults(root: tree_sitter.Node, values: Sequence[tree_sitter.Node]) -> Iterator[tree_sitter.Node]:
    """The faults, in the order of the text, except commas before a closing bracket. A bracket that is never closed
    makes all behind it a fault: it is searched for the fault inside."""
    open_nodes = {root.id, *(value.id for value in values[:1])}
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if (node.is_error or node.is_missing) and node.id not in open_nodes:
            yield node
            continue
        inside = [child for child in node.children if child.type != "comment"]
        waiting.extend(
            child
            for place, child in reversed([*enumerate(inside)])
            if (child.has_error or child.is_missing) and not _is_last_comma(inside, place)
        )


def _is_last_comma(inside: Sequence[tree_sitter.Node], place: int) -> bool:
    """Tell whether a fault is only a comma before a closing bracket, or the value that is missing between them."""
    fault, after = inside[place], inside[place + 1 : place + 2]
    if not after or after[0].type not in {"]", "}"}:
        return False
    if fault.is_missing:
        return place > 0 and inside[place - 1].type == ","
    return fault.is_error and [child.type for child in fault.children] == [","]


def _name(key: str) -> str:
    try:
        return str(json.loads(key))
    except ValueError:
        return key[1:-1]


def _line_problem(number: int, line: str) -> str:
    try:
        json.loads(line, parse_int=str)
    except json.JSONDecodeError as error:
        return f"It is no valid JSON: line {number}, column {error.colno}."
    except RecursionError:
        return f"It is no JSON that can be checked: line {number} is nested too deeply."
    return ""
