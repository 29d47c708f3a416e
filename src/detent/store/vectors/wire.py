"""Vectors and hashes in PostgreSQL's binary form, made from whole arrays at once.

The driver would convert each number of each vector; here NumPy lays out thousands of them as bytes that the server
takes unchanged: an array as one parameter, or the lines of a binary COPY.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format

from detent.store.database import Connection

Numbers = NDArray[np.floating[Any]]

BIGINT_TYPE, UUID_TYPE = 20, 2950
_LARGEST, _SMALLEST = 6e4, 1e-3
"""Range of a vector's largest number that half precision represents well; it ends at 65,504."""
_COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_TAIL = b"\xff\xff"


class Wire(bytes):
    """A parameter that is already in the server's form; the statement names its type."""


class _WireDumper(Dumper):
    format = Format.BINARY
    oid = 0

    def dump(self, obj: Wire) -> bytes:
        return obj


def accept(connection: Connection) -> None:
    """Let this connection take such parameters."""
    connection.adapters.register_dumper(Wire, _WireDumper)


def checked(vectors: Numbers, dimensions: int, count: int) -> Numbers:
    """Return the vectors, if their number is right and each has a direction.

    Length does not matter to the cosine, so a vector that half precision cannot represent is scaled.
    """
    if vectors.ndim != 2 or vectors.shape[1] != dimensions:
        shape = " by ".join(map(str, vectors.shape))
        raise ValueError(
            f"Vectors of {dimensions} dimensions are needed, one per row, but the array has the shape {shape}."
        )
    if len(vectors) != count:
        raise ValueError(f"There are {count} texts and {len(vectors)} vectors.")
    peaks = np.abs(vectors).max(axis=1, initial=0)
    bad = ~np.isfinite(peaks) | (peaks == 0)
    if bad.any():
        position = int(bad.argmax())
        what = "has no direction, only zeros" if peaks[position] == 0 else "has numbers that are not finite"
        raise ValueError(f"The vector at position {position} {what}, and cannot be stored.")
    if ((peaks > _LARGEST) | (peaks < _SMALLEST)).any():
        scale = np.where((peaks > _LARGEST) | (peaks < _SMALLEST), peaks, 1).astype(np.float64)
        return (vectors / scale[:, None]).astype(np.float32)
    return vectors


def sorted_once(hashes: Sequence[UUID], vectors: Numbers) -> tuple[NDArray[np.void], Numbers]:
    """Return both in the order of the hashes, each hash once: writers that all keep to one order never deadlock."""
    words = np.frombuffer(b"".join([entry.bytes for entry in hashes]), dtype=">u8").reshape(-1, 2)
    order = np.lexsort((words[:, 1], words[:, 0]))
    words = words[order]
    first = np.ones(len(words), dtype=bool)
    first[1:] = (words[1:] != words[:-1]).any(axis=1)
    return np.ascontiguousarray(words[first]).view("V16").reshape(-1), vectors[order[first]]


def uuids(hashes: NDArray[np.void]) -> Wire:
    """Return an array of `uuid`."""
    lines = np.empty(len(hashes), dtype=[("length", ">i4"), ("hash", "V16")])
    lines["length"], lines["hash"] = 16, hashes
    return Wire(_array_head(UUID_TYPE, len(lines)) + lines.tobytes())


def uuids_of(hashes: Sequence[UUID]) -> Wire:
    """Return an array of `uuid`, from unsorted hashes."""
    return uuids(np.frombuffer(b"".join([entry.bytes for entry in hashes]), dtype="V16"))


def integers(numbers: Collection[int]) -> Wire:
    """Return an array of `bigint`."""
    lines = np.empty(len(numbers), dtype=[("length", ">i4"), ("number", ">i8")])
    lines["length"], lines["number"] = 8, np.fromiter(numbers, dtype=np.int64, count=len(numbers))
    return Wire(_array_head(BIGINT_TYPE, len(lines)) + lines.tobytes())


def halfvecs(vectors: Numbers, halfvec_type: int) -> Wire:
    """Return an array of `halfvec`, given that type's number in this database."""
    lines = np.empty(len(vectors), dtype=_halfvec(vectors.shape[1]))
    _fill(lines, vectors)
    return Wire(_array_head(halfvec_type, len(lines)) + lines.tobytes())


def halfvec(vector: Numbers) -> Wire:
    """Return one `halfvec`."""
    return Wire(np.array([len(vector), 0], dtype=">i2").tobytes() + vector.astype(">f2").tobytes())


def copy_lines(hashes: NDArray[np.void], vectors: Numbers) -> bytes:
    """Return the complete input of a binary COPY of hashes and vectors."""
    line = [("fields", ">i2"), ("hash_length", ">i4"), ("hash", "V16"), *_halfvec(vectors.shape[1])]
    lines = np.empty(len(vectors), dtype=line)
    lines["fields"], lines["hash_length"], lines["hash"] = 2, 16, hashes
    _fill(lines, vectors)
    return _COPY_HEAD + lines.tobytes() + _COPY_TAIL


def read_halfvec(data: bytes) -> NDArray[np.float32]:
    """Read a `halfvec` from the server."""
    return np.frombuffer(data, dtype=">f2", offset=4).astype(np.float32)


def _halfvec(dimensions: int) -> list[Any]:
    return [("length", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f2", (dimensions,))]


def _fill(lines: NDArray[Any], vectors: Numbers) -> None:
    dimensions = vectors.shape[1]
    lines["length"], lines["dimensions"], lines["unused"] = 4 + 2 * dimensions, dimensions, 0
    lines["vector"] = vectors


def _array_head(element_type: int, count: int) -> bytes:
    dimensions = 1 if count else 0
    return np.array([dimensions, 0, element_type, *([count, 1] if count else [])], dtype=">u4").tobytes()
