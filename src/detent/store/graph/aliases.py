"""Aliases: keys that stand for others, as items say. What was said is kept; beside it, one that leads to another is
turned to where that leads, so that looking one up is one step. Where several items claim a key, the schema says whose
word counts, and keeps the others' for when it is taken back. Therefore they are written by one transaction at a time,
as the last it does. Who says nothing else than before does not wait for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from detent.store import arrays
from detent.store.database import Connection, fetch
from detent.store.ledger.family import asked_by_name


class Claim(NamedTuple):
    """What an item says: that a key stands for another of the same kind."""

    kind_id: int
    key: str
    said_key: str


async def write_aliases(
    connection: Connection, saying: Mapping[int, Set[Claim]], real: Sequence[tuple[int, str]]
) -> None:
    """Write all that items, by their numbers, say about keys. `real` are the kinds and keys of what has content now, so
    that it stands for nothing else."""
    changed = await _changed(connection, saying)
    asked = asked_by_name(real)
    if not changed and not (real and await fetch(connection, "aliased", asked)):
        return
    await fetch(connection, "lock_aliases")
    await fetch(connection, "drop_aliases", {"ids": changed, **asked})
    await write_claims(connection, [(claim, number) for number in changed for claim in sorted(saying[number])])


async def write_claims(connection: Connection, lines: Sequence[tuple[Claim, int]]) -> None:
    """Write what is said about keys, and by which item. The caller holds the lock on aliases."""
    keys = Counter((claim.kind_id, claim.key) for claim, _ in lines)
    targets = {(claim.kind_id, claim.said_key) for claim, _ in lines}

    def is_alone(claim: Claim) -> bool:
        own, target = (claim.kind_id, claim.key), (claim.kind_id, claim.said_key)
        return keys[own] == 1 and own not in targets and target not in keys

    parameters = {
        "kinds": arrays.integers(claim.kind_id for claim, _ in lines),
        "keys": arrays.texts(claim.key for claim, _ in lines),
        "to_keys": arrays.texts(claim.said_key for claim, _ in lines),
        "ids": arrays.integers(number for _, number in lines),
        "alone": arrays.texts("t" if is_alone(claim) else "f" for claim, _ in lines),
    }
    if lines:
        await fetch(connection, "write_aliases", parameters)


async def _changed(connection: Connection, saying: Mapping[int, Set[Claim]]) -> list[int]:
    """The items that say something else than before."""
    said: dict[int, set[Claim]] = {number: set() for number in saying}
    for row in await fetch(connection, "said", {"ids": list(saying)}) if saying else ():
        said[row.said_by].add(Claim(row.kind_id, row.key, row.said_key))
    return [number for number, claims in saying.items() if claims != said[number]]
