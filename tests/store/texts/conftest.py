"""A shelf of texts, as whoever writes nodes would leave them, and a plain BM25 to compare with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from detent.lifecycle import NODE
from detent.store import Store
from detent.store.texts import Texts

Query = Callable[..., list[Any]]


class Shelf:
    """Puts texts on the shelf under keys, replaces them and takes them away, with the notices for the index."""

    def __init__(self, store: Store, query: Query, kinds: Mapping[str, int]) -> None:
        self.store = store
        self.query = query
        self.kinds = kinds
        self.texts = Texts(store.database)

    def put(self, key: str, text: str, *, kind: str = "simple", title: str = "") -> int:
        """Write one text; returns its item."""
        return self.put_many({key: text}, kind=kind, title=title)[0]

    def put_many(self, texts: Mapping[str, str], *, kind: str = "simple", title: str = "") -> list[int]:
        rows = self.query(
            """
            WITH given AS (SELECT * FROM unnest(%s::text[], %s::text[]) AS given (key, text)),
            item AS (
                INSERT INTO item (kind_id, key, state, since, added_at)
                SELECT %s, key, 'ready', now(), now() FROM given
                ON CONFLICT (kind_id, key) DO UPDATE SET since = now() RETURNING id, key
            ),
            old AS (SELECT node.text_id FROM node JOIN item ON item.id = node.item_id),
            gone AS (INSERT INTO text_change SELECT text_id, true FROM old),
            node AS (
                INSERT INTO node (item_id, title, text, properties, written_at)
                SELECT item.id, %s, given.text, '{}', now() FROM given JOIN item USING (key) ORDER BY item.id
                ON CONFLICT (item_id) DO UPDATE
                SET text_id = nextval('text_number'), title = excluded.title, text = excluded.text
                RETURNING item_id, text_id
            ),
            new AS (INSERT INTO text_change SELECT text_id, false FROM node)
            SELECT item_id FROM node JOIN item ON item.id = node.item_id ORDER BY item.id
            """,
            list(texts),
            list(texts.values()),
            self.kinds[kind],
            title,
        )
        return [row.item_id for row in rows]

    def take(self, key: str, *, kind: str = "simple") -> None:
        """Remove one text."""
        self.query(
            """
            WITH node AS (
                DELETE FROM node USING item
                WHERE item.id = node.item_id AND item.kind_id = %s AND item.key = %s RETURNING node.text_id
            )
            INSERT INTO text_change SELECT text_id, true FROM node
            """,
            self.kinds[kind],
            key,
        )

    async def settle(self) -> None:
        """Index everything, and leave nothing dead and nothing to merge."""
        while await self.texts.index():
            pass
        while await self.texts.tidy(0):
            pass

    def plain(self, words: Sequence[str], kinds: Sequence[str] | None = None) -> dict[int, float]:
        """The score of each item that has one of the words, reckoned plainly over all living texts."""
        rows = self.query(
            """
            SELECT item_id, kind_id, language,
                   ARRAY(SELECT lexeme FROM unnest(words)) AS lexemes,
                   ARRAY(SELECT cardinality(positions) FROM unnest(words)) AS times
            FROM node JOIN item ON item.id = node.item_id JOIN text_kind USING (kind_id),
                 LATERAL (SELECT text_words(language, title, text) AS words OFFSET 0) AS tokens
            """
        )
        asked = {
            row.language: row.lexemes
            for row in self.query(
                "SELECT language, tsvector_to_array(to_tsvector(language::regconfig, apart(%s))) AS lexemes "
                "FROM text_kind",
                " ".join(words),
            )
        }
        counted = [(row, dict(zip(row.lexemes, row.times, strict=True))) for row in rows]
        lengths = {row.item_id: sum(times.values()) for row, times in counted}
        average = sum(lengths.values()) / max(len(lengths), 1)
        containing = Counter(lexeme for _, times in counted for lexeme in times)
        searched = None if kinds is None else {self.kinds[kind] for kind in kinds}
        scores: dict[int, float] = {}
        for row, times in counted:
            if searched is not None and row.kind_id not in searched:
                continue
            for lexeme in asked[row.language]:
                if lexeme in times:
                    idf = math.log(1 + (len(rows) - containing[lexeme] + 0.5) / (containing[lexeme] + 0.5))
                    spread = 1.5 * (0.25 + 0.75 * lengths[row.item_id] / average)
                    part = idf * times[lexeme] / (times[lexeme] + spread)
                    scores[row.item_id] = scores.get(row.item_id, 0) + part
        return scores


@pytest.fixture
async def shelf(store: Store, query: Query) -> Shelf:
    """A store with two sources: one whose texts are split as they are, and one in English."""
    kinds = {}
    for language in ("simple", "english"):
        kinds[language] = (await store.declare(language, "File", NODE)).id
        query("UPDATE source SET language = %s WHERE name = %s", language, language)
    return Shelf(store, query, kinds)


@pytest.fixture
def shelf_class() -> type[Shelf]:
    """For tests that make their own databases."""
    return Shelf
