"""The scopes that a file's parts call, inherit from and use: its own, and those that it imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from detent.documents.parsed import Import, Parsed, Use
from detent.sources.files.linking.gathering import CONSUMES, MOST_CANDIDATES, Gathered
from detent.sources.files.linking.scopes import Scopes

if TYPE_CHECKING:
    from detent.documents.code.language import Language

_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scope of another file that may be meant by a name. `exact`: by all of it, and not only by its beginning."""

    file: str
    scope: str
    exact: bool = True


Elsewhere = Callable[[Use], Iterable[Candidate]]
"""Finds what a name may mean that is not defined in the file."""


def nowhere(use: Use) -> Iterable[Candidate]:
    """Find nothing: for languages whose imports do not tell in which file a name is defined."""
    return ()


class Aliases:
    """The imports of a file, by their names there."""

    def __init__(self, imports: Sequence[Import]) -> None:
        self._by_alias: dict[str, list[Import]] = {}
        for each in imports:
            if each.alias and each not in (same := self._by_alias.setdefault(each.alias, [])) and len(same) < 3:
                same.append(each)

    def find(self, name: str) -> tuple[Sequence[Import], list[str]]:
        """The imports that a name begins with, the longest alias first, and the names that follow."""
        names = name.split(".")
        for length in range(len(names), 0, -1):
            if found := self._by_alias.get(".".join(names[:length])):
                return found, names[length:]
        return (), names


def member(file: str, names: Sequence[str]) -> list[Candidate]:
    """The candidates for a name with members in a file: the member, or at least what it is a member of."""
    exact = Candidate(file, ".".join(names))
    return [exact] if len(names) == 1 else [exact, Candidate(file, names[0], exact=False)]


def consume(gathered: Gathered, parsed: Parsed, language: Language, elsewhere: Elsewhere) -> None:
    """Refer from each part to the scopes that it names."""
    scopes = Scopes(language, parsed.parts)
    for use in parsed.uses:
        names = use.name.split(".")
        if "" in names or len(names) > _MOST_NAMES:
            continue
        if (found := scopes.resolve(use)) is not None:
            _refer(gathered, scopes, use, Candidate(gathered.path, *found))
            continue
        ranked = sorted(dict.fromkeys(elsewhere(use)), key=lambda candidate: not candidate.exact)
        for candidate in islice(ranked, MOST_CANDIDATES):
            _refer(gathered, scopes, use, candidate)


def _refer(gathered: Gathered, scopes: Scopes, use: Use, candidate: Candidate) -> None:
    """Refer to a candidate. In another file, the first scope that is called so has its title for a key."""
    key = scopes.key(candidate.scope) if candidate.file == gathered.path else candidate.scope
    if key is not None:
        kind = use.kind if candidate.exact else "use"
        gathered.scope(use.part, CONSUMES, candidate.file, key, {"kind": kind})
