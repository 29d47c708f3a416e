"""The verbs of search."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, open_provider
from detent.errors import DatabaseAway, DetentError, UnknownName
from detent.knowledge.filters import Filters
from detent.knowledge.fusion import Fused, fuse
from detent.knowledge.query import Query, parse
from detent.search.answer import Answer, Hit, Suggestion
from detent.search.surroundings import Surroundings
from detent.store import Store
from detent.store.filtering import Scope

if TYPE_CHECKING:
    from detent.store.vectors import Model

log = logging.getLogger("detent.search")

MODES = ("hybrid", "text", "semantic", "graph")
DEPTH = 60
"""How many passages each part is asked for, at first."""
DEEPEST = 6400
MOST = 1000
WORDS = 5.0
"""How much more words count than meaning where a text has all words of the query; where the best has less of it, as
much less."""

Ranking = list[tuple[int, float]]


@dataclass(frozen=True)
class Inquiry:
    """What is asked for, where, and what is to be told with the answer."""

    query: Query
    limit: int
    scope: Scope
    notes: dict[str, None]


class Search:
    """Searches one store. The query is embedded by the provider that the settings name."""

    def __init__(self, store: Store, settings: EmbeddingSettings | None = None) -> None:
        self._store = store
        self._settings = settings or EmbeddingSettings()
        self._others: dict[tuple[str, str], Provider] = {}
        """Those of models that are searched while another one, which the settings name, is being filled."""

    @cached_property
    def _provider(self) -> Provider:
        return open_provider(self._settings)

    def close(self) -> None:
        own = [self._provider] if "_provider" in self.__dict__ else []
        for provider in (*own, *self._others.values()):
            provider.close()

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
        """The best results for free text.

        `mode` is one of MODES. In `graph` the score is the first of `weights` times the similarity, plus the second
        divided by the number of steps from the nearest of the items `around` and one. `grouped`: of the passages of
        one article or file the best stands for all. `marks` are put around what matches in a snippet.
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
            fused, roots = await self._enough(ranked, limit, grouped, {})
        else:
            names = ("text", "semantic") if mode == "hybrid" else (mode,)
            fused, roots = await self._enough(asking.rankings(names), limit, grouped, asking.weights)
        hits = await self._hits(fused[:limit], roots, query, grouped, marks)
        return Answer(tuple(hits), tuple(notes))

    async def similar(
        self, item: int, *, limit: int = 10, filters: Filters | None = None, grouped: bool = True
    ) -> Answer:
        """What is nearest in meaning to an item that is there; itself and what belongs to it left out."""
        limit = max(1, min(limit, MOST))
        model = await self._store.vectors.current()
        vector = await self._vector_of(item, model) if model else None
        if model is None or vector is None:
            return Answer((), ("It has no vector, so that nothing can be compared with it.",))
        scope = await self._store.filtering.scope(filters or Filters())
        inquiry = Inquiry(parse(""), limit, scope, {})
        own = (await self._roots([item])).get(item, item)

        async def ask(depth: int) -> dict[str, Ranking]:
            ranking = await self._nearest(model, vector, inquiry, depth)
            roots = await self._roots([number for number, _ in ranking])
            return {"semantic": [(n, score) for n, score in ranking if roots.get(n, n) != own and n != item]}

        fused, roots = await self._enough(ask, limit, grouped, {})
        hits = await self._hits(fused[:limit], roots, inquiry.query, grouped, ("", ""))
        return Answer(tuple(hits), tuple(inquiry.notes))

    async def suggest(self, prefix: str, *, limit: int = 10, filters: Filters | None = None) -> list[Suggestion]:
        """Nodes whose titles begin with what was typed."""
        wanted = filters or Filters()
        kinds = await self._store.kinds.chosen(wanted.sources, wanted.labels)
        typed = prefix.replace("\x00", "").encode("utf-8", errors="ignore").decode().strip().lower()[:64]
        if not typed:
            return []
        pattern = typed.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        asked = {"pattern": pattern, "kinds": [kind.id for kind in kinds], "limit": max(1, min(limit, MOST)) * 4}
        rows = await self._store.database.fetch("suggestions", asked)
        by_id = {kind.id: kind for kind in kinds}
        found = {
            (row.title, row.key): Suggestion(row.title, row.key, by_id[row.kind_id].source, by_id[row.kind_id].label)
            for row in rows
        }
        return list(found.values())[:limit]

    async def text_ranking(self, inquiry: Inquiry, depth: int) -> tuple[Ranking, float]:
        """The best by words, and how much of the query the best of them has, from 0 to 1."""
        scope = inquiry.scope
        check = scope.check if scope.wide else None
        exact = max(2 * inquiry.limit, depth // 5)  # what comes after those hardly counts
        found = await self._store.texts.search(
            inquiry.query, limit=depth, exact=exact, kinds=scope.kinds, allowed=scope.allowed, check=check
        )
        inquiry.notes.update(dict.fromkeys(found.notes))
        covered = found.hits[0].score / found.bound if found.hits and found.bound else 0.0
        return [(hit.item_id, hit.score) for hit in found.hits], covered

    async def semantic_ranking(self, inquiry: Inquiry, depth: int) -> Ranking:
        """The nearest in meaning that meet the query's phrases and exclusions."""
        meaning = " ".join(inquiry.query.sought)
        if not meaning:
            inquiry.notes["There is nothing in the query to compare by meaning."] = None
            return []
        model = await self._store.vectors.current()
        if model is None:
            inquiry.notes["Nothing is embedded yet, so that nothing was found by meaning."] = None
            return []
        vector = await self._embedded(meaning, model)
        return await self._nearest(model, vector, inquiry, depth)

    async def _nearest(self, model: Model, vector: np.ndarray, inquiry: Inquiry, depth: int) -> Ranking:
        """The nearest items that meet the filters and the query. Where those cannot be named beforehand, more are asked
        for until enough of them do."""
        scope, asked = inquiry.scope, depth
        while True:
            found = await self._store.vectors.search(
                model, vector, limit=asked, kinds=scope.kinds, allowed=scope.allowed
            )
            inquiry.notes.update(dict.fromkeys(found.notes))
            ranking = [(hit.item_id, float(hit.similarity)) for hit in found.hits]
            kept = await self._meeting(inquiry, ranking)
            if len(kept) >= depth or len(ranking) < asked or asked >= DEEPEST * 4:
                return kept[:depth]
            asked *= 4

    async def _meeting(self, inquiry: Inquiry, ranking: Ranking) -> Ranking:
        """What of a ranking meets a filter that names nothing, and the query's phrases and exclusions."""
        meeting = {number for number, _ in ranking}
        if inquiry.scope.wide and meeting:
            async with self._store.database.connection() as connection:
                meeting = await inquiry.scope.check(connection, sorted(meeting))
        if (inquiry.query.phrases or inquiry.query.excluded) and meeting:
            meeting = await self._store.texts.meeting(inquiry.query, meeting)
        return [(number, score) for number, score in ranking if number in meeting]

    async def _embedded(self, text: str, model: Model) -> np.ndarray:
        vector = await asyncio.to_thread(lambda: self._provider_of(model).embed_query(text))
        if not float(vector @ vector) > 0:
            raise DetentError("the model finds nothing in the query")
        return vector

    def _provider_of(self, model: Model) -> Provider:
        if (self._provider.name, self._provider.model) == (model.provider, model.name):
            return self._provider
        name = (model.provider, model.name)
        if name not in self._others:
            settings = replace(self._settings, provider=model.provider, model=model.name.split("@")[0])
            self._others[name] = open_provider(settings)
        return self._others[name]

    async def _vector_of(self, item: int, model: Model) -> np.ndarray | None:
        """An item's vector; of one that has none, the mean of those of what belongs to it."""
        rows = await self._store.database.fetch("embedding_of", {"id": item})
        found = [await self._store.vectors.get(model, row.hash) for row in rows[:50]]
        vectors = [vector for vector in found if vector is not None]
        if not vectors:
            return None
        mean = np.mean(vectors, axis=0)
        return mean if float(mean @ mean) > 0 else None

    async def _enough(
        self,
        ask: Callable[[int], Awaitable[dict[str, Ranking]]],
        limit: int,
        grouped: bool,
        weights: Mapping[str, float],
    ) -> tuple[list[Fused], dict[int, int]]:
        """Ask ever deeper until there are enough groups, or there is no more; returns the best of each group."""
        depth = max(DEPTH, limit)
        while True:
            rankings = await ask(depth)
            fused = _ranked(rankings, weights)
            roots = await self._roots([each.item_id for each in fused]) if grouped else {}
            best: dict[int, Fused] = {}
            for each in fused:
                best.setdefault(roots.get(each.item_id, each.item_id), each)
            exhausted = all(len(ranking) < depth for ranking in rankings.values())
            if len(best) >= limit or exhausted or depth >= DEEPEST:
                return list(best.values()), roots
            depth *= 4

    async def _roots(self, ids: Sequence[int]) -> dict[int, int]:
        rows = await self._store.database.fetch("roots", {"ids": list(ids)}) if ids else []
        return {row.id: row.root_id for row in rows}

    async def _hits(
        self, fused: Sequence[Fused], roots: dict[int, int], query: Query, grouped: bool, marks: tuple[str, str]
    ) -> list[Hit]:
        ids = [each.item_id for each in fused]
        if not ids:
            return []
        roots = roots or await self._roots(ids)
        asked = {"ids": ids, "roots": [roots.get(number, number) for number in ids]}
        rows = {row.item_id: row for row in await self._store.database.fetch("results", asked)}
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
        )


