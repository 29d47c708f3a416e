"""Reading what an embedding service answers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from detent.embedding.provider import Vectors


class Unusable(Exception):
    """The answer is not one vector for each text, for this reason."""


def vectors_in(answer: Any, texts: int, dimensions: int | None) -> Vectors:
    """The vectors in the order of the texts, which the service need not have kept. Raises Unusable."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
        raise Unusable("it has no list of vectors")
    if len(data) != texts:
        raise Unusable(f"it has {len(data):,} vectors for {texts:,} texts")
    rows = [_vector(each.get("embedding")) for each in _in_order(data)]
    expected = dimensions or max(len(rows[0]), 1)
    wrong = next((len(row) for row in rows if len(row) != expected), None)
    if wrong is not None:
        raise Unusable(f"a vector has {wrong:,} numbers where {expected:,} are expected")
    found: Vectors = np.stack(rows)
    if not np.isfinite(found).all():
        raise Unusable("a vector has something in it that is no number")
    return found


def tokens_in(answer: Any) -> int | None:
    """The number of tokens that the service reports, if it does."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    counted = usage.get("total_tokens", usage.get("prompt_tokens")) if isinstance(usage, dict) else None
    return counted if isinstance(counted, int) and counted >= 0 else None


def _in_order(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By `index`; where no entry has one, as they came."""
    if all("index" not in each for each in data):
        return data
    by_index = {each.get("index"): each for each in data if isinstance(each.get("index"), int)}
    if set(by_index) != set(range(len(data))):
        raise Unusable("it does not say which vector belongs to which text")
    return [by_index[index] for index in range(len(data))]


def _vector(embedding: object) -> Any:
    """A vector from a list of numbers, or from their bytes (little-endian float32) in base64."""
    try:
        if isinstance(embedding, str):
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
        if isinstance(embedding, list):
            row = np.array(embedding, dtype=np.float32)
            if row.ndim == 1:
                return row
    except (ValueError, TypeError, OverflowError):
        pass
    raise Unusable("a vector is neither a list of numbers nor base64")
