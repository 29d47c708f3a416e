"""From a source file to its scopes, its imports and its uses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from tree_sitter import Node

from detent.documents import decoding, tree
from detent.documents.code import languages
from detent.documents.code.bindings import Importing
from detent.documents.code.comments import Comments
from detent.documents.code.language import Language, Match
from detent.documents.code.scopes import Scope, scopes
from detent.documents.code.texts import own_text, signature
from detent.documents.code.uses import Uses
from detent.documents.parsed import Parsed, Part, Unparsable
from detent.documents.source_text import SourceText


def parse(data: bytes, name: str) -> Parsed:
    """The scopes of a file, with its imports and uses. The ending of its name tells the language."""
    language = languages.by_ending(PurePath(name).suffix.lower().removeprefix("."))
    if language is None:
        raise Unparsable(f"Files that end like {name} are not read as code.")
    if decoding.is_binary(data):
        raise Unparsable("The file is binary, and no source code.")
    decoded = decoding.decode(data)
    source = SourceText(decoded.text)
    problems = [f"Some of the file is not {decoded.encoding} and stands as �."] if decoded.faulty else []
    if language.dialect is not None:
        language = language.dialect(name, source.data) or language
    return _parsed(source, language, problems)


def _parsed(source: SourceText, language: Language, problems: list[str]) -> Parsed:
    grown = None if tree.is_too_open(source.data) else tree.grow(source, language.grammar)
    if grown is None:
        problems.append(f"The file is too tangled to be read as {language.title}; it is kept as plain text.")
        return Parsed(language.name, text=source.data.decode(), problems=problems)
    root = grown.root_node
    if (line := tree.first_fault(root, source)) is not None:
        problems.append(f"Line {line} is not valid {language.title}; the rest was read as far as possible.")
    captures, matches = language.names(root), language.scopes(root)
    comments = Comments(source, language, captures.get("comment", ()), captures.get("attribute", ()))
    found = scopes(matches, language, source, comments)
    importing = _importing(matches, language, source)
    uses = Uses(captures, found, importing, language, source).gather(_mixing(matches, language, source))
    top = [(scope.start, scope.end) for scope in found if scope.parent is None]
    return Parsed(
        language.name,
        text=own_text(source, 0, len(source.data), top).strip(),
        properties=_about_the_file(root, top, language, source, comments),
        parts=[_part(scope, language, source, comments) for scope in found],
        imports=[imported for statement in importing for imported in statement.imports],
        uses=uses,
        problems=problems,
    )


def _part(scope: Scope, language: Language, source: SourceText, comments: Comments) -> Part:
    said = scope.documentation
    if language.docstring is not None:
        said = language.docstring(scope.node.child_by_field_name("body"), source)
    properties: dict[str, Any] = {
        "kind": scope.kind,
        "name": scope.name,
        "signature": signature(source, scope, comments, language),
    }
    return Part(
        "Scope",
        scope.key,
        scope.title,
        own_text(source, scope.start, scope.end, scope.inside),
        scope.first,
        scope.last,
        scope.parent.key if scope.parent else "",
        properties | ({"docstring": said} if said else {}),
    )


def _importing(matches: Sequence[Match], language: Language, source: SourceText) -> list[Importing]:
    """The statements that import something. One in another, as `require` is in a declaration, is told once."""
    nodes = [node for match in matches for node in match.get("import", ())]
    found: list[Importing] = []
    for node in sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte)):
        if not found or node.start_byte >= found[-1].end:
            imports = tuple(language.imports(node, source))
            if imports:
                found.append(Importing(node.start_byte, node.end_byte, imports))
    return found


def _mixing(matches: Sequence[Match], language: Language, source: SourceText) -> list[Match]:
    """The calls by which classes inherit from modules."""
    return [match for match in matches if "mixin" in match and source.text(match["mixin"][0]) in language.mixins]


def _about_the_file(
    root: Node, top: Sequence[tuple[int, int]], language: Language, source: SourceText, comments: Comments
) -> dict[str, Any]:
    if language.docstring is not None:
        said = language.docstring(root, source)
    else:
        said = comments.at_the_top(top[0][0] if top else len(source.data))
    return {"docstring": said} if said else {}
