"""The scopes of a file: what they are called, where they begin and end, and which stands in which."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from detent.documents.code.comments import Comments
from detent.documents.code.language import Language, Match
from detent.documents.source_text import SourceText
from detent.knowledge.keys import Unique

_DEEPEST = 32
"""Scopes that stand in each other, at most; what is deeper belongs to the text of the last of them."""

_LONGEST_NAME = 200
_SPACES = frozenset({"namespace", "module"})
_FUNCTIONS = frozenset({"function", "method", "macro"})
_ARGUMENTS = re.compile(r"(?<=\w)(?:::)?<[^<>]*>")
_IMPLEMENTING = re.compile(r"(?:&|\*|\(|\[|'\w+\s|\b(?:mut|dyn|const|unsafe)\b|\s)*(?P<type>[A-Za-z_][\w:]*)")
_EXPORTS = re.compile(r"^(?:module\.)?exports\.|^this\.")


@dataclass(slots=True, eq=False)
class Scope:
    """A class, a function, or another part of a program with a name. From `start` to `end` with all that belongs to it;
    `header` is where its signature begins. `inside` are the places of the scopes in it."""

    node: Node
    kind: str
    written: str
    start: int
    end: int
    first: int
    last: int
    header: int
    name_start: int
    documentation: str = ""
    trait: str = ""
    declared: bool = False
    parent: Scope | None = None
    title: str = ""
    key: str = ""
    prefix: str = ""
    """The beginning of the names of the scopes in it."""
    depth: int = 1
    receiver: bytes = b""
    inside: list[tuple[int, int]] = field(default_factory=list)
    bound: set[bytes] = field(default_factory=set)
    """The names of its parameters and variables."""
    nested: set[bytes] = field(default_factory=set)
    """The names of the scopes in it, where these hide others of the same name: in functions."""

    @property
    def name(self) -> str:
        if self.kind == "impl" or self.written.startswith("["):
            return self.title if self.kind == "impl" else self.written
        return self.written.rpartition(".")[2] or self.written

    @property
    def is_space(self) -> bool:
        """It is there only for the sake of the names in it."""
        return self.kind in _SPACES

    @property
    def is_function(self) -> bool:
        return self.kind in _FUNCTIONS

    @property
    def on_top(self) -> bool:
        """The whole file knows it by its name."""
        if self.kind == "impl" or "." in self.written:
            return False
        scope = self.parent
        while scope is not None and scope.is_space:
            scope = scope.parent
        return scope is None


def scopes(matches: Sequence[Match], language: Language, source: SourceText, comments: Comments) -> list[Scope]:
    """The scopes of a file in the order of the text, those around others first."""
    around = _Around(matches)
    found: dict[int, Scope] = {}
    for match in matches:
        for node, kind, declared in _kinds(match):
            written = _written(kind, match, source)
            if node.id in found and found[node.id].kind == "type":
                found[node.id].kind = kind
            elif written and node.id not in found:
                found[node.id] = scope = _scope(node, kind, written, match, source)
                scope.declared = declared
                _widen(scope, around.outermost(scope), source, comments)
    ordered = sorted(found.values(), key=lambda scope: (scope.start, -scope.end))
    placed = _placed(_defined(ordered), language)
    for scope in placed:
        if scope.parent is not None:
            scope.parent.inside.append((scope.start, scope.end))
    return placed


def cleaned(written: str) -> str:
    """A name as it is written, with dots and without type arguments: `a::B<T>::c` is `a.B.c`."""
    if "<" in written and "operator" not in written:
        written = _ARGUMENTS.sub("", _ARGUMENTS.sub("", written))
    return "".join(written.replace("::", ".").split())[:_LONGEST_NAME].strip(".")


class _Around:
    """Nodes that belong around others: decorators, `export`, `template <…>`. A node around two is around neither."""

    def __init__(self, matches: Iterable[Match]) -> None:
        self._around: dict[int, tuple[Node, bool]] = {}
        self._times: Counter[int] = Counter()
        for match in matches:
            for wrapped in match.get("wrapped", ()):
                header = "header" in match
                node = match["header" if header else "wrapper"][0]
                self._around[wrapped.id] = node, header
                self._times[node.id] += 1

    def outermost(self, scope: Scope) -> Node:
        """The outermost node that belongs to a scope. The scope's signature begins where the last `header` does."""
        node, in_header = scope.node, True
        while (found := self._around.get(node.id)) is not None and self._times[found[0].id] == 1:
            node, header = found
            in_header = in_header and header
            if in_header:
                scope.header = node.start_byte
        return node


