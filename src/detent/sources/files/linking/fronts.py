"""Fronts: files that speak for the folder in which they are, such as `__init__.py` and `index.ts`.

Others name the folder, and do not know whether it is one, or a file of that name with an ending. They refer to such a
file, and the front says that it is meant by that, with all it defines and takes over from other files. So it is one
reference, whatever is there, and it is decided by who is there in the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from detent.documents.parsed import Part
from detent.sources.files.linking.gathering import Gathered

_FUNCTIONS = frozenset({"function", "method", "macro"})


def speak_for(gathered: Gathered, stand_in: str, parts: Sequence[Part]) -> None:
    """Say that the file is meant where `stand_in` is named, and what it defines by what is named in that."""
    gathered.file_alias(stand_in)
    for part in visible(parts):
        gathered.scope_alias(stand_in, part.key, gathered.path, part.key)


def take_over(gathered: Gathered, name: str, file: str, scope: str, stand_in: str = "") -> None:
    """Say that a name of the file means a scope of another one, and so does the name in `stand_in`."""
    gathered.scope_alias(gathered.path, name, file, scope)
    if stand_in:
        gathered.scope_alias(stand_in, name, gathered.path, name)


def rename(gathered: Gathered, name: str, scope: str, parts: Sequence[Part], stand_in: str = "") -> None:
    """Say that a name of the file means a scope of its own, with all in it, and so does the name in `stand_in`."""
    for part in visible(parts):
        if part.key == scope or part.key.startswith(f"{scope}."):
            take_over(gathered, name + part.key[len(scope) :], gathered.path, part.key, stand_in)


def visible(parts: Sequence[Part]) -> Iterator[Part]:
    """The scopes that other files can name: none in a function, and of several with the same name the first."""
    inside: set[str] = set()
    for part in parts:
        if part.parent in inside or part.properties.get("kind") in _FUNCTIONS:
            inside.add(part.key)
        if part.parent not in inside and part.key == part.title:
            yield part
