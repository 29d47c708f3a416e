"""The contents and sizes of a model's parts."""

from __future__ import annotations

from dataclasses import dataclass

from detent.store.database import Connection, fetch
from detent.store.vectors import parts
from detent.store.vectors.parts import Listing


@dataclass(frozen=True)
class PartStatistics:
    """One part. `count` is its number of vectors, including those that nobody refers to any more."""

    name: str
    role: str
    count: int
    indexed: bool
    table_bytes: int
    index_bytes: int


async def measure(connection: Connection, listing: Listing) -> list[PartStatistics]:
    """Measure every existing part of the list. A part without an index is counted."""
    sizes = {row.id: row for row in await fetch(connection, "part_sizes", {"model": listing.model})}
    return [
        PartStatistics(
            part.name,
            part.role,
            part.count if part.indexed else await parts.count(connection, part),
            part.indexed,
            sizes[part.id].table_bytes if part.id in sizes else 0,
            sizes[part.id].index_bytes if part.id in sizes else 0,
        )
        for part in listing.present
    ]
