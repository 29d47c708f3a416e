"""Files for other programs: what their readers and whoever writes them rely on, and no test of the command sees."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, cast

from pyarrow import parquet

from detent.application.exporting import fill
from detent.projections import Record
from detent.projections.parquet import NAMES, Parquet
from detent.store.exchange import Dump


def test_a_format_is_written_by_one_thread() -> None:
    """Memory that a thread has used is kept for it, so several would take more the longer they go on."""
    writer = _Threads()
    assert asyncio.run(fill(cast(Dump, _Graph()), writer)) == 200_000
    assert len(writer.seen) == 1


class _Graph:
    """Some portions of nodes and of edges."""

    async def nodes(self) -> AsyncIterator[Record]:
        for number in range(100_000):
            yield {"id": number}

    edges = nodes


class _Threads:
    """Remembers which threads call it."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def nodes(self, records: Sequence[Record]) -> None:
        self.seen.add(threading.get_ident())

    def edges(self, records: Sequence[Record]) -> None:
        self.nodes(records)

    def close(self) -> None:
        self.nodes([])


def test_parquet_has_few_groups_of_rows_however_small_the_portions_are(tmp_path: Path) -> None:
    """Something of each group stays in memory until the file is whole, so a group per portion would not do."""
    nodes, edges = _written(tmp_path, [[_node(number)] for number in range(300)], [[_edge(0)], [_edge(1)]])
    assert (nodes.num_row_groups, edges.num_row_groups) == (1, 1)
    assert nodes.read(["id"]).column("id").to_pylist() == list(range(300))
    assert edges.read(["to_id"]).column("to_id").to_pylist() == [0, 1]


def test_parquet_gathers_no_more_than_some_megabytes_of_text(tmp_path: Path) -> None:
    long = [[_node(number, text="a" * 1_000_000)] for number in range(40)]
    nodes, _ = _written(tmp_path, long, [])
    assert nodes.num_row_groups > 1
    assert nodes.metadata.num_rows == 40


def test_parquet_of_nothing_has_its_columns(tmp_path: Path) -> None:
    nodes, edges = _written(tmp_path, [], [])
    assert (nodes.metadata.num_rows, edges.metadata.num_rows) == (0, 0)
    assert "properties" in edges.schema_arrow.names


def _written(folder: Path, nodes: list[list[Record]], edges: list[list[Record]]) -> list[Any]:
    writer = Parquet(folder)
    _each(writer.nodes, nodes)
    _each(writer.edges, edges)
    writer.close()
    return [parquet.ParquetFile(folder / name) for name in NAMES]


def _each(write: Callable[[list[Record]], None], portions: list[list[Record]]) -> None:
    for portion in portions:
        write(portion)


def _node(number: int, text: str = "") -> Record:
    names = {"source": "site", "label": "Page", "key": f"page {number}", "state": "linked", "title": f"Page {number}"}
    return {
        "id": number,
        **names,
        "text": text,
        "properties": {},
        "content_hash": None,
        "parent_id": None,
        "shared": False,
    }


def _edge(target: int) -> Record:
    return {"from_id": 7, "type": "LINKS_TO", "to_id": target, "position": 0, "properties": {}}
