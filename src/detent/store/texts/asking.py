"""A query in the words of the index: PostgreSQL's lexemes of it, in each language of the texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from detent.knowledge.query import Query
from detent.store import arrays
from detent.store.database import Connection, fetch

LONGEST_WORD = 2046
"""In bytes; PostgreSQL leaves out longer words, in texts and in queries."""

NOT_HEEDED = "is ignored."
"""End of the notes on parts of a query that have no effect."""

Need = Sequence[Sequence[frozenset[str]]]
"""Groups of alternatives: of each group, all lexemes of one alternative must occur."""


@dataclass(frozen=True)
class Question:
    """A query for texts of some kinds.

    For each language it has the lexemes to search for, the groups of lexemes that the query's phrases require, the
    lexemes that must not occur, and the exact condition to be met, '' if there is none.
    """

    languages: Mapping[int, str]
    """The language of every kind."""
    kinds: frozenset[int]
    """The kinds that are searched."""
    lexemes: Mapping[str, tuple[str, ...]]
    needs: Mapping[str, Need]
    excluded: Mapping[str, tuple[str, ...]]
    conditions: Mapping[str, str]
    notes: tuple[str, ...]
    terms: tuple[str, ...] = field(init=False)
    """All lexemes of all languages; other modules refer to them by position."""
    numbers: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        named = [*self.lexemes.values(), *self.excluded.values()]
        terms = tuple(sorted({lexeme for lexemes in named for lexeme in lexemes}))
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "numbers", {term: number for number, term in enumerate(terms)})

    @property
    def empty(self) -> bool:
        return not any(self.lexemes.values())

    @property
    def conditional(self) -> bool:
        return any(self.conditions.values())


@dataclass
class _Part:
    """The lexemes of one part of the query in one language."""

    lexemes: Sequence[str]
    condition: str


async def ask(connection: Connection, query: Query, kinds: Collection[int] | None) -> Question:
    rows = await fetch(connection, "text_question", {"parts": arrays.texts(_texts(query))})
    languages = {kind: row.language for row in rows for kind in row.kinds}
    searched = frozenset(languages if kinds is None else languages.keys() & set(kinds))
    wanted = sorted({languages[kind] for kind in searched})
    parts = _Parts(rows)
    lexemes = {language: parts.sought(language, query) for language in wanted}
    found = any(lexemes.values())
    return Question(
        languages,
        searched,
        lexemes,
        {language: parts.needs(language, query) for language in wanted},
        {language: parts.excluded(language, query) for language in wanted},
        {language: parts.condition(language, query) for language in wanted},
        (*query.notes, *(parts.ignored(wanted, query) if found else [_why_nothing(query, bool(wanted))])),
    )


class _Parts:
    """The parts of a query in each language: all words as one part, each phrase and each exclusion as its own."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._found: dict[str, dict[str, _Part]] = defaultdict(dict)
        for row in rows:
            self._found[row.language][row.text] = _Part(row.lexemes, row.condition)

    def sought(self, language: str, query: Query) -> tuple[str, ...]:
        found = self._found[language]
        texts = [" ".join(query.words), *query.sought[len(query.words) :]]
        return tuple(sorted({lexeme for text in texts for lexeme in found[text].lexemes}))

    def needs(self, language: str, query: Query) -> Need:
        groups = []
        for alternatives in query.phrases:
            known = [part for part in map(self._found[language].__getitem__, alternatives) if part.condition]
            if known:
                groups.append([need for part in known for need in _least(part)])
        return groups

    def excluded(self, language: str, query: Query) -> tuple[str, ...]:
        """Return the exclusions that are a single lexeme: every text with that lexeme is excluded. A repeated
        lexeme is a phrase and not among them."""
        parts = [self._found[language][text] for text in query.excluded]
        return tuple(part.lexemes[0] for part in parts if len(part.lexemes) == 1 and "<" not in part.condition)

    def condition(self, language: str, query: Query) -> str:
        """Return the query's condition as one text search query. A part with only stop words is no condition."""
        found = self._found[language]
        groups = [[found[phrase].condition for phrase in alternatives] for alternatives in query.phrases]
        required = [" | ".join(f"({one})" for one in group if one) for group in groups]
        excluded = [f"!({found[text].condition})" for text in query.excluded if found[text].condition]
        return " & ".join([*(f"({group})" for group in required if group), *excluded])

    def ignored(self, languages: Sequence[str], query: Query) -> list[str]:
        """Return notes on phrases and exclusions that have no word to search for."""
        texts = [*query.sought[len(query.words) :], *query.excluded]
        empty = [text for text in texts if not any(self._found[language][text].condition for language in languages)]
        return [f"“{text}” has only words that are too common or too long, and {NOT_HEEDED}" for text in empty]


def _texts(query: Query) -> list[str]:
    return sorted({" ".join(query.words), *query.sought[len(query.words) :], *query.excluded})


def _least(part: _Part) -> list[frozenset[str]]:
    """Return the lexemes that a text with the phrase must have: all of them; or, where a dictionary knows several
    for one word, any of those."""
    if "|" in part.condition:
        return [frozenset([lexeme]) for lexeme in part.lexemes]
    return [frozenset(part.lexemes)]


def _why_nothing(query: Query, kinds: bool) -> str:
    if not kinds:
        return "There is nothing to search: no source has added anything of these kinds yet."
    words = [word for text in query.sought for word in text.split()]
    if words and all(len(word.encode()) > LONGEST_WORD for word in words):
        return f"The query has only words of more than {LONGEST_WORD:,} bytes, which are not indexed."
    return (
        query.lack or "The query has only words that are too common or too long, or punctuation; none is searched for."
    )
