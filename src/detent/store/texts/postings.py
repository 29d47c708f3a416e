"""The part of the blocks that one search reads: counts of all terms, slices of the postings, and the texts behind
places.

The texts of the searched blocks are numbered in a row, block after block: a text's number in this row is its place
in the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from detent.store import arrays
from detent.store.database import Connection
from detent.store.texts.asking import Question
from detent.store.texts.blocks import COMMON, ENTRY, LENGTH, TEXT, from_bits
from detent.store.texts.index import fetch_binary
from detent.store.texts.ranking import Flags, Integers, Slices, at_least, share


class Postings:
    """The postings of a question's terms. Each reading continues where the previous one ended."""

    def __init__(
        self, connection: Connection, question: Question, blocks: Sequence[Any], counts: Integers, numbers: Integers
    ) -> None:
        self._connection = connection
        self._question = question
        searched = [number for number, block in enumerate(blocks) if block.kind_id in question.kinds]
        self.texts = sum(block.count - block.dead_count for block in blocks)
        self.words = sum(block.words - block.dead_words for block in blocks)
        self.containing: Integers = counts.sum(axis=0)
        """Number of texts with each term, dead ones included."""
        self.blocks = [blocks[number] for number in searched]
        self.starts = np.concatenate([[0], np.cumsum([block.count for block in self.blocks])]).astype(np.int64)
        self._all = counts[searched]
        self._counts = np.where(self._wanted(), self._all, 0)
        """Number of entries in each block for each term that is searched for in it."""
        self._numbers = np.where(self._counts > 0, numbers[searched], -1)
        """The numbers of the terms that are common in each block."""
        self._read = np.zeros_like(self._counts)
        self._pieces: dict[tuple[int, int], list[bytes]] = {}
        self.entries_read = 0

    @classmethod
    def of(cls, connection: Connection, question: Question, blocks: Sequence[Any], counted: Sequence[Any]) -> Self:
        """Return the postings of these blocks, given the counts of each term in them."""
        counts = np.zeros((len(blocks), len(question.terms)), np.int64)
        numbers = np.full_like(counts, -1)
        places = {block.id: place for place, block in enumerate(blocks)}
        for row in counted:
            counts[places[row.block], row.term - 1] = row.count
            numbers[places[row.block], row.term - 1] = -1 if row.number is None else row.number
        return cls(connection, question, blocks, counts, numbers)

    @property
    def exhausted(self) -> bool:
        return bool((self._read >= self._counts).all())

    def in_language(self, language: str) -> Flags:
        """Return True for the places of texts in this language."""
        same = np.array([self._language(block) == language for block in self.blocks], np.bool_)
        return np.repeat(same, np.diff(self.starts))

    async def read(self, budget: int) -> Slices:
        """Return the best entries of each term, up to `budget` in all, including those read before."""
        totals = self._counts.sum(axis=0)
        shares = np.array(share(totals.tolist(), budget), np.int64)
        stops = -(-self._counts * shares // np.maximum(totals, 1))  # rounded up, so that no block is left out
        stops = np.maximum(np.maximum(stops, at_least(self._counts, self._numbers >= 0)), self._read)
        await self._fetch(stops)
        return self._slices()

    async def presence(self, term: int) -> Flags:
        """Return True for the texts that have a term: its whole postings are read."""
        stops = self._read.copy()
        stops[:, term] = self._all[:, term]
        await self._fetch(stops)
        flags = np.zeros(int(self.starts[-1]), np.bool_)
        for block in np.flatnonzero(self._all[:, term]).tolist():
            entries = np.frombuffer(b"".join(self._pieces[block, term]), ENTRY)
            flags[entries["ordinal"].astype(np.int64) + self.starts[block]] = True
        return flags

    def dead(self) -> Flags | None:
        """Return True for the texts that are gone; None if no text is."""
        if not any(block.dead_count for block in self.blocks):
            return None
        return np.concatenate([from_bits(block.dead, block.count) for block in self.blocks])

    async def holding(self, texts: Integers) -> Flags:
        """Return True for the places of these texts, whose numbers ascend."""
        flags = np.zeros(int(self.starts[-1]), np.bool_)
        for number, block in enumerate(self.blocks):
            first, last = np.searchsorted(texts, [block.first, block.last + 1])
            if first < last:
                (row,) = await fetch_binary(self._connection, "text_block_numbers", {"block": block.id})
                own = np.frombuffer(row.texts, TEXT).astype(np.int64)
                flags[self.starts[number] : self.starts[number + 1]] = np.isin(own, texts[first:last])
        return flags

    async def texts_at(self, places: Integers) -> list[int]:
        """Return the numbers of the texts at these places, in the same order."""
        rows = await fetch_binary(self._connection, "texts_at", self._ordinals(places))
        return [int.from_bytes(row.text, "big") for row in rows]

    async def common_at(self, places: Integers) -> tuple[Integers, Integers]:
        """Return the counts of each term in the texts at these places, and the texts' lengths.

        Only terms that are common in their block are counted; others have 0, because they are always read
        completely.
        """
        rows = await fetch_binary(self._connection, "common_terms_at", self._ordinals(places))
        lines = np.frombuffer(b"".join(row.terms for row in rows), COMMON)
        text = np.repeat(np.arange(len(rows)), [len(row.terms) // COMMON.itemsize for row in rows])
        numbers = self._numbers[self._homes(places)]
        times = np.zeros(numbers.shape, np.int64)
        for term in range(numbers.shape[1]):
            same = lines["number"] == numbers[text, term]
            times[text[same], term] = lines["times"][same]
        return times, np.frombuffer(b"".join(row.length for row in rows), LENGTH).astype(np.int64)

    def _homes(self, places: Integers) -> Integers:
        """Return the index of the block of each place."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def _ordinals(self, places: Integers) -> dict[str, Any]:
        homes = self._homes(places)
        return {
            "blocks": arrays.integers(self.blocks[home].id for home in homes.tolist()),
            "ordinals": arrays.integers((places - self.starts[homes]).tolist()),
        }

    def _wanted(self) -> Flags:
        """Return True for each block and term where the term is of the block's language."""
        numbers, lexemes = self._question.numbers, self._question.lexemes
        flags = np.zeros((len(self.blocks), len(numbers)), np.bool_)
        for number, block in enumerate(self.blocks):
            flags[number, [numbers[lexeme] for lexeme in lexemes[self._language(block)]]] = True
        return flags

    def _language(self, block: Any) -> str:
        return self._question.languages[block.kind_id]

    async def _fetch(self, stops: Integers) -> None:
        """Read each posting up to, not including, this entry."""
        places = np.argwhere(stops > self._read).tolist()
        if not places:
            return
        wanted = {
            "blocks": arrays.integers(self.blocks[block].id for block, _ in places),
            "terms": arrays.texts(self._question.terms[term] for _, term in places),
            "starts": arrays.integers(int(self._read[block, term]) for block, term in places),
            "stops": arrays.integers(int(stops[block, term]) for block, term in places),
        }
        for row in await fetch_binary(self._connection, "posting_entries", wanted):
            block, term = places[row.number - 1]
            self._pieces.setdefault((block, term), []).append(row.entries)
            self.entries_read += len(row.entries) // ENTRY.itemsize
        self._read = stops

    def _slices(self) -> Slices:
        sought = {place: pieces for place, pieces in sorted(self._pieces.items()) if self._counts[place]}
        block, term = np.array(list(sought), np.int64).reshape(-1, 2).T
        entries = np.frombuffer(b"".join(piece for pieces in sought.values() for piece in pieces), ENTRY)
        averages = np.array([row.words / row.count for row in self.blocks], np.float64)
        return Slices(
            block,
            term,
            self._read[block, term],
            self._counts[block, term],
            self._numbers[block, term] >= 0,
            averages[block],
            entries["ordinal"].astype(np.int64),
            entries["times"].astype(np.int64),
            entries["length"].astype(np.int64),
        )
