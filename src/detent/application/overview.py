"""What is there and who works on it: sources and workers, from small tables and never from the items."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from detent.store import Store
from detent.store.kinds import unknown


@dataclass(frozen=True)
class Origin:
    """A source as the database knows it."""

    name: str
    added_at: datetime
    paused_at: datetime | None


@dataclass(frozen=True)
class Holder:
    """A worker that holds items now."""

    owner: str
    leases: int
    items: int
    deadline: datetime
    since: datetime


async def origins(store: Store) -> list[Origin]:
    """The sources, by name."""
    return [Origin(*row) for row in await store.database.fetch("sources")]


async def holders(store: Store) -> list[Holder]:
    """The workers that hold items now."""
    return [Holder(*row) for row in await store.database.fetch("workers")]


async def pause(store: Store, source: str) -> None:
    """Let nothing more of this source be claimed."""
    await _set(store, "pause", source)


async def resume(store: Store, source: str) -> None:
    """Let this source be worked on again."""
    await _set(store, "resume", source)
    await store.notices.hint()


async def _set(store: Store, statement: str, source: str) -> None:
    if not await store.database.fetch(statement, {"name": source}):
        raise unknown("source", source, [origin.name for origin in await origins(store)])
