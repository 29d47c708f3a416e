"""PostgreSQL's lexemes of words, asked for once per word: nearly every word of a new text occurred before.

PostgreSQL reads some five megabytes of text per second. None of its lexemes reaches over white space, nor over the
signs that `apart` takes out, so the lexemes of a text are those of the words between them.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from detent.store.texts.lexemes import MOST_TIMES, Integers, Occurrences, read, used

MOST_WORDS = 200_000
"""Number of words remembered. They take some tens of megabytes; in most collections, no more are common."""

_APART = bytes.maketrans(b'./<>,()[]{}"', b" " * 12)
"""Signs between words: those that `apart` takes out, and some that are part of no lexeme, so that there are fewer
different words."""


class Spelled(NamedTuple):
    """Texts as the numbers of their words, in a row, and the number of words in each text."""

    words: Integers
    lengths: Integers


class Vocabulary:
    """The lexemes of words under one configuration.

    Words and lexemes have numbers; word n has the lexemes from `first[n]` on, each as often as it occurs in the
    word.
    """

    def __init__(self) -> None:
        self._words: defaultdict[bytes, int] = defaultdict(itertools.count().__next__)
        self._terms: dict[bytes, int] = {}
        self._first = np.zeros(1, np.int64)
        self._term = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._words)

    def spell(self, texts: Sequence[str]) -> Spelled:
        """Number the words of texts, including words that are not learned yet."""
        split = [text.encode().translate(_APART).split() for text in texts]
        lengths = np.array([len(words) for words in split], np.int64)
        numbers = map(self._words.__getitem__, itertools.chain.from_iterable(split))
        return Spelled(np.fromiter(numbers, np.int64, int(lengths.sum())), lengths)

    @property
    def unknown(self) -> list[bytes]:
        """Return the words that are not learned yet, in the order of their numbers."""
        return list(itertools.islice(self._words, len(self._first) - 1, None))

    def learn(self, vectors: Sequence[bytes]) -> None:
        """Learn the unknown words from PostgreSQL's vectors of them."""
        found = read(vectors)
        order = np.argsort(found.text, kind="stable")
        numbers = np.array([self._terms.setdefault(term, len(self._terms)) for term in found.terms], np.int64)
        counts = np.bincount(found.text, found.times, len(vectors)).astype(np.int64)
        self._term = np.concatenate([self._term, np.repeat(numbers[found.term[order]], found.times[order])])
        self._first = np.concatenate([self._first, self._first[-1] + np.cumsum(counts)])

    def occurrences(self, spelled: Spelled) -> Occurrences:
        """Return the lexemes of texts whose words are all known."""
        first = self._first[spelled.words]
        counts = self._first[spelled.words + 1] - first
        texts = max(len(spelled.lengths), 1)
        text = np.repeat(np.repeat(np.arange(len(spelled.lengths)), spelled.lengths), counts)
        lines = np.sort(self._term[_ranges(first, counts)] * texts + text)
        begins = np.flatnonzero(np.diff(lines, prepend=-1))
        times = np.minimum(np.diff(begins, append=len(lines)), MOST_TIMES)
        return used(list(self._terms), lines[begins] // texts, lines[begins] % texts, times)


def _ranges(first: Integers, counts: Integers) -> Integers:
    """Return the numbers of all ranges, in a row: `counts` numbers from each `first` on."""
    shift: Integers = np.repeat(first - (np.cumsum(counts) - counts), counts)
    return np.arange(len(shift)) + shift
