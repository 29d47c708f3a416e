"""The query language of search, read as web search engines read it.

Plain words are searched for one by one. A phrase in quotes must occur; of phrases joined by `or`, one must occur.
A word or a phrase after a minus must not occur. Any text is a valid query: anything that has no meaning as syntax
is read as plain words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

LONGEST = 4096
"""Number of characters of a query that are read."""

MOST_WORDS = 64
MOST_PHRASES = 16

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_TOKEN = re.compile(r'(?P<minus>[-\u2212]?)(?<!\d)"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+)|"')
_MINUS = re.compile(r"[-\u2212](?![-\u2212])(?=\S)")


@dataclass(frozen=True)
class Query:
    """A query that was read.

    `words` are searched for. `phrases` are groups of alternatives; of each group one must occur. No part of
    `excluded` may occur. `notes` say which parts of the query were not read; `signs` means that the query has
    characters but no word or number; `typed` is the whole text.
    """

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    signs: bool = False
    typed: str = field(default="", compare=False)

    @property
    def sought(self) -> tuple[str, ...]:
        """All search terms: the words and the phrases."""
        return (*self.words, *(phrase for alternatives in self.phrases for phrase in alternatives))

    @property
    def lack(self) -> str:
        """The reason why the query has no search terms; '' if it has some."""
        if self.sought:
            return ""
        if self.excluded:
            return "The query only excludes; it needs at least one word to search for."
        if self.signs:
            return "The query has only punctuation; it needs at least one word to search for."
        return "The query is empty."


@dataclass
class _Token:
    text: str
    quoted: bool = False
    excluded: bool = False

    @property
    def joins(self) -> bool:
        return not self.quoted and not self.excluded and self.text in {"or", "OR"}


def parse(text: str) -> Query:
    """Read a query. No text is an error."""
    notes = []
    if len(text) > LONGEST:
        notes.append(f"The query is {len(text):,} characters long; the first {LONGEST:,} were read.")
    readable = _UNREADABLE.sub(" ", text[:LONGEST]).translate(_QUOTES)
    tokens = list(_tokens(readable))
    words, phrases = _sought(tokens)
    excluded = _distinct(token.text for token in tokens if token.excluded)
    if len(words) > MOST_WORDS:
        notes.append(f"The query has {len(words)} different words; the first {MOST_WORDS} are used.")
    if len(phrases) > MOST_PHRASES or len(excluded) > MOST_PHRASES:
        notes.append(
            f"Only the first {MOST_PHRASES} phrases and the first {MOST_PHRASES} exclusions of the query are used."
        )
    signs = not tokens and bool(readable.strip())
    return Query(
        words[:MOST_WORDS],
        phrases[:MOST_PHRASES],
        excluded[:MOST_PHRASES],
        tuple(notes),
        signs,
        " ".join(readable.split()),
    )


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the words and phrases of a text, without punctuation. A quote after a digit is an inch sign."""
    for match in _TOKEN.finditer(text):
        if match["phrase"] is not None:
            phrase = " ".join(match["phrase"].split())
            token = _Token(phrase, quoted=True, excluded=bool(match["minus"]))
        else:
            word = match["word"] or ""
            minus = bool(_MINUS.match(word))
            token = _Token(word[minus:], excluded=minus)
        if any(map(str.isalnum, token.text)):
            yield token


def _sought(tokens: Iterable[_Token]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the words and the phrases. Words joined with a phrase are alternatives to it."""
    words: list[str] = []
    phrases: list[tuple[str, ...]] = []
    for group in _groups([token for token in tokens if not token.excluded]):
        texts = _distinct(token.text for token in group)
        if any(token.quoted for token in group):
            phrases.append(texts[:MOST_PHRASES])
        else:
            words.extend(texts)
    return _distinct(words), tuple(phrases)


def _groups(tokens: list[_Token]) -> list[list[_Token]]:
    """Group the tokens that are joined by `or`. An `or` at either end of the query joins nothing: it is a word."""
    groups: list[list[_Token]] = []
    joined = False
    for place, token in enumerate(tokens):
        if token.joins and groups and place + 1 < len(tokens) and not joined:
            joined = True
        elif joined:
            groups[-1].append(token)
            joined = False
        else:
            groups.append([token])
    return groups


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Remove duplicates, ignoring case; keep the first spelling.

    The index keeps straße and strasse apart, and so does this function: `casefold` would not.
    """
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(text.lower(), text)
    return tuple(first.values())
