"""The collection that search is judged by, and the measure: nDCG@10.

`collection/passages.txt` and `collection/queries.txt` say how they are written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

COLLECTION = Path(__file__).parent / "collection"
CUT = 10


class Passage(NamedTuple):
    key: str
    title: str
    text: str


class Judged(NamedTuple):
    kind: str
    query: str
    grades: Mapping[str, int]


def blocks(name: str) -> Iterator[tuple[str, str, list[str]]]:
    """The parts of a file of the collection: both halves of the first line, and the lines below it."""
    lines = (COLLECTION / name).read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    for block in text.strip().split("\n\n"):
        head, *rest = block.splitlines()
        left, right = head.split(" | ", maxsplit=1)
        yield left, right, rest


def passages() -> list[Passage]:
    return [Passage(key, title, " ".join(lines)) for key, title, lines in blocks("passages.txt")]


def judged() -> list[Judged]:
    return [Judged(kind, query, dict(map(_judgement, lines))) for kind, query, lines in blocks("queries.txt")]


def _judgement(line: str) -> tuple[str, int]:
    grade, key = line.split()
    return key, int(grade)


def ndcg(found: Sequence[str], grades: Mapping[str, int]) -> float:
    """The gain of what was found, less the later it comes, in proportion to the best that was possible."""
    best = sorted(grades.values(), reverse=True)
    return _gain([grades.get(key, 0) for key in found]) / _gain(best)


def _gain(grades: Sequence[int]) -> float:
    return sum((2.0**grade - 1) / math.log2(place + 1) for place, grade in enumerate(grades[:CUT], start=1))
