"""What PostgreSQL makes of words, asked once for each: nearly all that is in a new text was in one before.

It reads some five megabytes of text in a second. None of its lexemes reaches over white space, nor over the signs
that `apart` takes out, so the lexemes of a text are those of the words between them, as often as each word occurs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from detent.store.texts.lexemes import MOST_TIMES, Integers, Occurrences, read, used

MOST_WORDS = 200_000
"""Words that are remembered. Some tens of megabytes; and in most collections, no more are common."""

_APART = bytes.maketrans(b'./<>,()[]{}"', b" " * 12)
"""Signs between words: what `apart` takes out, and some that are part of no lexeme, so that fewer words differ."""

_NONE = np.zeros(0, np.int64)


def words_in(text: str) -> Counter[bytes]:
    """How often each word occurs in a text."""
    return Counter(text.encode().translate(_APART).split())


class Vocabulary:
    """The lexemes of words under one configuration. Lexemes have numbers; word n has those from `first[n]` on."""

    def __init__(self) -> None:
        self._words: dict[bytes, int] = {}
        self._terms: dict[bytes, int] = {}
        self._first = np.zeros(1, np.int64)
        self._term, self._times = _NONE, _NONE

    def __len__(self) -> int:
        return len(self._words)

    def unknown(self, texts: Iterable[Counter[bytes]]) -> list[bytes]:
        """The words of texts that are yet to be learned."""
        return list(set().union(*texts) - self._words.keys())

    def learn(self, words: Sequence[bytes], vectors: Sequence[bytes]) -> None:
        """Take up new words, and the vectors that PostgreSQL makes of them."""
        found = read(vectors)
        order = np.argsort(found.text, kind="stable")
        numbers = np.array([self._terms.setdefault(term, len(self._terms)) for term in found.terms], np.int64)
        counts = np.bincount(found.text, minlength=len(words))
        self._first = np.concatenate([self._first, self._first[-1] + np.cumsum(counts)])
        self._term = np.concatenate([self._term, numbers[found.term[order]]])
        self._times = np.concatenate([self._times, found.times[order]])
        self._words |= zip(words, range(len(self._words), len(self._words) + len(words)), strict=True)

    def occurrences(self, texts: Sequence[Counter[bytes]]) -> Occurrences:
        """The lexemes of texts, whose words are all known."""
        words = sum(map(len, texts))
        word = np.fromiter(self._numbers(texts), np.int64, words)
        times = np.fromiter((many for text in texts for many in text.values()), np.int64, words)
        text = np.repeat(np.arange(len(texts)), [len(each) for each in texts])
        lexemes = self._first[word + 1] - self._first[word]
        place = _ranges(self._first[word], lexemes)
        term, text, times = self._term[place], np.repeat(text, lexemes), np.repeat(times, lexemes) * self._times[place]
        return used(list(self._terms), *_summed(term, text, times, len(texts)))

    def _numbers(self, texts: Sequence[Counter[bytes]]) -> Iterator[int]:
        for text in texts:
            yield from map(self._words.__getitem__, text)


def _ranges(first: Integers, counts: Integers) -> Integers:
    """The numbers of all ranges, one after the other: so many from each first on."""
    ends = np.cumsum(counts)
    shift: Integers = np.repeat(first - (ends - counts), counts)
    return np.arange(len(shift)) + shift


def _summed(term: Integers, text: Integers, times: Integers, texts: int) -> tuple[Integers, Integers, Integers]:
    """One line for each lexeme of a text, which may have come by several words."""
    key = term * texts + text
    order = np.argsort(key)
    key = key[order]
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    if not len(begins):
        return _NONE, _NONE, _NONE
    total = np.minimum(np.add.reduceat(times[order], begins), MOST_TIMES)
    return key[begins] // texts, key[begins] % texts, total
