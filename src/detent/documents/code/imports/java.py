"""The imports of Java."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from detent.documents.code.source import Source
from detent.documents.parsed import Import


def imports(node: Node, source: Source) -> Iterator[Import]:
    """`import a.b.C;` takes C of the package a.b; `import static a.b.C.d;` takes d of the class a.b.C."""
    line = source.line(node.start_byte)
    path = next((child for child in node.named_children if child.type in {"scoped_identifier", "identifier"}), None)
    if path is None:
        return
    written = source.path(path)
    if any(child.type == "asterisk" for child in node.named_children):
        yield Import(written, "*", "", line)
    else:
        module, _, name = written.rpartition(".")
        yield Import(module, name, name, line) if module else Import(name, "", name, line)
