"""Aliases: other keys by which an item is known. What was said is kept; beside it, one that leads to another is turned
to where that leads, so that looking one up is one step. Where several items claim a key, the schema says whose word
counts, and keeps the others' for when it is taken back. Therefore they are written by one transaction at a time, as the
last it does."""

from __future__ import annotations

from collections.abc import Sequence

from detent.knowledge import Done, Item
from detent.store.database import Connection, fetch


async def write_aliases(
    connection: Connection, produced: Sequence[tuple[Item, int, Done]], children: Sequence[tuple[int, str]]
) -> None:
    """Write what outcomes say about other keys; an item that has a node is no alias, and no more is a child."""
    saying = [line for line in produced if line[2].aliases is not None or line[2].alias_of is not None]
    own = [(kind, item.key) for item, kind, done in produced if done.node is not None and done.alias_of is None]
    real = {"kinds": [kind for kind, _ in (*own, *children)], "keys": [key for _, key in (*own, *children)]}
    if not saying and not (real["keys"] and await fetch(connection, "aliased", real)):
        return
    await fetch(connection, "lock_aliases")
    await fetch(connection, "drop_aliases", {"ids": [item.id for item, _, _ in saying], **real})
    await _write(connection, saying)


async def _write(connection: Connection, saying: Sequence[tuple[Item, int, Done]]) -> None:
    lines = [
        (kind, key, to_key, item.id)
        for item, kind, done in saying
        for key, to_key in [
            *[(key, item.key) for key in done.aliases or () if key != item.key],
            *([(item.key, done.alias_of)] if done.alias_of is not None else []),
        ]
    ]
    if lines:
        kinds, keys, to_keys, ids = (list(column) for column in zip(*lines, strict=True))
        await fetch(connection, "write_aliases", {"kinds": kinds, "keys": keys, "to_keys": to_keys, "ids": ids})
