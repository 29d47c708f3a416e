"""Graphs to write out and to read in: articles in shared categories, each with sections of its own.

An article has three sections, and these have the text. It links to three articles, before and after it, and to two
categories; a section links to one article. That makes nearly three edges per node.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from benchmarks import passages
from detent.lifecycle import ARTICLE, PASSAGE

CATEGORIES = 1_000
SECTIONS = 3
SENTENCE_WORDS = 20
SENTENCES = 4

Record = dict[str, Any]


def lines(nodes: int) -> Iterator[str]:
    """A graph of about so many nodes as the lines of a file that was exported, made up while they are read."""
    yield json.dumps({"format": "detent", "version": 1, "items": nodes})
    for lifecycle in (ARTICLE, PASSAGE):
        yield json.dumps({"record": "lifecycle", "definition": lifecycle.as_data()})
    for label, lifecycle in (("Category", ARTICLE), ("Article", ARTICLE), ("Section", PASSAGE)):
        yield json.dumps({"record": "kind", "source": "bench", "label": label, "lifecycle": lifecycle.name})
    for record in _items(nodes):
        yield json.dumps({"record": "item", "source": "bench", **record})


def _items(nodes: int) -> Iterator[Record]:
    for number in range(CATEGORIES):
        node = {"title": f"Category {number}", "text": "", "shared": True}
        yield {"label": "Category", "key": f"c{number}", "state": "loaded", "node": node}
    articles = (nodes - CATEGORIES) // (1 + SECTIONS)
    chance, sentences = random.Random(5), _sentences()
    for number in range(articles):
        yield _article(number, articles, chance)
        for place in range(SECTIONS):
            yield _section(number, place, articles, chance, sentences)


def _article(number: int, articles: int, chance: random.Random) -> Record:
    links = [_reference("LINKS_TO", "Article", f"a{chance.randrange(articles)}") for _ in range(3)]
    links += [_reference("IN_CATEGORY", "Category", f"c{chance.randrange(CATEGORIES)}") for _ in range(2)]
    properties = {"year": 1900 + number % 100, "authors": [f"author {chance.randrange(5_000)}"], "weight": number / 7}
    node = {"title": f"Article {number}", "text": "", "properties": properties}
    return {"label": "Article", "key": f"a{number}", "state": "loaded", "node": node, "references": links}


def _section(article: int, place: int, articles: int, chance: random.Random, sentences: list[str]) -> Record:
    node = {
        "title": f"Article {article}, section “{place}”",
        "text": "\n".join(chance.choices(sentences, k=SENTENCES)),
        "properties": {"place": place, "path": f"articles\\{article}\\{place}"},
        "parent": {"source": "bench", "label": "Article", "key": f"a{article}"},
        "position": place,
        "edge": "HAS_SECTION",
    }
    link = _reference("SEE_ALSO", "Article", f"a{chance.randrange(articles)}") | {"properties": {"page": place}}
    return {"label": "Section", "key": f"a{article}#{place}", "state": "linked", "node": node, "references": [link]}


def _reference(type_: str, label: str, key: str) -> Record:
    return {"type": type_, "source": "bench", "label": label, "key": key}


def _sentences() -> list[str]:
    texts, _ = passages.World().make(2_000, seed=6)
    words = [text.split() for text in texts]
    starts = range(0, passages.WORDS, SENTENCE_WORDS)
    return [f"{' '.join(each[start : start + SENTENCE_WORDS])}." for each in words for start in starts]
