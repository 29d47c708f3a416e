"""Ruby."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_ruby
from tree_sitter import Node

from detent.documents.code.language import CLASSES, NAME, Language
from detent.documents.parsed import Import
from detent.documents.source_text import SourceText

_DOTTED = re.compile(NAME + rb"(?:\s*(?:&?\.|::)\s*" + NAME + rb")*[?!]?")


def imports(node: Node, source: SourceText) -> Iterator[Import]:
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


LANGUAGE = Language(
    "ruby",
    "Ruby",
    tree_sitter_ruby.language,
    (Path(__file__).parent,),
    imports,
    own=frozenset({"self"}),
    classes=CLASSES | {"module"},
    callee="method",
    dotted=_DOTTED,
    mixins=frozenset({"include", "extend", "prepend"}),
    members_visible=True,
    signature_end=re.compile(r"[;\s]\s*end$"),
)
