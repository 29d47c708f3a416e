"""From what a parser found to what is kept: the file's own node, one for each part, and passages of long texts.

The keys of parts begin with the file's and stay the same while other parts change, so that a change of one function
writes one node. Passages have the hash of their text for a key: one that is moved, or that others were put before, is
still the same.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from detent.documents.parsed import Parsed, Part
from detent.knowledge import UNTITLED, Child, Node, Reference
from detent.knowledge.keys import Unique
from detent.knowledge.splitting import Piece, split

PASSAGE = "Passage"
CONTAINS = "CONTAINS"
_LONGEST_KEY = 2000
_LONGEST_OUTLINE = 1000

_UNITS = {"pdf": "page", "docx": "paragraph", "notebook": "cell"}
"""The unit in which the places of parts are counted, where it is not lines."""

References = Mapping[str, Sequence[Reference]]
"""The references of each part, by the part's key; under "" those of the file itself."""


def file_node(path: str, parsed: Parsed, own: Sequence[Piece], size: int, content_hash: str | None) -> Node:
    """The node of a file. Its text is the first piece of what stands in no part; or, if there is none, the titles of
    the parts."""
    name = path.rpartition("/")[2]
    properties: dict[str, Any] = {"path": path, "kind": parsed.kind, "size_bytes": size, **parsed.properties}
    if parsed.problems:
        properties["problems"] = list(parsed.problems)
    if not parsed.title:
        properties[UNTITLED] = True
    text = own[0].text if own else _outline(parsed.parts)
    return Node(parsed.title or name, text, properties, content_hash)


def children(key: str, parsed: Parsed, own: Sequence[Piece], references: References, passage_size: int) -> list[Child]:
    """The nodes of a file's parts, and the passages of what is too long for one: of the parts, and of its own text."""
    inside: defaultdict[str, list[Part]] = defaultdict(list)
    for part in parsed.parts:
        inside[part.parent].append(part)
    unique = Unique()
    unit = _UNITS.get(parsed.kind, "line")
    whole = {"path": key, "unit": unit}
    if "date" in parsed.properties:
        whole["date"] = parsed.properties["date"]
    found = list(_passages(key, whole, parsed.title, own[1:], unique, lined=parsed.kind == "text"))
    for part in parsed.parts:
        name = part_key(key, part.key)
        contained = [Reference(CONTAINS, each.label, part_key(key, each.key)) for each in inside[part.key]]
        about = {**whole, "first": part.first, "last": part.last}
        pieces = split(part.text, passage_size)
        rest = list(_passages(name, about, part.title, pieces[1:], unique, lined=False))
        contained += [Reference(CONTAINS, PASSAGE, each.key) for each in rest]
        node = Node(part.title, pieces[0].text if pieces else "", {**about, **part.properties})
        links = [*references.get(part.key, ()), *contained]
        found.append(Child(part.label, name, node, links, edge=None if part.parent else CONTAINS))
        found += [Child(each.label, each.key, each.node, edge=None) for each in rest]
    return found


def part_key(file: str, part: str) -> str:
    """The key of a part of a file; one that would be too long for a key is shortened to a number."""
    key = f"{file}#{part}"
    if len(key.encode()) <= _LONGEST_KEY:
        return key
    return f"{file[:200]}#{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _passages(
    name: str, about: Mapping[str, Any], title: str, pieces: Sequence[Piece], unique: Unique, *, lined: bool
) -> Iterator[Child]:
    """Passages for the rest of a text that does not fit into its node. `lined`: its lines are those of
    the file."""
    for piece in pieces:
        key = unique.key(f"{name}~{hashlib.sha256(piece.text.encode()).hexdigest()[:12]}")
        lines = {"first": piece.first, "last": piece.last} if lined else {}
        yield Child(PASSAGE, key, Node(title, piece.text, {**about, **lines}))


def _outline(parts: Sequence[Part]) -> str:
    """The titles of the parts, as many as fit."""
    return "\n".join(part.title for part in parts)[:_LONGEST_OUTLINE]
