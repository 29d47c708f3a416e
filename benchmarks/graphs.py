"""Graphs to write out and to read in: articles in shared categories, each with sections that it owns.

An article comes with three sections, which have the text. It links to three others, before and after it, and to two
categories; each section links to an article. That makes nearly three edges per node.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import batched
from typing import Any

from benchmarks import passages
from detent.lifecycle import ARTICLE, PASSAGE

CATEGORIES = 1_000
SECTIONS = 3
SENTENCE_WORDS = 20
SENTENCES = 4

Record = dict[str, Any]


def lines(nodes: int) -> Iterator[str]:
    """A graph of so many nodes as the lines of a file that was exported, made up while they are read."""
    for record in _records(nodes):
        yield json.dumps(record)


def _records(nodes: int) -> Iterator[Record]:
    yield {"format": "detent", "version": 1, "items": nodes}
    for lifecycle in (ARTICLE, PASSAGE):
        yield {"record": "lifecycle", "definition": lifecycle.as_data()}
    for label, lifecycle in (("Category", ARTICLE), ("Article", ARTICLE), ("Section", PASSAGE)):
        yield {"record": "kind", "source": "bench", "label": label, "lifecycle": lifecycle.name}
    for number in range(CATEGORIES):
        yield _item("Category", _category(number), "loaded", {"title": f"Category {number}", "text": "", "shared": True})
    articles, rest = divmod(nodes - CATEGORIES, SECTIONS + 1)
    chance, sentences = random.Random(5), _sentences()
    for number in range(articles):
        yield _article(number, articles, chance)
        for position in range(SECTIONS):
            yield _section(number, position, articles, chance, sentences)
    for number in range(articles, articles + rest):
        yield _article(number, articles, chance)