class _Asking:
    """One inquiry, as each part of the search is asked it."""

    def __init__(self, search: Search, inquiry: Inquiry) -> None:
        self._search = search
        self._inquiry = inquiry
        self.weights: dict[str, float] = {}
        """How much each part counts; known when it has answered."""

    def rankings(self, names: Sequence[str]) -> Callable[[int], Awaitable[dict[str, Ranking]]]:
        async def ask(depth: int) -> dict[str, Ranking]:
            found = await asyncio.gather(*[self._ask(name, self._inquiry, depth) for name in names])
            return dict(zip(names, found, strict=True))

        return ask

    async def semantic(self, scope: Scope, depth: int) -> Ranking:
        return await self._ask("semantic", replace(self._inquiry, scope=scope), depth)

    async def _ask(self, name: str, inquiry: Inquiry, depth: int) -> Ranking:
        """A part's ranking; if it cannot answer, that is noted, and its ranking is empty."""
        try:
            if name == "semantic":
                return await self._search.semantic_ranking(inquiry, depth)
            ranking, covered = await self._search.text_ranking(inquiry, depth)
            self.weights["text"] = WORDS * covered
            return ranking
        except DatabaseAway:
            raise
        except Exception as error:
            log.debug("The %s part could not answer.", name, exc_info=True)
            part = "Searching by words" if name == "text" else "Searching by meaning"
            inquiry.notes[f"{part} failed: {_sentence(error)}"] = None
            return []


def _ranked(rankings: dict[str, Ranking], weights: Mapping[str, float]) -> list[Fused]:
    """One ranking keeps its own scores; several are fused."""
    if len(rankings) > 1:
        return fuse(rankings, weights=weights)
    [(name, ranking)] = rankings.items()
    return [Fused(item, score, {name: (place, score)}) for place, (item, score) in enumerate(ranking, start=1)]


def _sentence(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".") + "."
