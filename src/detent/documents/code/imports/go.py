"""The imports of Go."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from detent.documents.code.source import Source
from detent.documents.parsed import Import

_VERSION = re.compile(r"/v\d+$|\.v\d+$")


def imports(node: Node, source: Source) -> Iterator[Import]:
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
