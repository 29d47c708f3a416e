"""Texts that a search reads themselves, without the index: candidates that must be looked at, texts that are not
indexed yet, and those of a filter that allows only a few."""

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
from detent.store.texts.lexemes import tally
from detent.store.texts.ranking import Collection, Flags, Integers, saturation

WAITING = 500
WAITING_BYTES = 2_000_000
"""How many texts that are not indexed yet a search reads, and how large they may be together."""

FEW = 200
FEW_BYTES = 1_000_000
"""So few texts are read themselves if only these are allowed."""

COUNTED_BYTES = 1_000_000
"""How large candidates may be together whose words are counted at once."""

ANY_SIZE = 1 << 40


@dataclass(frozen=True)
class Text:
    """A text that is there, and whether it meets the query's phrases and exclusions."""

    item_id: int
    kind_id: int
    text_id: int
    wanted: bool


@dataclass(frozen=True)
class Reading:
    """Texts; and of those of them that were counted, how often each term occurs, which of the terms are of the
    text's language, and how long it is."""

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

    def __init__(self, connection: Connection, question: Question) -> None:
        self._connection = connection
        self._question = question
        kinds = sorted(question.languages)
        languages = [question.languages[kind] for kind in kinds]
        self._kinds = {
            "kinds": arrays.integers(kinds),
            "languages": arrays.texts(languages),
            "conditions": arrays.texts(question.conditions.get(language, "") for language in languages),
        }

    async def read(self, numbers: Sequence[int], counted: Sequence[bool], size: int = COUNTED_BYTES) -> Reading:
        """Those of the texts that are still there. Of those to be counted, so many bytes are."""
        parameters = {"texts": arrays.integers(numbers), "counted": list(counted), "bytes": size, **self._kinds}
        rows = await fetch_binary(self._connection, "judge_texts", parameters)
        texts = [Text(row.item_id, row.kind_id, row.text_id, row.wanted) for row in rows]
        vectors = [row for row in rows if row.vector is not None]
        times, lengths = tally([row.vector for row in vectors], self._question.terms)
        return Reading(texts, [row.text_id for row in vectors], times, self._meant(vectors), lengths)

    async def waiting(self) -> tuple[Reading, bool]:
        """The newest texts that are not indexed yet, and whether there are more."""
        parameters = {"most": WAITING + 1, "bytes": WAITING_BYTES}
        rows = await fetch(self._connection, "texts_waiting", parameters)
        near = [row.text_id for row in rows[:WAITING] if row.near]
        more = len(rows) > WAITING or not all(row.near for row in rows)
        return await self.read(near, [True] * len(near), ANY_SIZE), more

    async def few(self, items: Some[int] | None) -> Reading | None:
        """The texts of these items, if they are few and small."""
        if items is None or len(items) > FEW:
            return None
        rows = await fetch(self._connection, "texts_of_items", {"items": arrays.integers(items)})
        if sum(row.size for row in rows) > FEW_BYTES:
            return None
        return await self.read([row.text_id for row in rows], [True] * len(rows), ANY_SIZE)

    async def texts_of(self, items: Some[int]) -> Integers:
        """The numbers of these items' texts, ascending."""
        rows = await fetch_binary(self._connection, "texts_of_items", {"items": arrays.integers(sorted(items))})
        return np.array(sorted(row.text_id for row in rows), np.int64)

    def _meant(self, rows: Sequence[Any]) -> Flags:
        """For each text, which of the terms the query is in its language."""
        numbers = self._question.numbers
        flags = np.zeros((len(rows), len(numbers)), np.bool_)
        for place, row in enumerate(rows):
            lexemes = self._question.lexemes.get(self._question.languages[row.kind_id], ())
            flags[place, [numbers[lexeme] for lexeme in lexemes]] = True
        return flags
