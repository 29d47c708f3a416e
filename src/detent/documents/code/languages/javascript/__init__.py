"""JavaScript, and what TypeScript shares with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tree_sitter_javascript
from tree_sitter import Node

from detent.documents.code.language import Language
from detent.documents.parsed import Import
from detent.documents.source_text import SourceText

_NAMES = frozenset({"identifier", "type_identifier"})
_EXPORTING = _NAMES | {"export_statement", "export_clause"}


def imports(node: Node, source: SourceText) -> Iterator[Import]:
    """`import d, {a as b} from "m"`, `export … from "m"`, `const {a} = require("m")`, `await import("m")`; and, of no
    module, `export {a as b}` and what is exported by default, by its name."""
    line = source.line(node.start_byte)
    exported = node.type in _EXPORTING
    if node.type in _NAMES:
        bound = iter([("", source.text(node), "default")])
    elif node.type == "export_clause":
        bound = (("", name, alias) for name, alias in _clause(node, source) if name != alias)
    elif node.type == "variable_declarator":
        bound = _required(node, source)
    elif node.type == "call_expression":
        bound = ((module, "", "") for module in [_argument(node, source)] if module)
    else:
        bound = _declared(node, source)
    for module, name, alias in bound:
        yield Import(module, name, alias, line, exported=exported)


def _declared(node: Node, source: SourceText) -> Iterator[tuple[str, str, str]]:
    clauses = [child for child in node.named_children if child.type != "string"]
    clause = next((child for child in clauses if child.type == "import_require_clause"), None)
    module = _quoted((clause or node).child_by_field_name("source"), source)
    if not module:
        return
    named = [*_clauses(clauses, source)]
    if named:
        yield from ((module, name, alias) for name, alias in named)
    elif node.type == "export_statement":
        yield module, "*", ""
    elif not clauses:
        yield module, "", ""


def _clauses(clauses: list[Node], source: SourceText) -> Iterator[tuple[str, str]]:
    for clause in clauses:
        if clause.type == "import_clause":
            for child in clause.named_children:
                yield from _clause(child, source)
        else:
            yield from _clause(clause, source)


def _clause(clause: Node, source: SourceText) -> Iterator[tuple[str, str]]:
    if clause.type == "identifier":
        yield "default", source.text(clause)
    elif clause.type in {"namespace_import", "namespace_export", "import_require_clause"}:
        yield "", source.text(next(iter(clause.named_children), None))
    elif clause.type in {"named_imports", "export_clause"}:
        for specifier in clause.named_children:
            name = source.text(specifier.child_by_field_name("name"))
            alias = source.text(specifier.child_by_field_name("alias"))
            if name:
                yield name, alias or name


def _required(node: Node, source: SourceText) -> Iterator[tuple[str, str, str]]:
    """The names of a module that a variable, or the variables of a pattern, are bound to."""
    value, target = node.child_by_field_name("value"), node.child_by_field_name("name")
    member = ""
    if value is not None and value.type == "await_expression":
        value = next(iter(value.named_children), None)
    elif value is not None and value.type == "member_expression":
        member = source.text(value.child_by_field_name("property"))
        value = value.child_by_field_name("object")
    module = _argument(value, source)
    if not module or target is None:
        return
    if target.type == "identifier":
        yield module, member, source.text(target)
    elif target.type == "object_pattern" and not member:
        for name, alias in _pattern(target, source):
            yield module, name, alias


def _pattern(pattern: Node, source: SourceText) -> Iterator[tuple[str, str]]:
    for child in pattern.named_children:
        if child.type == "shorthand_property_identifier_pattern":
            yield source.text(child), source.text(child)
        elif child.type == "pair_pattern":
            value = child.child_by_field_name("value")
            if value is not None and value.type == "identifier":
                yield source.text(child.child_by_field_name("key")), source.text(value)


def _argument(call: Node | None, source: SourceText) -> str:
    """The module that `require("m")` or `import("m")` names; "" for any other call."""
    if call is None or call.type != "call_expression":
        return ""
    if source.text(call.child_by_field_name("function")) not in {"require", "import"}:
        return ""
    arguments = call.child_by_field_name("arguments")
    return _quoted(next(iter(arguments.named_children), None) if arguments else None, source)


def _quoted(node: Node | None, source: SourceText) -> str:
    return source.text(node)[1:-1]


SHARED = Path(__file__).parent / "shared"
"""The queries that TypeScript shares."""

LANGUAGE = Language(
    "javascript",
    "JavaScript",
    tree_sitter_javascript.language,
    (SHARED, Path(__file__).parent),
    imports,
    own=frozenset({"this", "super"}),
)
