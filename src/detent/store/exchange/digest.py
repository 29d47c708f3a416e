"""A digest of the graph's content: two databases with the same graph have the same digest, however the graph was
made.

Each row is hashed by itself and the hashes are added up, so that neither the order of rows nor their numbers
matter. The sum covers all rows at one moment.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from detent.knowledge.value import Value
from detent.store.database import Database, fetch
from detent.store.ledger.kinds import Kinds

_LANE = 2**64
_SUMS = {"nodes": "digest_nodes", "references": "digest_references", "aliases": "digest_aliases"}
_SCANS = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin")


@dataclass(frozen=True)
class Digest(Value):
    """The digest, and the number of rows it covers."""

    digest: str
    nodes: int
    edges: int
    references: int
    aliases: int


async def digest(database: Database, kinds: Kinds, source: str | None = None) -> Digest:
    """Return the digest of all content, or of one source. The source's own name does not count, so that the same
    content has the same digest under another name."""
    await kinds.select(source)
    asked = {"source": source}
    async with database.connection() as connection, connection.transaction():
        await fetch(connection, "one_moment")
        for setting in _SCANS:  # everything is read, so sequential scans are best
            await connection.execute("SELECT set_config(%s, 'on', true)", [setting])
        sums = {name: (await fetch(connection, statement, asked))[0] for name, statement in _SUMS.items()}
        edges = (await fetch(connection, "count_edges", asked))[0].count
    counts = {name: row.count for name, row in sums.items()}
    written = [f"{name} {row.count} {int(row.high) % _LANE:x} {int(row.low) % _LANE:x}" for name, row in sums.items()]
    return Digest(hashlib.sha256("\n".join(written).encode()).hexdigest(), edges=edges, **counts)
