"""How good text search is beside bm25s: both rank the project's judged collection, by the same words."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.search.judging import CUT, Judged, judged, ndcg, passages

from benchmarks import postgres
from benchmarks.contenders import REPOSITORY
from benchmarks.figures import Figure, at_most
from benchmarks.peers import environment
from detent.knowledge import Done, Node
from detent.knowledge.query import Query, parse
from detent.lifecycle import ARTICLE
from detent.store import Stage, Store

LANGUAGES = ("simple", "english")
CLOSE = 0.005


@dataclass(frozen=True)
class Ranked:
    """What Detent found for each query, and the words that PostgreSQL makes of texts and queries."""

    found: list[list[str]]
    texts: list[list[str]]
    queries: list[list[str]]


def measure(tell: Callable[[str], None]) -> list[Figure]:
    """nDCG@10 of text search on the project's judged collection, beside bm25s with the same words."""
    figures = []
    with postgres.server() as server:
        for language in LANGUAGES:
            tell(f"ranking in the language {language}")
            with postgres.empty_database(server) as conninfo:
                ranked = asyncio.run(_ranked(conninfo, language))
            ours, theirs = _mean(ranked.found), _mean(_bm25s(ranked))
            figures += [
                Figure(f"Detent, {language}", ours, "nDCG@10"),
                Figure(f"bm25s, {language}", theirs, "nDCG@10"),
                at_most(CLOSE, f"difference, {language}", abs(ours - theirs), "nDCG@10", peer="bm25s"),
            ]
    return figures


async def _ranked(conninfo: str, language: str) -> Ranked:
    async with Store(conninfo) as store:
        nodes = {each.key: Node(each.title, each.text) for each in passages()}
        await store.declare("collection", "Article", ARTICLE)
        await store.sources.set_language("collection", language)
        await store.add("collection", "Article", list(nodes))
        items = await store.claim(Stage(ARTICLE, "discovered"), limit=len(nodes), owner="benchmark")
        await store.settle([(item, Done(nodes[item.key])) for item in items])
        while await store.texts.index():
            pass
        queries = [query for query, _ in _plain()]
        found = [await store.texts.search(query, limit=CUT) for query in queries]
        keys = {item.id: item.key for item in items}
        asked = await _words(store, language, [" ".join(query.words) for query in queries])
        return Ranked(
            [[keys[hit.item_id] for hit in hits.hits] for hits in found],
            await _words(store, language, [f"{node.title} {node.text}" for node in nodes.values()]),
            [sorted(set(words)) for words in asked],
        )


def _plain() -> list[tuple[Query, Judged]]:
    """The queries that are words and nothing else: bm25s knows no phrase and no minus."""
    queries = [(parse(each.query), each) for each in judged()]
    return [(query, each) for query, each in queries if not query.phrases and not query.excluded]


async def _words(store: Store, language: str, texts: Sequence[str]) -> list[list[str]]:
    """Each text as words, one as often as it occurs."""
    statement = """
        SELECT ARRAY(SELECT word.lexeme FROM unnest(to_tsvector(%s::regconfig, text)) AS word,
                     unnest(word.positions) AS position) AS words
        FROM unnest(%s::text[]) WITH ORDINALITY AS given (text, number) ORDER BY number"""
    return [row.words for row in await _rows(store, statement, language, list(texts))]


async def _rows(store: Store, statement: str, *parameters: object) -> list:  # type: ignore[type-arg]
    async with store.database.connection() as connection:
        return await (await connection.execute(statement.encode(), parameters)).fetchall()


def _bm25s(ranked: Ranked) -> list[list[str]]:
    asked = json.dumps({"texts": ranked.texts, "queries": ranked.queries, "many": CUT})
    told = subprocess.run(
        [environment.interpreter(), "-m", "benchmarks.peers.bm25s_run"],
        input=asked,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    keys = [each.key for each in passages()]
    return [[keys[place] for place in places] for places in json.loads(told.stdout)]


def _mean(found: Sequence[Sequence[str]]) -> float:
    scores = [ndcg(keys, each.grades) for keys, (_, each) in zip(found, _plain(), strict=True)]
    return sum(scores) / len(scores)
