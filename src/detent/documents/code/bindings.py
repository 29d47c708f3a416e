"""The names that a file knows, and the parameters and variables that hide them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from detent.documents.code.language import Captures, Language
from detent.documents.code.places import Places
from detent.documents.code.scopes import Scope
from detent.documents.parsed import Import
from detent.documents.source_text import SourceText


@dataclass(frozen=True, slots=True)
class Importing:
    """A statement that imports, from `start` to `end`, and what it binds."""

    start: int
    end: int
    imports: tuple[Import, ...]

    @property
    def names(self) -> set[bytes]:
        return {found.alias.partition(".")[0].encode() for found in self.imports if found.alias}


class Bindings:
    """`known` are the names that are imported, that stand at the top of the file, or that others may share with it,
    with the key of the scope that they name, if they name one. `bound` are the other variables at the top. `starts`
    are the places where a name is bound or defined, and so not used."""

    def __init__(
        self,
        captures: Captures,
        scopes: Sequence[Scope],
        importing: Sequence[Importing],
        language: Language,
        source: SourceText,
    ) -> None:
        self._scopes, self._language, self._data = scopes, language, source.data
        self.known = self._known(captures, importing)
        self.bound: set[bytes] = set()
        self.starts = {scope.name_start for scope in scopes}
        self.starts.update(node.start_byte for node in captures.get("constant", ()))
        self._bind(captures.get("bind", ()))
        self._receive(captures.get("receiver", ()))
        self._free(captures.get("free", ()), importing)

    def hides(self, scope: Scope | None, name: bytes) -> bool:
        """Tell whether a local variable hides, in a scope, what the file knows by a name."""
        around = scope
        while around is not None:
            visible = around is scope or around.is_function or self._language.fields_visible
            if visible and name in around.bound:
                return True
            around = around.parent
        return name in self.bound

    def replaces(self, scope: Scope | None, name: bytes) -> bool:
        """Tell whether a function or a class in a scope, or around it, has this name."""
        while scope is not None:
            if name in scope.nested:
                return True
            scope = scope.parent
        return False

    def _known(self, captures: Captures, importing: Iterable[Importing]) -> dict[bytes, str]:
        known = dict.fromkeys((self._name(node) for node in captures.get("constant", ())), "")
        shared = {self._name(node) for node in captures.get("shared", ())} - self._language.built_in
        known.update(dict.fromkeys(shared, ""))
        known.update((scope.name.encode(), scope.key) for scope in reversed(self._scopes) if scope.on_top)
        for statement in importing:
            known.update(dict.fromkeys(statement.names - known.keys(), ""))
        return known

    def _bind(self, nodes: Sequence[Node]) -> None:
        places = Places(self._scopes)
        for node in nodes:
            start = node.start_byte
            if start in self.starts:
                continue
            self.starts.add(start)
            scope = places.at(start)
            (self.bound if scope is None else scope.bound).add(self._data[start : node.end_byte])
        for bound in (self.bound, *(scope.bound for scope in self._scopes if scope.is_space)):
            bound.difference_update(self.known)

    def _receive(self, nodes: Sequence[Node]) -> None:
        places = Places(self._scopes)
        for node in nodes:
            if (scope := places.at(node.start_byte)) is not None:
                scope.receiver = self._name(node)

    def _free(self, nodes: Sequence[Node], importing: Sequence[Importing]) -> None:
        """Unbind the names that a function declares global or imports itself."""
        places = Places(self._scopes)
        for node in nodes:
            if (scope := places.at(node.start_byte)) is not None:
                scope.bound.discard(self._name(node))
        places = Places(self._scopes)
        for statement in importing:
            if (scope := places.at(statement.start)) is not None:
                scope.bound -= statement.names

    def _name(self, node: Node) -> bytes:
        return self._data[node.start_byte : node.end_byte]
