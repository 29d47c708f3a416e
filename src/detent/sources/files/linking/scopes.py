"""The scopes of a file, found by the names that are visible in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from detent.documents.parsed import Part, Use

if TYPE_CHECKING:
    from detent.documents.code.language import Language

_OWN = frozenset({"self", "cls", "this", "Self"})
_FUNCTIONS = frozenset({"function", "method", "macro"})
_SPACES = frozenset({"namespace", "module"})
_DEEPEST = 40


class Scopes:
    """The scopes of one file. They are called by their titles, which are names with dots: `Client.connect`."""

    def __init__(self, language: Language, parts: Sequence[Part]) -> None:
        self._language = language
        self._titles = {part.key: part.title for part in parts}
        self._by_title: dict[str, Part] = {}
        for part in parts:
            self._by_title.setdefault(part.title, part)

    def __contains__(self, title: str) -> bool:
        return title in self._by_title

    def key(self, title: str) -> str | None:
        """The key of the first scope that is called so."""
        part = self._by_title.get(title)
        return part.key if part is not None else None

    def resolve(self, use: Use) -> tuple[str, bool] | None:
        """The title of the scope of this file that a name means, from the innermost scope outward; and whether that is
        all of the name, and not only its beginning."""
        root, *members = use.name.split(".")
        if root in _OWN:
            return self._own_member(use, members)
        for around in self._around(use):
            if around == "" or self._shows(around, use):
                title = f"{around}.{root}" if around else root
                if title in self._by_title:
                    return self._member(title, members)
        return None

    def space(self, part: str) -> str:
        """The title of the innermost module or namespace in which a part is; "" if it is in none."""
        return next((title for title in _outward(self._titles.get(part, "")) if self._kind(title) in _SPACES), "")

    def _own_member(self, use: Use, members: list[str]) -> tuple[str, bool] | None:
        """The method of the class around it that a method calls on its own object."""
        if len(members) != 1:
            return None
        for around in _outward(self._titles.get(use.part, "")):
            kind = self._kind(around)
            if kind not in _FUNCTIONS and (kind not in _SPACES or kind in self._language.classes):
                title = f"{around}.{members[0]}"
                return (title, True) if title in self._by_title else None
        return None

    def _around(self, use: Use) -> Iterator[str]:
        """The titles of the scopes around a name, "" for the file at last. A class inherits from what is around it."""
        title = self._titles.get(use.part, "")
        yield from _outward(title.rpartition(".")[0] if use.kind == "inherit" else title)
        yield ""

    def _shows(self, around: str, use: Use) -> bool:
        """Tell whether the members of a scope are visible by their plain names where a name is used."""
        kind = self._kind(around)
        if kind in _FUNCTIONS or kind in _SPACES or self._language.members_visible:
            return True
        return self._language.body_sees_members and self._titles.get(use.part) == around

    def _member(self, title: str, members: list[str]) -> tuple[str, bool] | None:
        """Follow the members of a scope as far as they are known. Those of a module, which may be in other files, must
        all be known."""
        for member in members:
            if f"{title}.{member}" not in self._by_title:
                return None if self._kind(title) in _SPACES else (title, False)
            title = f"{title}.{member}"
        return title, True

    def _kind(self, title: str) -> str:
        """The kind of a scope; "" if it is not in this file, as the class of a method that is defined elsewhere."""
        part = self._by_title.get(title)
        return str(part.properties.get("kind", "")) if part is not None else ""


def _outward(title: str) -> Iterator[str]:
    """`a.b.c`, `a.b`, `a`."""
    for _ in range(_DEEPEST):
        if not title:
            return
        yield title
        title = title.rpartition(".")[0]