def _kinds(match: Match) -> Iterator[tuple[Node, str, bool]]:
    for capture, nodes in match.items():
        role, _, kind = capture.partition(".")
        if kind:
            yield nodes[0], kind, role == "declared"


def _written(kind: str, match: Match, source: SourceText) -> str:
    """The name of a scope; "" if it has none."""
    start, end = match["name"][0].start_byte, match["name"][0].end_byte
    text = source.between(start, min(end, start + 2 * _LONGEST_NAME))
    if kind == "impl":
        implementing = _IMPLEMENTING.match(text)
        text = implementing["type"] if implementing else ""
    plain = _EXPORTS.sub("", cleaned(text.strip("\"'`")))
    if "(" in plain and "operator" not in plain:
        return ""
    owner = match.get("owner")
    return f"{cleaned(source.text(owner[0]))}.{plain}" if owner and plain else plain


def _scope(node: Node, kind: str, written: str, match: Match, source: SourceText) -> Scope:
    if ".prototype." in written:
        kind, written = "method", written.replace(".prototype.", ".")
    scope = Scope(
        node, kind, written, node.start_byte, node.end_byte, 0, 0, node.start_byte, match["name"][0].start_byte
    )
    if trait := match.get("trait"):
        scope.trait = cleaned(source.text(trait[0]))
    return scope


def _widen(scope: Scope, outermost: Node, source: SourceText, comments: Comments) -> None:
    """Let a scope begin with what belongs to it, and end with its semicolon."""
    scope.start, scope.end = outermost.start_byte, min(outermost.end_byte, len(source.data))
    above, scope.documentation = comments.above(scope.start)
    scope.start = scope.start if above is None else above
    if source.data[scope.end : scope.end + 1] == b";":
        scope.end += 1
    scope.first, scope.last = source.line(scope.start), source.last_line(scope.start, scope.end)


def _defined(ordered: list[Scope]) -> list[Scope]:
    """Without what is declared here and also defined."""
    defined = {scope.written for scope in ordered if not scope.declared}
    return [scope for scope in ordered if not (scope.declared and scope.written in defined)]


def _placed(ordered: Iterable[Scope], language: Language) -> list[Scope]:
    """Say of each scope in which it stands, and give it its key."""
    placed: list[Scope] = []
    around: list[Scope] = []
    unique = Unique()
    for scope in ordered:
        while around and around[-1].end < scope.end:
            _end_before(around.pop(), scope)
        parent = around[-1] if around else None
        if parent is not None and (parent.depth == _DEEPEST or (scope.declared and not parent.is_space)):
            continue
        _name(scope, parent, language)
        scope.key = unique.key(scope.title)
        placed.append(scope)
        around.append(scope)
    return placed


def _end_before(scope: Scope, following: Scope) -> None:
    """A comment above a scope may be the end of the one before it, for the grammar: then it is taken from that."""
    if scope.end > following.start:
        scope.end = following.start
        scope.last = max(scope.first, following.first - 1)


def _name(scope: Scope, parent: Scope | None, language: Language) -> None:
    before = f"{parent.prefix}." if parent is not None and parent.prefix else ""
    scope.parent, scope.depth = parent, 1 if parent is None else parent.depth + 1
    scope.prefix = scope.title = before + scope.written
    if scope.kind == "impl":
        scope.title = f"impl {scope.trait} for {scope.prefix}" if scope.trait else f"impl {scope.prefix}"
    elif scope.kind == "function":
        in_class = parent is not None and parent.kind in language.classes
        qualified = language.qualified_methods and "." in scope.written
        scope.kind = "method" if in_class or qualified else "function"
    if parent is not None and parent.is_function:
        parent.nested.add(scope.name.encode())
