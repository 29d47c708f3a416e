"""The verbs of search."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from detent.configuration import EmbeddingSettings
from detent.embedding import Budget, Provider
from detent.errors import DatabaseAway, DetentError, UnknownName
from detent.knowledge.filters import Filters
from detent.knowledge.fusion import Fused, fuse
from detent.knowledge.query import Query, parse
from detent.search import phrases
from detent.search.answer import Answer, Hit, Suggestion
from detent.search.inquiry import Ask, Found, Inquiry, Ranking
from detent.search.meaning import Meaning
from detent.search.providers import Providers
from detent.search.surroundings import Surroundings
from detent.store import Store
from detent.store.ledger.filtering import Scope
from detent.store.vectors.spending import Spending

if TYPE_CHECKING:
    from detent.store.vectors.models import Model

log = logging.getLogger("detent.search")

MODES = ("hybrid", "text", "semantic", "graph")
DEPTH = 60
"""Number of passages that each part is asked for at first."""
DEEPEST = 6400
MOST = 1000
MOST_TITLED, MOST_CHECKED = 20, 1000
"""Number of exact title matches that come first, and of candidates checked for one."""
TITLE = 100.0
"""Bonus of an exact title match: more than everything else together."""
WORDS = 5.0
"""Weight of words over meaning for a text that has all words of the query; proportionally less if the best text
has fewer."""


class Search:
    """Searches one store. The query is embedded by the provider of the model that is searched."""

    def __init__(self, store: Store, settings: EmbeddingSettings | None = None) -> None:
        self._store = store
        self._providers = Providers(settings or EmbeddingSettings())
        self._costs = QueryCosts(store.spending)

    def close(self) -> None:
        self._providers.close()

    async def search(
        self,
        text: str,
        *,
        mode: str = "hybrid",
        limit: int = 10,
        filters: Filters | None = None,
        grouped: bool = True,
        around: Sequence[int] = (),
        weights: tuple[float, float] = (0.7, 0.3),
        marks: tuple[str, str] = ("", ""),
    ) -> Answer:
        """Return the best results for free text. `mode` is one of MODES.

        In `graph`, the score is the first of `weights` times the similarity, plus the second divided by one more
        than the number of steps from the nearest of the items `around`. `grouped`: the best passage of an article
        or file stands for all its passages. `marks` surround the matches in a snippet.
        """
        if mode not in MODES:
            raise UnknownName(f"There is no mode {mode!r}. There are {', '.join(MODES)}.")
        if mode == "graph" and not around:
            raise UnknownName("The mode 'graph' searches around given nodes, and none is given.")
        limit = max(1, min(limit, MOST))
        query = parse(text)
        scope = await self._store.filtering.scope(filters or Filters())
        notes: dict[str, None] = dict.fromkeys(query.notes)
        asking = _Asking(self, Inquiry(query, limit, scope, notes))
        if mode == "graph":
            near = Surroundings(self._store, around, weights)
            ranked = await near.rank(asking.semantic, scope, notes)
            fused, roots = await self._enough(ranked, limit, grouped)
        else:
            names = ("title", "text", "semantic") if mode == "hybrid" else (mode,)
            fused, roots = await self._enough(asking.rankings(names), limit, grouped)
        hits = await self._hits(fused[:limit], roots, query, grouped, marks)
        return await self._answer(hits, filters, notes)

    async def similar(
        self, item: int, *, limit: int = 10, filters: Filters | None = None, grouped: bool = True
    ) -> Answer:
        """Return what is nearest in meaning to an existing item, without the item itself and what belongs to it."""
        limit = max(1, min(limit, MOST))
        model = await self._store.vectors.current()
        vector = await self._vector_of(item, model) if model else None
        if model is None or vector is None:
            return Answer((), ("It has no vector, so that nothing can be compared with it.",))
        scope = await self._store.filtering.scope(filters or Filters())
        inquiry = Inquiry(parse(""), limit, scope, {})
        ask = await self._apart_from(item, Meaning(self._store, inquiry, model, vector))
        fused, roots = await self._enough(ask, limit, grouped)
        hits = await self._hits(fused[:limit], roots, inquiry.query, grouped, ("", ""))
        return await self._answer(hits, filters, inquiry.notes)

    async def suggest(self, prefix: str, *, limit: int = 10, filters: Filters | None = None) -> list[Suggestion]:
        """Return titles that begin with the typed text, each once; titles of passages come last."""
        wanted = filters or Filters()
        kinds = await self._store.kinds.chosen(wanted.sources, wanted.labels)
        typed = prefix.replace("\x00", "").encode("utf-8", errors="ignore").decode().strip()
        if not typed:
            return []
        rows = await self._store.results.suggestions(typed, [kind.id for kind in kinds], max(1, min(limit, MOST)))
        by_id = {kind.id: kind for kind in kinds}
        return [Suggestion(row.title, row.key, by_id[row.kind_id].source, by_id[row.kind_id].label) for row in rows]

    async def text_ranking(self, inquiry: Inquiry, depth: int) -> tuple[Ranking, float]:
        """Return the best texts by words, and how much of the query the best of them has, from 0 to 1."""
        scope = inquiry.scope
        check = scope.check if scope.wide else None
        exact = max(2 * inquiry.limit, depth // 5)  # texts beyond these hardly count
        found = await self._store.texts.search(
            inquiry.query, limit=depth, exact=exact, kinds=scope.kinds, allowed=scope.allowed, check=check
        )
        inquiry.notes.update(dict.fromkeys(found.notes))
        covered = found.hits[0].score / found.bound if found.hits and found.bound else 0.0
        return [(hit.item_id, hit.score) for hit in found.hits], covered

    async def titled(self, inquiry: Inquiry) -> Ranking:
        """Return the items whose title is exactly the typed text."""
        query, scope = inquiry.query, inquiry.scope
        if query.phrases or query.excluded or not query.words:
            return []
        kinds = scope.kinds if scope.kinds is not None else [kind.id for kind in await self._store.kinds.select()]
        limit = MOST_CHECKED if scope.wide else MOST_TITLED
        ids = await self._store.results.titled(query.typed, list(kinds), limit, allowed=scope.allowed)
        if ids and scope.wide:
            async with self._store.database.connection() as connection:
                met = await scope.check(connection, ids)
            ids = [number for number in ids if number in met]
        return [(number, 1.0) for number in ids[:MOST_TITLED]]

    async def meaning_of(self, inquiry: Inquiry) -> Meaning | None:
        """Return a finder of the texts nearest to a query; None, with a note, if there is nothing to compare."""
        if inquiry.query.lack:
            inquiry.notes[inquiry.query.lack] = None
            return None
        model = await self._store.vectors.current()
        if model is None:
            inquiry.notes["Nothing is embedded yet, so that nothing was found by meaning."] = None
            return None
        vector = await self._embedded(" ".join(inquiry.query.sought), model)
        return Meaning(self._store, inquiry, model, vector)

    async def narrow(self, inquiry: Inquiry, *, both: bool) -> phrases.Narrowed:
        """Narrow the inquiry to the texts that have its phrases, if these are few."""
        return await phrases.narrow(self._store, inquiry, both=both)

    async def _answer(self, hits: Sequence[Hit], filters: Filters | None, notes: dict[str, None]) -> Answer:
        """Return the answer. Without hits, note the requested categories that do not exist."""
        if not hits and filters is not None:
            notes.update(dict.fromkeys(await self._store.filtering.unknown_categories(filters.categories)))
        return Answer(tuple(hits), tuple(notes))

    async def _embedded(self, text: str, model: Model) -> np.ndarray:
        provider = await asyncio.to_thread(self._providers.of, model)
        await self._costs.keep(provider)
        try:
            vector = await asyncio.to_thread(provider.embed_query, text)
        finally:
            await self._costs.keep(provider)
        if not _says_something(vector):
            raise DetentError("the model finds nothing in the query")
        return vector

    async def _vector_of(self, item: int, model: Model) -> np.ndarray | None:
        """Return an item's vector; for an item without one, the mean of the vectors of what belongs to it."""
        own, others = await self._store.results.texts_of(item)
        for hashes in (own, others[:50]):
            found = [await self._store.vectors.get(model, each) for each in hashes]
            vectors = [vector for vector in found if vector is not None]
            mean: np.ndarray | None = np.mean(vectors, axis=0) if vectors else None
            if mean is not None and _says_something(mean):
                return mean
        return None

    async def _apart_from(self, item: int, meaning: Meaning) -> Ask:
        """Return an Ask for the nearest texts outside the item's own group, which may itself be the nearest."""
        own = (await self._store.results.roots([item])).get(item, item)

        async def ask(depth: int) -> Found:
            asked = depth
            while True:
                ranking = await meaning.nearest(asked)
                roots = await self._store.results.roots([number for number, _ in ranking])
                others = [(n, score) for n, score in ranking if roots.get(n, n) != own and n != item]
                if len(others) >= depth or len(ranking) < asked:
                    return Found(_ranked({"semantic": others[:depth]}, {}), len(others) < depth)
                asked *= 4

        return ask

    async def _enough(self, ask: Ask, limit: int, grouped: bool) -> tuple[list[Fused], dict[int, int]]:
        """Ask ever deeper until there are enough groups or no more results; return the best of each group."""
        depth = max(DEPTH, limit)
        while True:
            found = await ask(depth)
            roots = await self._store.results.roots([each.item_id for each in found.fused]) if grouped else {}
            best: dict[int, Fused] = {}
            for each in found.fused:
                best.setdefault(roots.get(each.item_id, each.item_id), each)
            if len(best) >= limit or found.exhausted or depth >= DEEPEST:
                return list(best.values()), roots
            depth *= 4

    async def _hits(
        self, fused: Sequence[Fused], roots: dict[int, int], query: Query, grouped: bool, marks: tuple[str, str]
    ) -> list[Hit]:
        ids = [each.item_id for each in fused]
        if not ids:
            return []
        roots = roots or await self._store.results.roots(ids)
        rows = await self._store.results.read(ids, roots)
        snippets: dict[int, str] = {}
        for start in range(0, len(ids), 50):
            some = ids[start : start + 50]
            snippets |= await self._store.texts.snippets(some, query, start=marks[0], stop=marks[1])
        return [
            await self._hit(rows[each.item_id], each, snippets.get(each.item_id, ""), grouped)
            for each in fused
            if each.item_id in rows
        ]

    async def _hit(self, row: Any, each: Fused, snippet: str, grouped: bool) -> Hit:
        shown_kind, key, title = (
            (row.root_kind_id, row.root_key, row.root_title) if grouped else (row.kind_id, row.key, row.title)
        )
        kind = await self._store.kinds.by_id(shown_kind)
        inner = grouped and row.root_id != row.item_id
        root_kind = await self._store.kinds.by_id(row.root_kind_id)
        return Hit(
            item_id=row.root_id if grouped else row.item_id,
            source=kind.source,
            label=kind.label,
            key=key,
            title=title,
            snippet=snippet,
            score=each.score,
            parts={name: score for name, (_, score) in each.parts.items()},
            link=row.properties.get("url") or row.root_properties.get("url"),
            passage=row.key if inner else None,
            passage_title=row.title if inner else None,
            properties=row.root_properties if grouped else row.properties,
            stale=row.root_state in root_kind.lifecycle.failures,
            place=_place(row.properties),
        )


