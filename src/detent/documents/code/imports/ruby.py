"""The imports of Ruby."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from detent.documents.code.source import Source
from detent.documents.parsed import Import


def imports(node: Node, source: Source) -> Iterator[Import]:
    """`require "a"` and `require_relative "a"`, whose module is `./a`."""
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or arguments is None:
        return
    verb = source.text(method)
    argument = next(iter(arguments.named_children), None)
    if verb not in {"require", "require_relative"} or argument is None:
        return
    if any(child.type != "string_content" for child in argument.named_children):
        return
    module = source.text(argument)[1:-1]
    if verb == "require_relative" and not module.startswith(("./", "../")):
        module = f"./{module}"
    yield Import(module, "*", "", source.line(node.start_byte))
