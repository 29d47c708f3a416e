"""Parquet: a folder with nodes.parquet and edges.parquet, for pandas, Polars, DuckDB and Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from detent.projections.writer import Record

_NODES = pyarrow.schema(
    [
        ("id", pyarrow.int64()),
        ("source", pyarrow.string()),
        ("label", pyarrow.string()),
        ("key", pyarrow.string()),
        ("state", pyarrow.string()),
        ("title", pyarrow.string()),
        ("text", pyarrow.string()),
        ("properties", pyarrow.string()),
        ("content_hash", pyarrow.string()),
        ("parent_id", pyarrow.int64()),
        ("shared", pyarrow.bool_()),
    ]
)
_EDGES = pyarrow.schema(
    [
        ("from_id", pyarrow.int64()),
        ("type", pyarrow.string()),
        ("to_id", pyarrow.int64()),
        ("position", pyarrow.int32()),
        ("properties", pyarrow.string()),
    ]
)
NAMES = ("nodes.parquet", "edges.parquet")

_GROUP_ROWS = 20_000
_GROUP_BYTES = 8_000_000
_POOL = pyarrow.system_memory_pool()
"""Arrow's default pool took up to 30 MB more at the peak for a million nodes, and never the same amount."""


class Parquet:
    """Writes the two files, under these names followed by `suffix`. Properties are JSON."""

    def __init__(self, folder: Path, suffix: str = "") -> None:
        nodes, edges = (folder / f"{name}{suffix}" for name in NAMES)
        self._nodes = _File(nodes, _NODES)
        self._edges = _File(edges, _EDGES)

    def nodes(self, records: Sequence[Record]) -> None:
        self._nodes.add(records)

    def edges(self, records: Sequence[Record]) -> None:
        self._edges.add(records)

    def close(self) -> None:
        self._nodes.close()
        self._edges.close()


class _File:
    """Writes rows in large groups. The metadata of every group stays in memory until the file is closed; with
    small groups it would grow with the graph."""

    def __init__(self, path: Path, schema: pyarrow.Schema) -> None:
        self._schema = schema
        self._writer = parquet.ParquetWriter(path, schema, compression="zstd", memory_pool=_POOL)
        self._gathered: list[pyarrow.Table] = []

    def add(self, records: Sequence[Record]) -> None:
        self._gathered.append(_table(records, self._schema))
        rows = sum(table.num_rows for table in self._gathered)
        if rows >= _GROUP_ROWS or sum(table.nbytes for table in self._gathered) >= _GROUP_BYTES:
            self._write()

    def close(self) -> None:
        if self._gathered:
            self._write()
        self._writer.close()

    def _write(self) -> None:
        self._writer.write_table(pyarrow.concat_tables(self._gathered))
        self._gathered.clear()


def _table(records: Sequence[Record], schema: pyarrow.Schema) -> pyarrow.Table:
    columns = [pyarrow.array(_column(records, each.name), each.type, memory_pool=_POOL) for each in schema]
    return pyarrow.Table.from_arrays(columns, schema=schema)


def _column(records: Sequence[Record], name: str) -> list[Any]:
    if name == "properties":
        return [json.dumps(record[name], ensure_ascii=False) for record in records]
    return [record[name] for record in records]
