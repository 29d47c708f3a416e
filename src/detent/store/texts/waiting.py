"""Cache of the words of texts that are not indexed yet.

A text's number never stands for another text, so each of the few waiting texts is split into words once, and not
in every search until it is indexed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from detent.store.texts.lexemes import Words


class Waiting:
    def __init__(self) -> None:
        self._languages: Mapping[int, str] = {}
        self._words: dict[int, Words] = {}

    def known(self, numbers: Sequence[int], languages: Mapping[int, str]) -> dict[int, Words]:
        """Return the words of the cached texts among these, by the present languages of the kinds."""
        words = self._words if languages == self._languages else {}
        return {number: words[number] for number in numbers if number in words}

    def keep(self, words: dict[int, Words], languages: Mapping[int, str]) -> None:
        """Replace the cache: these are the texts that wait now; others are forgotten."""
        self._words, self._languages = words, languages
