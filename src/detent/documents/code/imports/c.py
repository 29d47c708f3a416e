"""The imports of C and C++: what is included."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from detent.documents.code.source import Source
from detent.documents.parsed import Import


def imports(node: Node, source: Source) -> Iterator[Import]:
    """`#include "a.h"` and `#include <a.h>`; what a macro names is not known."""
    path = node.child_by_field_name("path")
    if path is not None and path.type in {"string_literal", "system_lib_string"}:
        module = source.text(path)[1:-1].strip()
        yield Import(module, "*", "", source.line(node.start_byte), system=path.type == "system_lib_string")
