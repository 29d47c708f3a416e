"""The imports of Python."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from detent.documents.code.source import Source
from detent.documents.parsed import Import


def imports(node: Node, source: Source) -> Iterator[Import]:
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


def _module(node: Node, source: Source) -> str | None:
    if node.type == "future_import_statement":
        return "__future__"
    found = node.child_by_field_name("module_name")
    return None if found is None else source.path(found)


def _renamed(node: Node, source: Source) -> tuple[str, str]:
    if node.type != "aliased_import":
        return source.path(node), ""
    return source.path(node.child_by_field_name("name")), source.path(node.child_by_field_name("alias"))
