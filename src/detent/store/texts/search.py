"""Finding texts: the best of the postings, ranked, and each verified before it counts as a hit.

A search reads a bounded number of entries, the best of each word. These give candidates with bounds of their
scores. Candidates that may have more of a common word than was read are counted exactly, until no other candidate
can be better than the best. They are looked up in the order of their scores: texts that are gone, or do not match
the query exactly, are dropped. If there are not enough hits, the search reads on.
"""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Collection as Some
from dataclasses import dataclass

import numpy as np

from detent.knowledge.query import Query
from detent.store import arrays
from detent.store.database import Connection, Database, fetch, fetch_together
from detent.store.texts import ranking
from detent.store.texts.asking import NOT_HEEDED, Question, ask
from detent.store.texts.candidates import THE_NEWEST, Examined, Reader, Text
from detent.store.texts.counting import Counting
from detent.store.texts.index import COUNTED
from detent.store.texts.postings import Postings
from detent.store.texts.ranking import Candidates, Collection, Flags
from detent.store.texts.waiting import Waiting

BUDGET = 65_536
"""Number of entries read for a query at first; each further reading is four times as large."""

COUNTED_ONE_BY_ONE = 200
"""Number of texts counted for a filter or a phrase after which counting stops."""

VERIFIED = 10_000
"""Largest number of candidates checked for a phrase or an exclusion."""

Check = Callable[[Connection, Sequence[int]], Awaitable[Some[int]]]
"""Returns the items that may be found; called with the best ones, in order, on the search's own connection."""


@dataclass(frozen=True)
class Wanted:
    """The number of hits, the number of those with exact scores, and the items that may be found."""

    limit: int
    exact: int
    allowed: frozenset[int] | None
    check: Check | None


@dataclass(frozen=True, slots=True)
class TextHit:
    item_id: int
    text_id: int
    score: float


@dataclass(frozen=True)
class TextHits:
    """The hits, best first; the lexemes searched for in each language; notes for the reader; the number of index
    entries read; and the upper bound of scores, which a text with every word approaches."""

    hits: tuple[TextHit, ...]
    lexemes: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    entries_read: int = 0
    bound: float = 0.0


class TextSearch:
    def __init__(self, database: Database, *, budget: int = BUDGET) -> None:
        self._database = database
        self._budget = budget
        self._waiting = Waiting()

    async def search(
        self,
        query: Query,
        *,
        limit: int,
        exact: int | None = None,
        kinds: Some[int] | None = None,
        allowed: Some[int] | None = None,
        check: Check | None = None,
    ) -> TextHits:
        """Return the best texts for a query: of these kinds, among the allowed items, and of those that pass the
        check.

        The first `exact` hits have exact scores, all by default; the others have the part of their scores that was
        read.
        """
        async with self._database.snapshot() as connection:
            question = await ask(connection, query, kinds)
            if question.empty or limit < 1:
                return TextHits((), question.lexemes, question.notes)
            wanted = Wanted(limit, limit if exact is None else max(1, min(exact, limit)), _set(allowed), check)
            reader = Reader(connection, question, self._waiting)
            return await _Search(connection, question, wanted, reader).run(self._budget)

    async def unheeded(self, query: Query, kinds: Some[int] | None) -> list[str]:
        """Return notes on phrases and exclusions that have no word to search for in any language."""
        async with self._database.snapshot() as connection:
            question = await ask(connection, query, kinds)
        return [note for note in question.notes if note.endswith(NOT_HEEDED)]

    async def meeting(self, query: Query, items: Some[int]) -> set[int]:
        """Return the items that have the query's phrases, and nothing that it excludes."""
        async with self._database.snapshot() as connection:
            question = await ask(connection, query, None)
            if not question.conditional:
                return set(items)
            reader = Reader(connection, question, self._waiting)
            numbers = (await reader.texts_of(items)).tolist()
            return {text.item_id for text in await reader.read(numbers) if text.wanted}


