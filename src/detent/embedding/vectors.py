"""Vectors of length 1, whatever a model gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from detent.embedding.provider import Vectors


def normalised(vectors: Any) -> Vectors:
    """The rows as float32 of length 1. A row of zeros has no direction and stays as it is."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    lengths[lengths == 0] = 1
    normal: Vectors = (rows / lengths[:, np.newaxis]).astype(np.float32)
    return normal
