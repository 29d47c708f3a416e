"""The names that the scopes of a file call, inherit from and otherwise use.

A name is told as it is written, with dots. What may be meant by it is not looked for here; what is certainly not meant,
because a parameter or a variable of the same name hides it, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import attrgetter

from tree_sitter import Node

from detent.documents.code.bindings import Bindings, Importing
from detent.documents.code.language import Captures, Language, Match
from detent.documents.code.places import Places
from detent.documents.code.scopes import Scope
from detent.documents.parsed import Use
from detent.documents.source_text import SourceText

_LONGEST = 200
"""Bytes of a name with dots that is still read as one: calls on calls on calls are longer and longer."""

_SEPARATOR = re.compile(rb"\s*(?:\?\.|&\.|\.|::|->)\s*")
_ARGUMENTS = re.compile(rb"(?:::)?<[^<>()]*>")
_OPENING = re.compile(rb"\s*\(")
_MEMBER = re.compile(rb"(?:(?<!\.)\.|::)\s*\Z")
_by_start = attrgetter("start_byte")


class Uses:
    """Gathers the uses of one file, each kind and name once for each scope."""

    def __init__(
        self,
        captures: Captures,
        scopes: Sequence[Scope],
        importing: Sequence[Importing],
        language: Language,
        source: SourceText,
    ) -> None:
        self._captures, self._scopes, self._importing = captures, scopes, importing
        self._language, self._source, self._data = language, source, source.data
        self._bindings = Bindings(captures, scopes, importing, language, source)
        self._told = self._bindings.starts | {node.start_byte for node in captures.get("skip", ())}
        self._found: dict[tuple[str, str, str], int] = {}

    def gather(self, mixing: Sequence[Match]) -> list[Use]:
        """All uses of the file. `mixing` are the calls by which Ruby's classes include modules."""
        self._told.update(match["mixin"][0].start_byte for match in mixing)
        self._inherits([*self._captures.get("base", ()), *(node for match in mixing for node in match["mixed"])])
        self._calls()
        self._names()
        self._bare()
        return [Use(kind, name, part, line) for (kind, name, part), line in self._found.items()]

    def _inherits(self, bases: list[Node]) -> None:
        places = Places(self._scopes)
        types = {scope.title: scope.key for scope in reversed(self._scopes) if scope.kind != "impl"}
        for node in sorted(bases, key=_by_start):
            scope = places.at(node.start_byte)
            name = self._dotted(node.start_byte, node.end_byte)
            if name is None or scope is None or scope.kind not in self._language.classes:
                continue
            self._told.add(node.start_byte)
            part = types.get(scope.prefix, scope.key) if scope.kind == "impl" else scope.key
            self._add("inherit", name, part, node)

    def _calls(self) -> None:
        places, importing = Places(self._scopes), Places(self._importing)
        for node, end in sorted(self._called(), key=lambda called: (called[0].start_byte, -called[1])):
            start = node.start_byte
            if start in self._told:
                continue
            name = self._dotted(start, end)
            if name is None or importing.at(start) is not None:
                continue
            self._told.add(start)
            scope = places.at(start)
            if (meant := self._meant(name, scope)) is not None:
                self._add("call", meant, scope.key if scope else "", node)

    def _called(self) -> Iterator[tuple[Node, int]]:
        """Each thing that is called, and the place where its name ends."""
        for node in self._captures.get("call", ()):
            yield node, node.end_byte
        for node in self._captures.get("invocation", ()):
            callee, receiver = node.child_by_field_name(self._language.callee), node.child_by_field_name("receiver")
            if callee is not None and (receiver is None or receiver.type != "call"):
                yield node, callee.end_byte
        for node in self._captures.get("argument", ()):
            if _OPENING.match(self._data, node.end_byte) and not self._is_member(node.start_byte):
                yield node, node.end_byte

    def _meant(self, name: bytes, scope: Scope | None) -> bytes | None:
        """The name of what is called; None if that is something of a local variable. What is called on the receiver of
        one of Go's methods is called on its type."""
        root, _, rest = name.partition(b".")
        if root.decode(errors="replace") in self._language.own:
            return name if rest or root != b"super" else None
        if scope is not None and root == scope.receiver:
            owner = scope.written.partition(".")[0].encode()
            return owner + b"." + rest if rest and b"." not in rest else None
        return None if self._bindings.hides(scope, root) else name

    def _names(self) -> None:
        known, data, told = self._bindings.known, self._data, self._told
        places, importing = Places(self._scopes), Places(self._importing)
        for node in self._captures.get("name", ()):
            start = node.start_byte
            root = data[start : node.end_byte]
            if root not in known or start in told or self._is_member(start) or importing.at(start) is not None:
                continue
            scope = places.at(start)
            part = scope.key if scope else ""
            if self._bindings.hides(scope, root) or self._bindings.replaces(scope, root):
                continue
            match = self._language.dotted.match(data, start, start + _LONGEST)
            name = root if match is None else _SEPARATOR.sub(b".", match[0])
            if part == "" or known[root] != part:
                self._add("use", name, part, node)

    def _bare(self) -> None:
        """Ruby calls a method without arguments by its mere name."""
        bare = self._captures.get("bare", ())
        methods = {scope.name.encode() for scope in self._scopes if scope.is_function} if bare else set()
        places = Places(self._scopes)
        for node in bare:
            start = node.start_byte
            name = self._data[start : node.end_byte]
            if name in methods and start not in self._told and not self._is_member(start):
                scope = places.at(start)
                if not self._bindings.hides(scope, name):
                    self._add("call", name, scope.key if scope else "", node)

    def _dotted(self, start: int, end: int) -> bytes | None:
        """The name with dots that stands between two places; None if something else than a name does."""
        if end - start > _LONGEST:
            return None
        written = self._data[start:end]
        if written.endswith(b"]"):
            written = written[: written.index(b"[")] if b"[" in written else written
        if b"<" in written:
            written = _ARGUMENTS.sub(b"", _ARGUMENTS.sub(b"", written))
        if written.startswith(b"super()."):
            written = b"super" + written[7:]
        return _SEPARATOR.sub(b".", written) if self._language.dotted.fullmatch(written) else None

    def _is_member(self, start: int) -> bool:
        """Tell whether the name at a place is a member of another, as b is in `a.b`."""
        return _MEMBER.search(self._data, max(0, start - 80), start) is not None

    def _add(self, kind: str, name: bytes, part: str, node: Node) -> None:
        key = kind, name.decode(errors="replace"), part
        if key not in self._found:
            self._found[key] = self._source.line(node.start_byte)
