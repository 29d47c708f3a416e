"""Go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_go
from tree_sitter import Node

from detent.documents.code.language import Language
from detent.documents.parsed import Import
from detent.documents.source_text import SourceText

_TYPES = (
    b"any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint "
    b"uint8 uint16 uint32 uint64 uintptr"
)
_VERSION = re.compile(r"/v\d+$|\.v\d+$")


def imports(node: Node, source: SourceText) -> Iterator[Import]:
    """`import alias "path"`. Without an alias a package is called as its path ends, less the number of a version."""
    path = node.child_by_field_name("path")
    named = node.child_by_field_name("name")
    if path is None:
        return
    module = source.text(path)[1:-1]
    name = source.text(named) if named else _VERSION.sub("", module).rpartition("/")[2]
    line = source.line(node.start_byte)
    if name == ".":
        yield Import(module, "*", "", line)
    else:
        yield Import(module, "", "" if name == "_" else name, line)


LANGUAGE = Language(
    "go", "Go", tree_sitter_go.language, (Path(__file__).parent,), imports, built_in=frozenset(_TYPES.split())
)
