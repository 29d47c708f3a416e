"""Aliases: keys that stand for other keys, as declared by items.

The declared target is stored. Beside it, an alias that leads to another alias is resolved to its final target, so
that a look-up is one step. If several items claim a key, the schema decides whose claim counts, and keeps the
others for when that one is withdrawn. Aliases are therefore written by one transaction at a time, as its last
action. An item that repeats its earlier claims does not wait for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from detent.store import arrays
from detent.store.database import Connection, fetch
from detent.store.ledger.family import asked_by_name


class Claim(NamedTuple):
    """An item's claim that a key stands for another key of the same kind."""

    kind_id: int
    key: str
    said_key: str


async def write_aliases(
    connection: Connection, saying: Mapping[int, Set[Claim]], real: Sequence[tuple[int, str]]
) -> None:
    """Write all claims of items, given by number, about keys.

    `real` are the kinds and keys that have content now, and so stand for nothing else.
    """
    changed = await _changed(connection, saying)
    asked = asked_by_name(real)
    if not changed and not (real and await fetch(connection, "aliased", asked)):
        return
    await fetch(connection, "lock_aliases")
    await fetch(connection, "drop_aliases", {"ids": changed, **asked})
    await write_claims(connection, [(claim, number) for number in changed for claim in sorted(saying[number])])


async def write_claims(connection: Connection, lines: Sequence[tuple[Claim, int]]) -> None:
    """Write claims and the items that make them. The caller holds the lock on aliases."""
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
    """Return the items whose claims differ from the stored ones."""
    said: dict[int, set[Claim]] = {number: set() for number in saying}
    for row in await fetch(connection, "said", {"ids": list(saying)}) if saying else ():
        said[row.said_by].add(Claim(row.kind_id, row.key, row.said_key))
    return [number for number, claims in saying.items() if claims != said[number]]
