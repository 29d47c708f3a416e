"""C. Its headers may be C++."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_c
from tree_sitter import Node

from detent.documents.code.language import Language
from detent.documents.code.languages import by_name
from detent.documents.parsed import Import
from detent.documents.source_text import SourceText

_CPP_SIGNS = re.compile(
    rb"^[ \t]*(?:namespace\b|template[ \t]*<|class[ \t]+\w+|public:|private:|protected:|using[ \t])", re.MULTILINE
)


def imports(node: Node, source: SourceText) -> Iterator[Import]:
    """`#include "a.h"` and `#include <a.h>`; what a macro names is not known."""
    path = node.child_by_field_name("path")
    if path is not None and path.type in {"string_literal", "system_lib_string"}:
        module = source.text(path)[1:-1].strip()
        yield Import(module, "*", "", source.line(node.start_byte), system=path.type == "system_lib_string")


def _dialect(name: str, text: bytes) -> Language | None:
    return by_name("cpp") if name.endswith("h") and _CPP_SIGNS.search(text) else None


LANGUAGE = Language("c", "C", tree_sitter_c.language, (Path(__file__).parent,), imports, dialect=_dialect)
