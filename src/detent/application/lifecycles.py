"""The verbs of lifecycles: Detent's own, and those that the sources of a database follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from detent.application.verbs import Verbs
from detent.knowledge.value import Value
from detent.lifecycle import BUILTIN, Lifecycle, mermaid
from detent.lifecycle.meaning import meaning

if TYPE_CHECKING:
    from pathlib import Path

    from detent.store import Store


@dataclass(frozen=True)
class ShownState(Value):
    """A state, and what it means for an item to be in it."""

    state: str
    meaning: str


@dataclass(frozen=True)
class ShownMove(Value):
    """A row of a lifecycle's table."""

    state: str
    event: str
    to: str


@dataclass(frozen=True)
class ShownLifecycle(Value):
    """A lifecycle as it is shown: `entries` are the states in which items begin, `failure_kinds` the kinds of error by
    working state, and `mermaid` is its diagram."""

    name: str
    initial: str
    entries: Sequence[str]
    states: Sequence[ShownState]
    moves: Sequence[ShownMove]
    failure_kinds: Mapping[str, str]
    mermaid: str


class LifecycleVerbs(Verbs):
    """Show lifecycles."""

    async def lifecycles(self) -> list[ShownLifecycle]:
        """The lifecycles, those that sources follow and Detent's own."""
        return [shown(each) for each in (await known(self.store)).values()]

    async def lifecycle(self, name: str) -> ShownLifecycle:
        """The lifecycle of this name; an UnknownName if there is none."""
        return shown(await lifecycle_named(self.store, name))


async def known(store: Store) -> dict[str, Lifecycle]:
    """The lifecycles by name."""
    await store.kinds.refresh()
    return {**BUILTIN, **store.kinds.lifecycles}


async def lifecycle_named(store: Store, name: str) -> Lifecycle:
    """The lifecycle of this name."""
    if name in store.kinds.lifecycles:
        return store.kinds.lifecycles[name]
    return chosen(name, await known(store))


def chosen(name: str, lifecycles: Mapping[str, Lifecycle]) -> Lifecycle:
    """The lifecycle of this name among some."""
    from detent.store.ledger.kinds import unknown

    if name not in lifecycles:
        raise unknown("lifecycle", name, lifecycles)
    return lifecycles[name]


async def lifecycles_at(
    folder: str | Path | None = None, *, database: str | None = None, name: str | None = None
) -> list[ShownLifecycle]:
    """The lifecycles of a project, or the one of this name. Where there is no database yet, none is made, and there
    are Detent's own."""
    from detent.application.connecting import connected, project_at, settings_of
    from detent.postgres import describe

    project, found = project_at(folder), dict(BUILTIN)
    if settings_of(project, database=database).database or (project and describe(project.folder).data_folder):
        async with connected(folder, database=database) as opened:
            found = await known(opened.store)
    return [shown(chosen(name, found))] if name else [shown(each) for each in found.values()]


def shown(lifecycle: Lifecycle) -> ShownLifecycle:
    """A lifecycle as it is shown."""
    return ShownLifecycle(
        name=lifecycle.name,
        initial=lifecycle.initial,
        entries=sorted(lifecycle.entries),
        states=[ShownState(state, meaning(lifecycle, state)) for state in lifecycle.states],
        moves=[ShownMove(move.state, str(move.event), move.to) for move in lifecycle.moves],
        failure_kinds=dict(lifecycle.failure_kinds),
        mermaid=mermaid(lifecycle),
    )
