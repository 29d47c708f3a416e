"""The words of texts that are not indexed yet, as this program has met them.

A text's number never stands for another text, so that of the few that wait each is split into words once, and not in
every search until it is indexed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from detent.store.texts.lexemes import Words


class Waiting:
    def __init__(self) -> None:
        self._languages: Mapping[int, str] = {}
        self._words: dict[int, Words] = {}

    def known(self, numbers: Sequence[int], languages: Mapping[int, str]) -> dict[int, Words]:
        """The words of those of these texts that were met before, by the languages that the kinds have now."""
        words = self._words if languages == self._languages else {}
        return {number: words[number] for number in numbers if number in words}

    def keep(self, words: dict[int, Words], languages: Mapping[int, str]) -> None:
        """These are the texts that wait now; the others are forgotten."""
        self._words, self._languages = words, languages
