"""Ranks with bm25s: reads texts and queries, split into words, as JSON, and writes the places of the best texts."""

import json
import sys

import bm25s

K1 = 1.5
B = 0.75


def main() -> None:
    asked = json.load(sys.stdin)
    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    index.index(asked["texts"], show_progress=False)
    best = [_best(index, query, asked["many"]) for query in asked["queries"]]
    json.dump(best, sys.stdout)


def _best(index: bm25s.BM25, query: list[str], many: int) -> list[int]:
    known = [word for word in query if word in index.vocab_dict]
    if not known:
        return []
    places, scores = index.retrieve([known], k=many, show_progress=False)
    return [int(place) for place, score in zip(places[0], scores[0], strict=True) if score > 0]


if __name__ == "__main__":
    main()
