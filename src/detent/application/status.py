"""The status of a database as one value, which `detent status`, `get_brain_status` and `get_expansion_status` show.

It reads counts that are kept with every move, and leases: it answers at once however many items there are. What failed
and how far expansions are is read on request, since that reads items.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from detent.application.standing import MEANINGS, LabelStatus, held_back, standings
from detent.application.verbs import Verbs
from detent.errors import DetentError
from detent.knowledge.value import Value, as_data
from detent.lifecycle.meaning import FAILED

if TYPE_CHECKING:
    from detent.application.expansions import ExpansionStatus
    from detent.store import Holder, Kind, Listed, Origin, Store, Tally
    from detent.store.ledger.pacing import Held
    from detent.store.vectors.models import Model

SAMPLES = 5
COUNTED = 10_000
"""The number of failed items of a label that are grouped."""

_PAGE = 5_000

States = Mapping[str, int]
"""The number of items in each state; states without items are left out."""


@dataclass(frozen=True)
class SourceStatus(Value):
    """A source, since when it is there, since when it is paused, if it is, and its labels."""

    name: str
    added_at: datetime
    paused_at: datetime | None
    labels: tuple[LabelStatus, ...] = ()


@dataclass(frozen=True)
class ErrorGroup(Value):
    """Items of a label that failed alike: how many, and the keys of some. Where more than 10,000 of a label have
    failed, the first 10,000 are counted."""

    label: str
    error_type: str | None
    count: int
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Details:
    """The details read on request: failures, the models in use, and the progress of expansions."""

    failures: tuple[ErrorGroup, ...]
    model: Model | None
    """The model that search uses."""

    next_model: Model | None
    """The model that is being filled to take its place."""

    expansions: tuple[ExpansionStatus, ...]


@dataclass(frozen=True)
class Status(Value):
    """The counts of all items by state, and the workers that hold items."""

    at: datetime
    sources: tuple[SourceStatus, ...]
    workers: tuple[Holder, ...]
    services: tuple[Held, ...]
    """Services that are not asked for a while, because they refused."""

    details: Details | None = None

    @property
    def labels(self) -> list[LabelStatus]:
        """The labels of all sources."""
        return [label for source in self.sources for label in source.labels]

    @property
    def totals(self) -> dict[str, int]:
        """The number of items, and of those of each meaning."""
        labels = self.labels
        totals = {"items": sum(label.total for label in labels)}
        return totals | {name: sum(label.of(name) for label in labels) for name in MEANINGS}

    @property
    def states(self) -> States:
        """The number of items in each state."""
        return _states(self.labels)

    def states_by(self, name: str) -> dict[str, States]:
        """The same for each `label` or each `source`."""
        groups: dict[str, list[LabelStatus]] = {}
        for each in self.labels:
            if each.total:
                groups.setdefault(getattr(each, name), []).append(each)
        return {group: _states(labels) for group, labels in groups.items()}

    def as_data(self) -> dict[str, Any]:
        """The same for JSON. What was not asked for is left out."""
        data = {
            "at": as_data(self.at),
            "totals": self.totals,
            "sources": as_data(self.sources),
            "workers": as_data(self.workers),
            "services": as_data(self.services),
            "states": self.states,
            "labels": self.states_by("label"),
        }
        if self.details is None:
            return data
        return data | {
            "errors": as_data(self.details.failures),
            "embedding": {"current": as_data(self.details.model), "next": as_data(self.details.next_model)},
            "expansions": as_data(self.details.expansions),
        }


class StatusVerbs(Verbs):
    """Tell how things stand."""

    async def status(self, *, details: bool = False) -> Status:
        """Return the counts of all items by state, and the workers that hold items. It reads counts and leases; with
        `details` also failed items, the embedding models, and the progress of expansions."""
        return await read_status(self.store, details=details)

    async def revive(self) -> None:
        """Start the project's own server again if it has ended. A server of somebody else's is left to them."""
        with contextlib.suppress(DetentError):
            await self.opened.located.revive()

    async def rate_limits(self) -> tuple[Held, ...]:
        """The services that are not asked for a while because they refused, those first that are asked again first."""
        return tuple(await self.store.pacing.held())


async def read_status(store: Store, *, details: bool = False) -> Status:
    """The status of an open store."""
    kinds, tallies = await store.kinds.select(), await store.count_by_state()
    labels = standings(kinds, tallies, await held_back(store, kinds))
    return Status(
        at=datetime.now(UTC),
        sources=tuple(_source(origin, labels) for origin in await store.sources.all()),
        workers=tuple(await store.workers()),
        services=tuple(await store.pacing.held()),
        details=await _details(store, kinds, tallies, labels) if details else None,
    )


async def _details(
    store: Store, kinds: Sequence[Kind], tallies: Sequence[Tally], labels: Sequence[LabelStatus]
) -> Details:
    from detent.application.expansions import read_expansions

    return Details(
        failures=await _failures(store, labels),
        model=await store.vectors.current(),
        next_model=await store.vectors.next(),
        expansions=await read_expansions(store, kinds, tallies),
    )


def _source(origin: Origin, labels: Iterable[LabelStatus]) -> SourceStatus:
    own = tuple(label for label in labels if label.source == origin.name)
    return SourceStatus(origin.name, origin.added_at, origin.paused_at, own)


def _states(labels: Iterable[LabelStatus]) -> States:
    counts: Counter[str] = Counter()
    for label in labels:
        for each in label.states:
            counts[each.state] += each.count
    return dict(counts)


async def _failures(store: Store, labels: Iterable[LabelStatus]) -> tuple[ErrorGroup, ...]:
    """The failures, most frequent first."""
    failed = {(label.label, each.state) for label in labels for each in label.states if each.meaning == FAILED}
    counts: Counter[tuple[str, str | None]] = Counter()
    keys: dict[tuple[str, str | None], list[str]] = {}
    for label, state in sorted(failed):
        for item in await _failed(store, label, state):
            group = label, item.error_kind
            counts[group] += 1
            if len(samples := keys.setdefault(group, [])) < SAMPLES:
                samples.append(item.key)
    ordered = sorted(counts, key=lambda group: (-counts[group], group[0], group[1] or ""))
    return tuple(ErrorGroup(*group, counts[group], tuple(keys[group])) for group in ordered)


async def _failed(store: Store, label: str, state: str) -> list[Listed]:
    found: list[Listed] = []
    mark: str | None = None
    while len(found) < COUNTED:
        page = await store.list(label=label, state=state, limit=min(_PAGE, COUNTED - len(found)), after=mark)
        found += page.items
        mark = page.next
        if mark is None:
            break
    return found
