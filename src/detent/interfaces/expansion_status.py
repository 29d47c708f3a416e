"""The state queries of the document "Expansion State Machine": how far an expansion has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from detent.application import Detent
from detent.lifecycle import ARTICLE
from detent.store import Kind, Store, Tally

LOADED = ("loaded", "processed")
MOST_STALE = 100
COUNTED = 100_000
"""Of how many articles in a state the mean depth is taken."""


@dataclass(frozen=True)
class StateShare:
    """Articles in one state: how many, and how deep they are on average. Where there are more than 100,000, that is of
    the first 100,000."""

    state: str
    count: int
    avg_depth: float | None


@dataclass(frozen=True)
class StaleClaim:
    """An article whose worker has not been heard of for longer than its lease; it is about to be taken back."""

    title: str
    claimed_at: datetime
    expansion_depth: int


@dataclass(frozen=True)
class ExpansionStatus:
    """How far the expansion of a source has come. `target` is how many articles are wanted at most, if that is said.

    `loaded_count` is of those that rest where the source says that articles do, and of those `loaded` or `processed`
    where it does not say so.
    """

    source: str
    label: str
    distribution: tuple[StateShare, ...]
    queue_size: int
    loaded_count: int
    total: int
    percent_complete: float
    target: int | None
    stale_claims: tuple[StaleClaim, ...]

    def as_data(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)


def get_expansion_status(db: Detent, source: str = "wiki") -> ExpansionStatus | None:
    """Ask how far a source's expansion has come; None if it has no articles."""
    found = db.wait(read_expansion_status(db.asynchronous.store))
    return next((each for each in found if each.source == source), None)


async def read_expansion_status(store: Store, tallies: Sequence[Tally] | None = None) -> list[ExpansionStatus]:
    """The same of all sources of articles, for who has the store, and maybe its counts."""
    counted = await store.count_by_state() if tallies is None else tallies
    kinds = [kind for kind in await store.kinds.select() if kind.lifecycle.name == ARTICLE.name]
    return [await _status(store, kind, counted) for kind in kinds]


async def _status(store: Store, kind: Kind, counted: Sequence[Tally]) -> ExpansionStatus:
    counts = {line.state: line.count for line in counted if (line.source, line.label) == (kind.source, kind.label)}
    depths = await _depths(store, kind, [state for state, count in counts.items() if count])
    shares = [StateShare(state, count, depths.get(state)) for state, count in counts.items() if count]
    total = sum(counts.values())
    loaded = sum(counts.get(state, 0) for state in ([kind.bounds.state] if kind.bounds.state else LOADED))
    stale = await store.database.fetch("stale_claims", {"kind": kind.id, "limit": MOST_STALE})
    return ExpansionStatus(
        source=kind.source,
        label=kind.label,
        distribution=tuple(sorted(shares, key=lambda share: -share.count)),
        queue_size=counts.get(ARTICLE.initial, 0),
        loaded_count=loaded,
        total=total,
        percent_complete=round(100.0 * loaded / total, 2) if total else 0.0,
        target=kind.bounds.most,
        stale_claims=tuple(StaleClaim(row.key, row.claimed_at, row.priority) for row in stale),
    )


async def _depths(store: Store, kind: Kind, states: Sequence[str]) -> dict[str, float]:
    """Mean depths; none where a source takes all there is, whose articles have an order and no depth."""
    if kind.bounds.state is not None and kind.bounds.depth is None:
        return {}
    parameters = {"kind": kind.id, "states": list(states), "limit": COUNTED}
    return {row.state: row.depth for row in await store.database.fetch("depths", parameters)}