_BY = {"title": "title", "text": "words", "semantic": "meaning"}


class _Asking:
    """One inquiry, as it is asked of each part of the search."""

    def __init__(self, search: Search, inquiry: Inquiry) -> None:
        self._search = search
        self._inquiry = inquiry
        self._weights = {"title": TITLE}
        """Weight of each part; known when it has answered."""
        self._meaning: Meaning | None = None
        self._parts = {"title": self._by_title, "text": self._by_words, "semantic": self._by_meaning}
        self._silent: set[str] = set()
        """Parts that cannot answer, and are not asked again."""
        self._inquiries: dict[str, Inquiry] | None = None
        """The inquiry for each part, once that is known."""

    def rankings(self, names: Sequence[str]) -> Ask:
        async def ask(depth: int) -> Found:
            found = await self._together(names, depth)
            exhausted = all(len(ranking) < depth for ranking in found.values())
            return Found(_ranked(found, self._weights), exhausted)

        return ask

    async def semantic(self, scope: Scope, depth: int) -> Ranking:
        inquiry = replace(self._inquiry, scope=scope)
        return await self._ask("semantic", (await self._search.narrow(inquiry, both=False)).by_meaning, depth)

    async def _together(self, names: Sequence[str], depth: int) -> dict[str, Ranking]:
        """Return the rankings of these parts. If the database is away for one, the others are not awaited."""
        if self._inquiries is None:
            self._inquiries = await self._narrowed(names)
        inquiries = self._inquiries
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {name: group.create_task(self._ask(name, inquiries[name], depth)) for name in names}
        except ExceptionGroup as errors:  # every other error is a note by now, so these are all the same
            raise errors.exceptions[0] from None
        return {name: task.result() for name, task in tasks.items()}

    async def _narrowed(self, names: Sequence[str]) -> dict[str, Inquiry]:
        """Return the inquiry for each part."""
        if "semantic" not in names:
            return dict.fromkeys(names, self._inquiry)
        narrowed = await self._search.narrow(self._inquiry, both="text" in names)
        return {"title": self._inquiry, "text": narrowed.by_words, "semantic": narrowed.by_meaning}

    async def _ask(self, name: str, inquiry: Inquiry, depth: int) -> Ranking:
        """Return a part's ranking; if it cannot answer, note that and return an empty ranking."""
        if name in self._silent:
            return []
        try:
            return await self._parts[name](inquiry, depth)
        except DatabaseAway:
            raise
        except Exception as error:
            log.debug("The %s part could not answer.", name, exc_info=True)
            inquiry.notes[f"Searching by {_BY[name]} failed: {_sentence(error)}"] = None
            self._silent.add(name)
            return []

    async def _by_title(self, inquiry: Inquiry, depth: int) -> Ranking:
        return (await self._search.titled(inquiry))[:depth]

    async def _by_words(self, inquiry: Inquiry, depth: int) -> Ranking:
        ranking, covered = await self._search.text_ranking(inquiry, depth)
        self._weights["text"] = WORDS * covered
        return ranking

    async def _by_meaning(self, inquiry: Inquiry, depth: int) -> Ranking:
        """Rank by meaning. The query is embedded once, however deep the search goes."""
        if self._meaning is None:
            self._meaning = await self._search.meaning_of(inquiry)
        if self._meaning is None:
            self._silent.add("semantic")
            return []
        return await self._meaning.nearest(depth)


