"""Kotlin, as a language is added: this folder, and one line that tells the endings of its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tree_sitter_kotlin
from tree_sitter import Node

from detent.documents.code.language import Language
from detent.documents.parsed import Import
from detent.documents.source_text import SourceText


def imports(node: Node, source: SourceText) -> Iterator[Import]:
    """`import a.b.C`, `import a.b.C as D`, `import a.b.*`."""
    path, *alias = node.named_children
    written, line = source.path(path), source.line(node.start_byte)
    if any(child.type == "*" for child in node.children):
        yield Import(written, "*", "", line)
    else:
        module, _, name = written.rpartition(".")
        yield Import(module, name, source.text(alias[0]) if alias else name, line)


LANGUAGE = Language(
    "kotlin",
    "Kotlin",
    tree_sitter_kotlin.language,
    (Path(__file__).parent,),
    imports,
    own=frozenset({"this", "super"}),
    fields_visible=True,
    members_visible=True,
)
