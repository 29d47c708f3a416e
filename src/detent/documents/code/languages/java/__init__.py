"""Java."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tree_sitter_java
from tree_sitter import Node

from detent.documents.code.language import Language
from detent.documents.parsed import Import
from detent.documents.source_text import SourceText


def imports(node: Node, source: SourceText) -> Iterator[Import]:
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


LANGUAGE = Language(
    "java",
    "Java",
    tree_sitter_java.language,
    (Path(__file__).parent,),
    imports,
    own=frozenset({"this", "super"}),
    callee="name",
    fields_visible=True,
    members_visible=True,
)