class _Search:
    """One search, at one moment of the database."""

    def __init__(self, connection: Connection, question: Question, wanted: Wanted, reader: Reader) -> None:
        self._connection = connection
        self._question = question
        self._wanted = wanted
        self._reader = reader
        self._collection = Collection(0.0, np.zeros(0))
        self._hits: list[TextHit] = []
        self._notes = list(question.notes)
        self._counted = self._verified = 0
        self._certain = False
        """True if no unread text can be better than the best hits, or if that is no longer checked."""

    async def run(self, budget: int) -> TextHits:
        blocks, counted, newest = await fetch_together(
            self._connection,
            ("text_blocks", {}),
            ("posting_counts", {"terms": arrays.texts(self._question.terms)}),
            ("texts_waiting", THE_NEWEST),
        )
        postings = Postings.of(self._connection, self._question, blocks, counted)
        waiting, more = await self._reader.waiting(newest)
        if more:
            await self._tell_waiting()
        self._collection = _collection(postings, waiting)
        few = await self._reader.few(self._wanted.allowed)
        if few is not None:
            self._hits = await self._hits_of(few)
        else:
            self._hits = await self._hits_of(waiting)
            await self._search_blocks(postings, budget)
        hits = heapq.nsmallest(self._wanted.limit, self._hits, key=lambda hit: (-hit.score, hit.item_id))
        return TextHits(tuple(hits), self._question.lexemes, tuple(self._notes), postings.entries_read, self._bound())

    def _bound(self) -> float:
        rarity, numbers = self._collection.rarity, self._question.numbers
        sums = [sum(rarity[numbers[word]] for word in words) for words in self._question.lexemes.values()]
        return float(max(sums, default=0.0))

    async def _tell_waiting(self) -> None:
        rows = await fetch(self._connection, "text_pending", {"most": COUNTED})
        many = f"{rows[0].count:,}" if rows[0].count < COUNTED else f"{COUNTED:,} or more"
        self._notes.append(f"{many} texts are not indexed yet; only the newest of them were searched.")

    async def _search_blocks(self, postings: Postings, budget: int) -> None:
        allowed = await self._places_allowed(postings, budget)
        while not (postings.exhausted and postings.entries_read == 0):
            slices = await postings.read(budget)
            candidates = ranking.gather(slices, self._collection, postings.starts, allowed)
            counting = Counting(postings, slices, self._collection)
            if await self._look_through(postings, counting, candidates) or postings.exhausted:
                return
            if allowed is None:
                allowed = np.ones(int(postings.starts[-1]), np.bool_)
            allowed[candidates.places] = False
            budget *= 4

    async def _look_through(self, postings: Postings, counting: Counting, candidates: Candidates) -> bool:
        """Take hits from the candidates; return True if there are enough, and none can be better."""
        if self._wanted.check is None and not self._question.conditional:
            candidates = await counting.sharpened(candidates, self._wanted.exact)
            self._certain = True
        size = self._wanted.limit
        ordered = candidates.best(size + 1000)
        done = 0
        while done < len(candidates.places):
            if done >= len(ordered.places):
                ordered = candidates.best(len(candidates.places))
            some = slice(done, min(done + size, len(ordered.places)))
            await self._look_at(postings, counting, ordered, some)
            done = some.stop
            if self._is_enough(done < len(candidates.places) or not postings.exhausted):
                return True
            size = min(2 * size, 2000)
        return False

    def _is_enough(self, more: bool) -> bool:
        """True if the search may stop. `more`: there are other candidates."""
        if self._certain and len(self._hits) >= self._wanted.limit:
            return True
        if not (more and self._question.conditional and self._verified >= VERIFIED):
            return False
        what = "phrases" if any(self._question.needs.values()) else "exclusions"
        self._notes.append(f"Only the best {VERIFIED:,} candidates were compared with the query's {what}.")
        return True

    async def _look_at(self, postings: Postings, counting: Counting, ordered: Candidates, some: slice) -> None:
        """Take hits from these candidates: by exact scores until no other can be better than the best, then by the
        part that was read."""
        numbers = await postings.texts_at(ordered.places[some])
        places = dict(zip(numbers, range(some.start, some.stop), strict=True))
        texts = await self._meeting(await self._reader.read(numbers))
        order = np.array([places[text.text_id] for text in texts], np.int64)
        scores = ordered.floors[order]
        unsure = ~ordered.exact[order] & (not self._certain)
        if unsure.any():
            scores[unsure] = await counting.scores(ordered.places[order[unsure]])
        self._verified += len(numbers)
        self._counted += int(unsure.sum())
        self._hits += _hits(texts, scores.tolist())
        self._certain |= self._counted >= COUNTED_ONE_BY_ONE or self._none_is_better(ordered, some.stop)

    def _none_is_better(self, ordered: Candidates, following: int) -> bool:
        """True if no candidate from `following` on can be better than the best hits."""
        bound = float(ordered.bounds[min(following, len(ordered.bounds) - 1)])
        exact = self._wanted.exact
        return len(self._hits) >= exact and heapq.nlargest(exact, (hit.score for hit in self._hits))[-1] >= bound

    async def _hits_of(self, reading: Examined) -> list[TextHit]:
        """Return the hits among texts that were read directly."""
        texts, scores = await self._meeting(reading.texts), reading.scores(self._collection)
        return _hits(texts, [scores[text.text_id] for text in texts])

    async def _meeting(self, texts: Sequence[Text]) -> list[Text]:
        """Return the texts that are wanted and allowed, and pass the check."""
        allowed, check = self._wanted.allowed, self._wanted.check
        found = [
            text
            for text in texts
            if text.wanted and text.kind_id in self._question.kinds and (allowed is None or text.item_id in allowed)
        ]
        if check is not None and found:
            passing = set(await check(self._connection, [text.item_id for text in found]))
            found = [text for text in found if text.item_id in passing]
        return found

    async def _places_allowed(self, postings: Postings, budget: int) -> Flags | None:
        """Return True for the places that may be candidates: not dead, and allowed by the filter and the phrases."""
        dead = postings.dead()
        allowed = None if dead is None else ~dead
        flags = [await _meeting(postings, self._question, budget), await _without(postings, self._question, budget)]
        if self._wanted.allowed is not None:
            flags.append(await postings.holding(await self._reader.texts_of(self._wanted.allowed)))
        for some in flags:
            if some is not None:
                allowed = some if allowed is None else allowed & some
        return allowed


