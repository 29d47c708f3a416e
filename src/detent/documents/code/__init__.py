"""Code: from a source file to its scopes, to what it imports, and to what they call, inherit from and use.

A file becomes a syntax tree (`tree`). The queries of its language (`languages`, `queries/`) find in it the scopes
(`scopes`), the comments above them (`comments`), the statements that import (`imports/`), and the names (`uses`), of
which those that a local variable hides (`bindings`) are left out. Nothing here follows the tree by recursion, however
deep it is, and nothing resolves a name: that takes more than one file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from tree_sitter import Node

from detent.documents import decoding
from detent.documents.code import tree
from detent.documents.code.bindings import Importing
from detent.documents.code.comments import Comments
from detent.documents.code.docstrings import docstring
from detent.documents.code.languages import BY_ENDING, CPP, Language, Match
from detent.documents.code.scopes import Scope, scopes
from detent.documents.code.source import Source
from detent.documents.code.texts import own_text, signature
from detent.documents.code.uses import Uses
from detent.documents.parsed import Parsed, Part, Unparsable

LANGUAGES = {ending: language.name for ending, language in BY_ENDING.items()}
"""The endings of the files that are read here, with the name of the language."""

_CPP_SIGNS = re.compile(
    rb"^[ \t]*(?:namespace\b|template[ \t]*<|class[ \t]+\w+|public:|private:|protected:|using[ \t])", re.MULTILINE
)
_MIXING = frozenset({"include", "extend", "prepend"})


def parse(data: bytes, name: str) -> Parsed:
    """The scopes of a file, with its imports and uses. The ending of its name tells the language."""
    language = BY_ENDING.get(PurePath(name).suffix.lower())
    if language is None:
        raise Unparsable(f"Files that end like {name} are not read as code.")
    if decoding.is_binary(data):
        raise Unparsable("The file is binary, and no source code.")
    decoded = decoding.decode(data)
    source = Source(decoded.text)
    problems = [f"Some of the file is not {decoded.encoding} and stands as �."] if decoded.faulty else []
    language = CPP if language.name == "c" and name.endswith("h") and _CPP_SIGNS.search(source.data) else language
    return _parsed(source, language, problems)


def _parsed(source: Source, language: Language, problems: list[str]) -> Parsed:
    grown = tree.grow(source, language)
    if grown is None:
        problems.append(f"The file is too tangled to be read as {language.title}; it is kept as plain text.")
        return Parsed(language.name, text=source.data.decode(), problems=problems)
    root = grown.root_node
    if (line := tree.first_fault(root, source)) is not None:
        problems.append(f"Line {line} is not valid {language.title}; the rest was read as far as possible.")
    captures, matches = language.names(root), language.scopes(root)
    comments = Comments(source, captures.get("comment", ()), captures.get("attribute", ()))
    found = scopes(matches, language, source, comments)
    importing = _importing(matches, language, source)
    uses = Uses(captures, found, importing, language, source).gather(_mixing(matches, source))
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


def _part(scope: Scope, language: Language, source: Source, comments: Comments) -> Part:
    said = scope.documentation
    if language.name == "python":
        said = docstring(scope.node.child_by_field_name("body"), source)
    properties: dict[str, Any] = {
        "kind": scope.kind,
        "name": scope.name,
        "signature": signature(source, scope, comments),
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


def _importing(matches: Sequence[Match], language: Language, source: Source) -> list[Importing]:
    """The statements that import something. One in another, as `require` is in a declaration, is told once."""
    nodes = [node for match in matches for node in match.get("import", ())]
    found: list[Importing] = []
    for node in sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte)):
        if not found or node.start_byte >= found[-1].end:
            imports = tuple(language.imports(node, source))
            if imports:
                found.append(Importing(node.start_byte, node.end_byte, imports))
    return found


def _mixing(matches: Sequence[Match], source: Source) -> list[Match]:
    """The calls by which Ruby's classes include modules."""
    return [match for match in matches if "mixin" in match and source.text(match["mixin"][0]) in _MIXING]


def _about_the_file(
    root: Node, top: Sequence[tuple[int, int]], language: Language, source: Source, comments: Comments
) -> dict[str, Any]:
    if language.name == "python":
        said = docstring(root, source)
    else:
        said = comments.at_the_top(top[0][0] if top else len(source.data))
    return {"docstring": said} if said else {}
