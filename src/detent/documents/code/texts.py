"""A scope's own text and its signature."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tree_sitter import Node

from detent.documents.code.comments import Comments
from detent.documents.code.language import Language
from detent.documents.code.scopes import Scope
from detent.documents.source_text import SourceText

_LONGEST_SIGNATURE = 500
_BLANK_LINES = re.compile(rb"(?:[ \t\f]*\n)+")
_SIGNATURE_END = re.compile(r"\s*(?:=>|[:={;])\s*$")


def own_text(source: SourceText, start: int, end: int, inside: Iterable[tuple[int, int]]) -> str:
    """The text from `start` to `end` without what is inside it. What had lines for itself goes with these lines and the
    blank ones after them: so the text stays the same when something is added or removed inside."""
    pieces, place = [], start
    for first, last in inside:
        cut, rest = _with_lines(source.data, first, last)
        pieces.append(source.between(place, max(cut, place)))
        place = max(rest, place)
    pieces.append(source.between(place, end))
    return "".join(pieces).rstrip()


def signature(source: SourceText, scope: Scope, comments: Comments, language: Language) -> str:
    """The text before a scope's body, in one line."""
    node = scope.node
    body = _body(node)
    start = max(scope.header, _after_annotations(node))
    end = min(node.end_byte if body is None else body.start_byte, start + 8 * _LONGEST_SIGNATURE)
    text = own_text(source, start, end, comments.between(start, end))
    if body is None:
        text = text.partition("{")[0]
    line = " ".join(text.split())
    if language.signature_end is not None:
        line = language.signature_end.sub("", line)
    if node.type == "type_definition":
        line = f"{line} {scope.name}"
    return _SIGNATURE_END.sub("", _SIGNATURE_END.sub("", line))[:_LONGEST_SIGNATURE]


def _after_annotations(node: Node) -> int:
    """Java's annotations are among the modifiers, as decorators are not elsewhere."""
    first = node.child(0)
    if first is None or first.type != "modifiers":
        return 0
    words = (child for child in first.children if not child.type.endswith("annotation"))
    return next((word.start_byte for word in words), first.end_byte)


def _body(node: Node) -> Node | None:
    """A function may be what a variable is given, or what is exported; an alias of a type has a value for a body."""
    body = node.child_by_field_name("body")
    for field in ("value", "right", "type"):
        if body is None and (value := node.child_by_field_name(field)) is not None:
            body = value.child_by_field_name("body")
            if body is None and node.type == "type_alias_declaration":
                body = value
    return body


def _with_lines(data: bytes, start: int, end: int) -> tuple[int, int]:
    indent = start
    while indent > 0 and data[indent - 1] in b" \t":
        indent -= 1
    if indent > 0 and data[indent - 1] != 0x0A:
        return start, end
    blank = _BLANK_LINES.match(data, end)
    return (indent, blank.end()) if blank else (indent, end)
