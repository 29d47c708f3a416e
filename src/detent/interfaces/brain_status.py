"""What the document "Machine à états universelle" has `get_brain_status` tell: where all nodes are, and what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from detent.application import Detent
from detent.store import Listed, Store, Tally

if TYPE_CHECKING:
    from detent.store.vectors.models import Model

SAMPLES = 5
COUNTED = 10_000
"""Of how many failed items of a label it is told how they failed."""

_PAGE = 5_000

States = Mapping[str, int]
"""How many items are in each state; states without items are left out."""


@dataclass(frozen=True)
class ErrorGroup:
    """Items of a label that failed alike: how many, and the keys of some. Where more than 10,000 of a label have
    failed, the first 10,000 are counted."""

    label: str
    error_type: str | None
    count: int
    keys: tuple[str, ...]


@dataclass(frozen=True)
class BrainStatus:
    """How all items stand. A project is a source; `embedding` is the model that search uses, and `next_embedding` the
    one that is being filled to take its place."""

    states: States
    labels: Mapping[str, States]
    projects: Mapping[str, States]
    errors: tuple[ErrorGroup, ...]
    embedding: Model | None
    next_embedding: Model | None

    def as_data(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "states": dict(self.states),
            "labels": {label: dict(states) for label, states in self.labels.items()},
            "projects": {project: dict(states) for project, states in self.projects.items()},
            "errors": [asdict(group) | {"keys": list(group.keys)} for group in self.errors],
            "embedding": {"current": _model(self.embedding), "next": _model(self.next_embedding)},
        }


def get_brain_status(db: Detent) -> BrainStatus:
    """Ask how all items stand. Counts are kept with every move; of items, only failed ones are read."""
    return db.wait(read_brain_status(db.asynchronous.store))


async def read_brain_status(store: Store, tallies: Sequence[Tally] | None = None) -> BrainStatus:
    """The same for who has the store, and maybe its counts."""
    counted = await store.count_by_state() if tallies is None else tallies
    states: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    projects: dict[str, Counter[str]] = {}
    for line in counted:
        for counts in (states, labels.setdefault(line.label, Counter()), projects.setdefault(line.source, Counter())):
            counts[line.state] += line.count
    return BrainStatus(
        states=dict(states),
        labels={label: dict(counts) for label, counts in labels.items()},
        projects={source: dict(counts) for source, counts in projects.items()},
        errors=await _errors(store, counted),
        embedding=await store.vectors.current(),
        next_embedding=await store.vectors.next(),
    )


async def _errors(store: Store, counted: Sequence[Tally]) -> tuple[ErrorGroup, ...]:
    """What failed, the most frequent first."""
    failures = {kind.lifecycle.name: kind.lifecycle.failures for kind in await store.kinds.select()}
    failed = {(line.label, line.state) for line in counted if line.state in failures.get(line.lifecycle, ())}
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


def _model(model: Model | None) -> dict[str, Any] | None:
    if model is None:
        return None
    return {"provider": model.provider, "model": model.name, "dimensions": model.dimensions}
