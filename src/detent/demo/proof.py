"""Prove from what the database has that a killed worker cost nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from detent.demo.commands import out
from detent.demo.material import Material
from detent.demo.victim import Victim

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from detent.application import AsyncDetent
    from detent.application.values import Story

_SUCCESSES = {("parsing", "parsed"), ("linking", "linked"), ("embedding", "ready")}
_DONE = {"ready", "skip"}


async def prove(db: AsyncDetent, material: Material, victim: Victim) -> bool:
    """Print each fact with whether it holds; returns whether all do."""
    stories = [told async for told in _stories(db)]
    files = {told.item.key for told in stories if told.item.label == "File"}
    interrupted = [told for told in stories if told.item.id in victim.held and _was_interrupted(told)]
    facts = [
        (material.files <= files, f"nothing is lost: all {len(material.files)} files on the disk are in the graph"),
        (
            all(map(_written_once, stories)),
            f"nothing is written twice: the journal of each of {len(stories):,} items has every step once",
        ),
        (
            all(told.item.state in _DONE and told.owner is None for told in stories),
            "nothing is stuck: no item waits, none is held by a worker, none has failed",
        ),
        (
            len(interrupted) == len(victim.held),
            f"the worker died holding {len(victim.held)} files: each was given back, and done by another worker",
        ),
    ]
    for holds, sentence in facts:
        out.print(f"{'[green]✓[/]' if holds else '[red]✗[/]'} {sentence}")
    return all(holds for holds, _ in facts)


async def _stories(db: AsyncDetent) -> AsyncIterator[Story]:
    after = None
    while True:
        page = await db.items(limit=1000, after=after)
        for item in page.items:
            yield await db.show(item.id)
        if (after := page.next) is None:
            return


def _written_once(told: Story) -> bool:
    moves = Counter((entry.from_state, entry.to_state) for entry in told.history)
    return all(moves[move] <= 1 for move in _SUCCESSES)


def _was_interrupted(told: Story) -> bool:
    return any("died" in (entry.reason or "") for entry in told.history)