def _ranked(rankings: dict[str, Ranking], weights: Mapping[str, float]) -> list[Fused]:
    """Combine the rankings: one ranking keeps its own scores; several are fused."""
    if len(rankings) > 1:
        return fuse(rankings, weights=weights)
    [(name, ranking)] = rankings.items()
    return [Fused(item, score, {name: (place, score)}) for place, (item, score) in enumerate(ranking, start=1)]


def _place(properties: Mapping[str, Any]) -> str | None:
    """Return the position of a part in its file, as an editor takes it; for anything but a part, the file."""
    path, first, last, unit = (properties.get(name) for name in ("path", "first", "last", "unit"))
    if not path or not isinstance(first, int):
        return str(path) if path else None
    span = f"{first}-{last}" if isinstance(last, int) and last > first else f"{first}"
    return f"{path}:{span}" if unit == "line" else f"{path}, {unit} {span}"


def _says_something(vector: np.ndarray) -> bool:
    return float(vector @ vector) > 0


def _sentence(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".") + "."


class QueryCosts:
    """Records the cost of queries beside that of workers: one budget covers both.

    All searches of a database share one row, so that a query adds to a number and adds no row.
    """

    def __init__(self, spending: Spending) -> None:
        self._spending = spending
        self._kept: dict[Budget, int] = {}
        self._keeping = asyncio.Lock()

    async def keep(self, provider: Provider) -> None:
        """Store the tokens spent with a provider since the last call, and tell its budget what others have spent."""
        budget = provider.budget
        if budget is None or budget.limit is None:
            return
        async with self._keeping:
            spent = budget.spent
            total = await self._spending.add("search", provider.name, spent - self._kept.get(budget, 0))
            self._kept[budget] = spent
            budget.elsewhere = lambda: total - spent
