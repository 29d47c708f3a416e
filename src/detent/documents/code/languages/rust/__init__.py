"""Rust."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Node

from detent.documents.code.language import Language
from detent.documents.parsed import Import
from detent.documents.source_text import SourceText

_LONGEST = 1000
"""Characters of a path whose list is still read: lists in lists make it longer and longer."""


def imports(node: Node, source: SourceText) -> Iterator[Import]:
    """`use a::b::{self, c as d, e::*};`, `mod a;`, `extern crate a as b;`."""
    line = source.line(node.start_byte)
    name = source.path(node.child_by_field_name("name"))
    if node.type == "mod_item":
        yield Import(f"self::{name}", "", name, line)
    elif node.type == "extern_crate_declaration":
        yield Import(name, "", _alias(node, source) or name, line)
    else:
        argument = node.child_by_field_name("argument")
        for module, used, alias in _used(argument, source) if argument else ():
            yield Import(module, used, "" if alias == "_" else alias, line)


def _used(argument: Node, source: SourceText) -> Iterator[tuple[str, str, str]]:
    """Module, name and alias of each thing that a tree of `use` binds. The path before a node goes along with it."""
    waiting: list[tuple[str, Node]] = [("", argument)]
    while waiting:
        before, node = waiting.pop()
        if node.type == "scoped_use_list":
            inner = _joined(before, source.path(node.child_by_field_name("path")))
            found = node.child_by_field_name("list")
            if found is not None and len(inner) <= _LONGEST:
                waiting.extend((inner, child) for child in reversed(found.named_children))
        elif node.type == "use_list":
            waiting.extend((before, child) for child in reversed(node.named_children))
        elif node.type == "use_wildcard":
            path = next(iter(node.named_children), None)
            yield _joined(before, source.path(path)), "*", ""
        elif node.type == "use_as_clause":
            module, name, _ = _split(before, source.path(node.child_by_field_name("path")))
            yield module, name, _alias(node, source)
        elif node.type in {"identifier", "scoped_identifier", "self", "crate", "super"}:
            yield _split(before, source.path(node))


def _split(before: str, path: str) -> tuple[str, str, str]:
    """`a::b` binds b of a; `self` in a list binds the module itself."""
    if path == "self" and before:
        return before, "", before.rpartition("::")[2]
    module, _, name = _joined(before, path).rpartition("::")
    return (module, name, name) if module else (name, "", name)


def _joined(before: str, path: str) -> str:
    return f"{before}::{path}" if before and path else before or path


def _alias(node: Node, source: SourceText) -> str:
    return source.path(node.child_by_field_name("alias"))


LANGUAGE = Language(
    "rust",
    "Rust",
    tree_sitter_rust.language,
    (Path(__file__).parent,),
    imports,
    own=frozenset({"self", "Self", "crate", "super"}),
)