def _hits(texts: Sequence[Text], scores: Sequence[float]) -> list[TextHit]:
    return [TextHit(text.item_id, text.text_id, score) for text, score in zip(texts, scores, strict=True) if score > 0]


def _set(items: Some[int] | None) -> frozenset[int] | None:
    return None if items is None else frozenset(items)


def _collection(postings: Postings, waiting: Examined) -> Collection:
    """Return the collection's parameters, with the waiting texts included."""
    texts = postings.texts + len(waiting.lengths)
    words = postings.words + int(waiting.lengths.sum())
    containing = postings.containing + (waiting.times > 0).sum(axis=0)
    rarity = np.array([ranking.rarity(texts, many) for many in containing.tolist()], np.float64)
    return Collection(words / max(texts, 1), rarity)


async def _meeting(postings: Postings, question: Question, budget: int) -> Flags | None:
    """Return True for the places with the words of the required phrases; None if there are no phrases."""
    if not any(question.needs.values()):
        return None
    flags = np.ones(int(postings.starts[-1]), np.bool_)
    for language, needs in question.needs.items():
        for alternatives in needs:
            either = np.zeros_like(flags)
            for lexemes in alternatives:
                either |= await _having(postings, [question.numbers[lexeme] for lexeme in lexemes], budget)
            flags &= either | ~postings.in_language(language)
    return flags


async def _without(postings: Postings, question: Question, budget: int) -> Flags | None:
    """Return True for the places without the excluded words; None if there are none. Words too common to be read
    are checked in the texts themselves."""
    if not any(question.excluded.values()):
        return None
    flags = np.ones(int(postings.starts[-1]), np.bool_)
    for language, lexemes in question.excluded.items():
        for lexeme in lexemes:
            if postings.containing[question.numbers[lexeme]] > budget:
                continue
            flags &= ~(await postings.presence(question.numbers[lexeme]) & postings.in_language(language))
    return flags


async def _having(postings: Postings, terms: Sequence[int], budget: int) -> Flags:
    """Return True for the places with all of these terms that are not too common to be read."""
    flags = np.ones(int(postings.starts[-1]), np.bool_)
    for term in terms:
        if postings.containing[term] <= budget:
            flags &= await postings.presence(term)
    return flags
