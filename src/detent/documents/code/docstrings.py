"""The documentation of Python: the string with which a module, a class or a function begins."""

from __future__ import annotations

import inspect
import re

from tree_sitter import Node

from detent.documents.code.source import Source

_STRING = re.compile(r"(?P<prefix>[rRuU]?)(?P<quotes>\"\"\"|'''|\"|')(?P<text>.*)(?P=quotes)", re.DOTALL)


def docstring(body: Node | None, source: Source) -> str:
    """The docstring of a module or of a body; "" if it has none."""
    statement = _first_statement(body)
    if statement is None or statement.type != "expression_statement":
        return ""
    string = statement.named_child(0)
    if string is None or string.type != "string" or statement.named_child_count != 1:
        return ""
    match = _STRING.fullmatch(source.text(string))
    return inspect.cleandoc(match["text"]).strip() if match else ""


def _first_statement(body: Node | None) -> Node | None:
    """A file may begin with thousands of comments: they are passed over one by one."""
    if body is None:
        return None
    cursor = body.walk()
    found = cursor.goto_first_child()
    while found and cursor.node is not None and cursor.node.type == "comment":
        found = cursor.goto_next_sibling()
    return cursor.node if found else None
