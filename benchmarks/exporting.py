"""The graph written out and read in again by the command line: how fast, in how much memory, and whether it is the
same. Beside it, plain COPY of its nodes and edges: as fast as PostgreSQL can tell them.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import figures, graphs, postgres, program
from benchmarks.figures import Figure, at_least, at_most
from benchmarks.program import Run
from detent.store import Store
from detent.store.exchange import load

FEW = 100_000
MANY = 1_000_000
FORMATS = {"JSONL": "graph.jsonl", "GraphML": "graph.graphml", "Parquet": "graph.parquet"}

Tell = Callable[[str], None]


@dataclass
class Found:
    """What it took with a graph of one size."""

    nodes: int
    copying: float = 0.0
    exporting: dict[str, Run] = field(default_factory=dict)
    importing: Run = field(default_factory=Run)
    same: bool = False


def measure(tell: Tell, few: int = FEW, many: int = MANY) -> list[Figure]:
    """A million nodes exported in each format and imported again: nodes per second, peak memory, the same digest."""
    figures.FOLDER.mkdir(parents=True, exist_ok=True)
    with postgres.server() as server, tempfile.TemporaryDirectory(dir=figures.FOLDER) as folder:
        small, large = (_out_and_in(server, Path(folder), nodes, tell) for nodes in (few, many))
    return [
        *_speeds(large),
        *[each for name in FORMATS for each in _memory(f"export as {name}", small, large, _exporting(name))],
        *_memory("import of JSONL", small, large, lambda found: found.importing),
        at_least(1, "imports that have the digest of the original", (small.same + large.same) / 2, "of all"),
    ]


def _out_and_in(server: str, folder: Path, nodes: int, tell: Tell) -> Found:
    found = Found(nodes)
    with postgres.empty_database(server) as conninfo:
        tell(f"{nodes:,} nodes are made and loaded")
        asyncio.run(_fill(conninfo, nodes))
        original = _digest(conninfo)
        tell(f"plain COPY of {nodes:,} nodes and their edges")
        found.copying = _copy(conninfo, folder / "copied")
        for name, file in FORMATS.items():
            tell(f"{nodes:,} nodes are exported as {name}")
            found.exporting[name] = program.run(conninfo, "graph", "export", str(folder / file))
        _require_all(found, original)
    with postgres.empty_database(server) as conninfo:
        tell(f"{nodes:,} nodes are imported")
        found.importing = program.run(conninfo, "graph", "import", str(folder / FORMATS["JSONL"]))
        found.same = _digest(conninfo) == original
    return found


async def _fill(conninfo: str, nodes: int) -> None:
    async with Store(conninfo) as store, store.database.connection() as connection:
        await load(connection, graphs.lines(nodes))


def _digest(conninfo: str) -> dict[str, Any]:
    """The digest, and of how much; taken when the planner knows the tables, as it does some minutes after loading."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
    found: dict[str, Any] = json.loads(program.run(conninfo, "graph", "digest", "--json").output)
    return found


_ROWS = (
    """SELECT item.id, item.key, item.state, node.title, node.text, node.properties, node.parent_id
       FROM detent.item JOIN detent.node ON node.item_id = item.id""",
    "SELECT from_id, type, to_id, position, properties FROM detent.edge",
)


def _copy(conninfo: str, file: Path) -> float:
    began = time.perf_counter()
    with psycopg.connect(conninfo) as connection, file.open("wb") as stream:
        for rows in _ROWS:
            with connection.cursor() as cursor, cursor.copy(f"COPY ({rows}) TO STDOUT") as copy:
                stream.writelines(copy)
    return time.perf_counter() - began


def _require_all(found: Found, original: dict[str, Any]) -> None:
    if original["nodes"] != found.nodes:
        raise RuntimeError(f"There should be {found.nodes:,} nodes, and there are {original['nodes']:,}.")
    for name in ("GraphML", "Parquet"):
        said = found.exporting[name].output
        if not said.startswith(f"{original['nodes'] + original['edges']:,} records"):
            raise RuntimeError(f"Not all was exported as {name}, of {original}: {said}")


def _speeds(found: Found) -> Iterator[Figure]:
    copying = found.nodes / found.copying
    speeds = {name: found.nodes / run.seconds for name, run in found.exporting.items()}
    for name, speed in speeds.items():
        yield Figure(f"export as {name}, {found.nodes:,} nodes", speed, "nodes/s")
    yield Figure(f"import of JSONL, {found.nodes:,} nodes", found.nodes / found.importing.seconds, "nodes/s")
    yield Figure("plain COPY of nodes and edges", copying, "nodes/s")
    for name, speed in speeds.items():
        yield Figure(f"export as {name} ÷ plain COPY", speed / copying, "times", peer="PostgreSQL COPY")


def _exporting(name: str) -> Callable[[Found], Run]:
    return lambda found: found.exporting[name]


def _memory(doing: str, small: Found, large: Found, run_of: Callable[[Found], Run]) -> Iterator[Figure]:
    few, many = run_of(small).megabytes, run_of(large).megabytes
    yield Figure(f"{doing}, peak memory with {small.nodes:,} nodes", few, "MB")
    yield Figure(f"{doing}, peak memory with {large.nodes:,} nodes", many, "MB")
    yield at_most(1.1, f"{doing}, peak memory, more ÷ fewer nodes", many / few, "times")
