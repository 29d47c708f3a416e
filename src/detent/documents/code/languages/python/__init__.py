"""Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_python
from tree_sitter import Node

from detent.documents.code.language import Language
from detent.documents.parsed import Import
from detent.documents.source_text import SourceText

_STRING = re.compile(r"(?P<prefix>[rRuU]?)(?P<quotes>\"\"\"|'''|\"|')(?P<text>.*)(?P=quotes)", re.DOTALL)


def imports(node: Node, source: SourceText) -> Iterator[Import]:
    """`import a.b`, `import a as b`, `from ..a import b as c`, `from a import *`."""
    line = source.line(node.start_byte)
    module = _module(node, source)
    for named in node.children_by_field_name("name"):
        name, alias = _renamed(named, source)
        if module is None:
            yield Import(name, "", alias or name, line)
        else:
            yield Import(module, name, alias or name, line)
    if module is not None and any(child.type == "wildcard_import" for child in node.children):
        yield Import(module, "*", "", line)


def _module(node: Node, source: SourceText) -> str | None:
    if node.type == "future_import_statement":
        return "__future__"
    found = node.child_by_field_name("module_name")
    return None if found is None else source.path(found)


def _renamed(node: Node, source: SourceText) -> tuple[str, str]:
    if node.type != "aliased_import":
        return source.path(node), ""
    return source.path(node.child_by_field_name("name")), source.path(node.child_by_field_name("alias"))


def docstring(body: Node | None, source: SourceText) -> str:
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


LANGUAGE = Language(
    "python",
    "Python",
    tree_sitter_python.language,
    (Path(__file__).parent,),
    imports,
    docstring=docstring,
    own=frozenset({"self", "cls", "super"}),
    body_sees_members=True,
)
