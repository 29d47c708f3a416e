"""Parquet: a folder with nodes.parquet and edges.parquet, for pandas, Polars, DuckDB and Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow
from pyarrow import parquet

from detent.formats.writer import Record

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


class Parquet:
    """Writes the two files, under these names with `suffix` behind them. Properties are JSON."""

    def __init__(self, folder: Path, suffix: str = "") -> None:
        nodes, edges = (folder / f"{name}{suffix}" for name in NAMES)
        self._nodes = parquet.ParquetWriter(nodes, _NODES, compression="zstd")
        self._edges = parquet.ParquetWriter(edges, _EDGES, compression="zstd")

    def nodes(self, records: Sequence[Record]) -> None:
        self._nodes.write_table(_table(records, _NODES))

    def edges(self, records: Sequence[Record]) -> None:
        self._edges.write_table(_table(records, _EDGES))

    def close(self) -> None:
        self._nodes.close()
        self._edges.close()


def _table(records: Sequence[Record], schema: pyarrow.Schema) -> pyarrow.Table:
    rows = [{**record, "properties": json.dumps(record["properties"], ensure_ascii=False)} for record in records]
    return pyarrow.Table.from_pylist(rows, schema=schema)
