"""Texts that a search reads itself, without the index.

These are candidates, to verify that they still exist and match the query exactly; texts that are not indexed yet;
and the texts of a filter that allows only a few.
"""

from __future__ import annotations

from collections.abc import Collection as Some
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from detent.store import arrays
from detent.store.database import Connection, fetch
from detent.store.texts.asking import Question
from detent.store.texts.index import fetch_binary
from detent.store.texts.lexemes import tally, words_of
from detent.store.texts.ranking import Collection, Flags, Integers, saturation
from detent.store.texts.waiting import Waiting

WAITING = 100
WAITING_BYTES = 500_000
"""Limits on the number and the total size of unindexed texts that a search reads."""

THE_NEWEST = {"most": WAITING + 1, "bytes": WAITING_BYTES}

FEW = 200
FEW_BYTES = 1_000_000
"""A filter with at most this many texts is answered by reading them."""


@dataclass(frozen=True)
class Text:
    """An existing text, and True if it meets the query's phrases and exclusions."""

    item_id: int
    kind_id: int
    text_id: int
    wanted: bool


@dataclass(frozen=True)
class Examined:
    """Texts; and for those counted, how often each term occurs, which terms are in the text's language, and its
    length."""

    texts: Sequence[Text]
    counted: Sequence[int]
    times: Integers
    meant: Flags
    lengths: Integers

    def scores(self, collection: Collection) -> dict[int, float]:
        weights = saturation(self.times, self.lengths[:, None], collection.average)
        totals = (weights * self.meant * collection.rarity).sum(axis=1)
        return dict(zip(self.counted, totals.tolist(), strict=True))


class Reader:
    """Reads texts for one search."""

    def __init__(self, connection: Connection, question: Question, waiting: Waiting) -> None:
        self._connection = connection
        self._question = question
        self._waiting = waiting
        kinds = sorted(question.languages)
        languages = [question.languages[kind] for kind in kinds]
        self._kinds = {
            "kinds": arrays.integers(kinds),
            "languages": arrays.texts(languages),
            "conditions": arrays.texts(question.conditions.get(language, "") for language in languages),
        }

    async def read(self, numbers: Sequence[int]) -> list[Text]:
        """Return the texts that still exist."""
        return _texts(await self._judge(numbers, [False] * len(numbers)))

    async def _judge(self, numbers: Sequence[int], counted: Sequence[bool]) -> list[Any]:
        parameters = {"texts": arrays.integers(numbers), "counted": list(counted), **self._kinds}
        return await fetch_binary(self._connection, "judge_texts", parameters)

    async def waiting(self, rows: Sequence[Any]) -> tuple[Examined, bool]:
        """Return the newest texts that are not indexed yet, and True if there are more."""
        near = [row.text_id for row in rows[:WAITING] if row.near]
        more = len(rows) > WAITING or not all(row.near for row in rows)
        return await self._read_waiting(near), more

    async def _read_waiting(self, numbers: Sequence[int]) -> Examined:
        """Return these texts, split into words unless that was done before."""
        languages, terms = self._question.languages, [term.encode() for term in self._question.terms]
        words = self._waiting.known(numbers, languages)
        rows = await self._judge(numbers, [number not in words for number in numbers]) if numbers else []
        words |= {row.text_id: words_of(row.vector) for row in rows if row.vector is not None}
        self._waiting.keep(words, languages)
        read = [row for row in rows if row.text_id in words]
        found = [words[row.text_id] for row in read]
        times = np.array([[each.times.get(term, 0) for term in terms] for each in found], np.int64)
        lengths = np.array([each.length for each in found], np.int64)
        numbers = [row.text_id for row in read]
        return Examined(_texts(rows), numbers, times.reshape(-1, len(terms)), self._meant(read), lengths)

    async def few(self, items: Some[int] | None) -> Examined | None:
        """Return the texts of these items, if they are few and small."""
        if items is None or len(items) > FEW:
            return None
        rows = await fetch(self._connection, "texts_of_items", {"items": arrays.integers(items)})
        if sum(row.size for row in rows) > FEW_BYTES:
            return None
        return self._counted(await self._judge([row.text_id for row in rows], [True] * len(rows)))

    def _counted(self, rows: Sequence[Any]) -> Examined:
        times, lengths = tally([row.vector for row in rows], self._question.terms)
        return Examined(_texts(rows), [row.text_id for row in rows], times, self._meant(rows), lengths)

    async def texts_of(self, items: Some[int]) -> Integers:
        """Return the numbers of these items' texts, ascending."""
        rows = await fetch_binary(self._connection, "texts_of_items", {"items": arrays.integers(sorted(items))})
        return np.array(sorted(row.text_id for row in rows), np.int64)

    def _meant(self, rows: Sequence[Any]) -> Flags:
        """Return for each text the terms that are in its language."""
        numbers = self._question.numbers
        flags = np.zeros((len(rows), len(numbers)), np.bool_)
        for place, row in enumerate(rows):
            lexemes = self._question.lexemes.get(self._question.languages[row.kind_id], ())
            flags[place, [numbers[lexeme] for lexeme in lexemes]] = True
        return flags


def _texts(rows: Sequence[Any]) -> list[Text]:
    return [Text(row.item_id, row.kind_id, row.text_id, row.wanted) for row in rows]
