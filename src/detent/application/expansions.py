"""Progress of sources of articles: by state and depth, and the remainder of their target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from detent.knowledge.value import Value
from detent.lifecycle import ARTICLE

if TYPE_CHECKING:
    from detent.store import Kind, Store, Tally

LOADED = ("loaded", "processed")


@dataclass(frozen=True)
class StateShare(Value):
    """Articles in one state: how many, and how deep they are on average. Where there are more than 100,000, that is of
    the first 100,000."""

    state: str
    count: int
    avg_depth: float | None


@dataclass(frozen=True)
class StaleClaim(Value):
    """An article whose worker has not been heard of for longer than its lease; it is about to be taken back."""

    title: str
    claimed_at: datetime
    expansion_depth: int


@dataclass(frozen=True)
class ExpansionStatus(Value):
    """The progress of a source's expansion. `target` is the largest number of articles, if there is one.

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


async def read_expansions(store: Store, kinds: Iterable[Kind], counted: Sequence[Tally]) -> tuple[ExpansionStatus, ...]:
    """The expansions of all sources of articles."""
    articles = [kind for kind in kinds if kind.lifecycle.name == ARTICLE.name]
    return tuple([await _read(store, kind, counted) for kind in articles])


async def _read(store: Store, kind: Kind, counted: Sequence[Tally]) -> ExpansionStatus:
    counts = {line.state: line.count for line in counted if (line.source, line.label) == (kind.source, kind.label)}
    depths = await _depths(store, kind, [state for state, count in counts.items() if count])
    shares = [StateShare(state, count, depths.get(state)) for state, count in counts.items() if count]
    total = sum(counts.values())
    loaded = sum(counts.get(state, 0) for state in ([kind.bounds.state] if kind.bounds.state else LOADED))
    return ExpansionStatus(
        source=kind.source,
        label=kind.label,
        distribution=tuple(sorted(shares, key=lambda share: -share.count)),
        queue_size=counts.get(ARTICLE.initial, 0),
        loaded_count=loaded,
        total=total,
        percent_complete=round(100.0 * loaded / total, 2) if total else 0.0,
        target=kind.bounds.most,
        stale_claims=tuple([StaleClaim(*claim) for claim in await store.bounds.stale_claims(kind)]),
    )


async def _depths(store: Store, kind: Kind, states: Sequence[str]) -> dict[str, float]:
    """Mean depths; none where a source takes all there is, whose articles have an order and no depth."""
    if kind.bounds.state is not None and kind.bounds.depth is None:
        return {}
    return await store.bounds.mean_depths(kind, states)
