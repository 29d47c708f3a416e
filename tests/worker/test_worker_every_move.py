"""Every row of every built-in lifecycle is walked: by a real worker, and by the verbs that a person has.

A walk is a list of deeds to one item; what the journal then has of all walks is compared with the table.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from detent import Done, Failed, Handler, Item, Retry, Skipped, Source, Step
from detent.lifecycle import BUILTIN, Event, Lifecycle
from detent.store import Stage

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

Deed = tuple[Any, ...]

DONE, FAILED, RETRY, SKIPPED = Done(), Failed("No."), Retry("Not now."), Skipped("Nothing to do.")
LATER = Retry("Not today.", retry_after=3600)
LINKED = Done(to=["parsed", "linking", "linked"])


def work(**calls: Sequence[Any]) -> Deed:
    """A worker does all there is. Its handler for a state says these, one at each call, or one after the other where
    it is a list; then that it is to be tried later."""
    return ("work", {state: list(said) for state, said in calls.items()})


def retry(to: str | None = None) -> Deed:
    return ("retry", to)


CHANGE, PAUSE, RESUME = ("change",), ("pause",), ("resume",)

WALKS: dict[str, list[list[Deed]]] = {
    "simple": [
        [work(working=[RETRY, DONE], embedding=[RETRY, DONE]), CHANGE],
        [work(working=[DONE]), CHANGE, work(working=[FAILED]), retry("waiting")],
        [work(working=[FAILED]), CHANGE],
        [work(working=[DONE], embedding=[FAILED]), retry("worked"), work(embedding=[SKIPPED])],
        [work(working=[DONE], embedding=[DONE]), ("move", "worked")],
    ],
    "article": [
        [work(claimed=[RETRY, Done(to="processed")]), CHANGE, work(claimed=[DONE]), CHANGE],
        [work(claimed=[FAILED]), retry(), work(claimed=[FAILED]), CHANGE],
    ],
    "node": [
        [work(parsing=[RETRY, DONE], linking=[RETRY, DONE], embedding=[RETRY, DONE]), CHANGE],
        [work(parsing=[SKIPPED]), CHANGE, work(parsing=[DONE]), CHANGE],
        [work(parsing=[FAILED]), retry("pending"), work(parsing=[FAILED]), CHANGE],
        [work(parsing=[DONE], linking=[FAILED]), retry("parsed")],
        [work(parsing=[LINKED], embedding=[FAILED]), retry("linked"), work(embedding=[SKIPPED])],
        [work(parsing=[LINKED]), CHANGE],
        [work(parsing=[LINKED], embedding=[DONE]), ("move", "linked")],
    ],
    "passage": [
        [work(embedding=[RETRY, DONE]), CHANGE, work(embedding=[SKIPPED]), CHANGE],
        [work(embedding=[FAILED]), retry(), work(embedding=[FAILED]), CHANGE],
    ],
    "topic": [
        [work(in_progress=[RETRY, DONE]), CHANGE, work(in_progress=[FAILED]), retry()],
        [work(in_progress=[FAILED]), CHANGE],
    ],
    "crawl": [
        [work(running=[[Step(), Step(), DONE]]), CHANGE, work(running=[[Step(), Done(to="idle")], DONE])],
        [work(running=[Failed("Gone.", to="completed")])],
        [PAUSE, RESUME, work(running=[FAILED]), PAUSE, ("claim", "paused", DONE)],
        [work(running=[FAILED]), retry(), PAUSE],
        [work(running=[RETRY], fetching=[DONE])],
        [work(running=[PAUSE])],
        *[
            [work(running=[[Step(to=phase), end]])]
            for phase in ("fetching", "processing", "saving")
            for end in (FAILED, PAUSE)
        ],
    ],
}


class Walker:
    """Does deeds to one item after another."""

    def __init__(self, bench: Bench, lifecycle: Lifecycle) -> None:
        self._bench = bench
        self._lifecycle = lifecycle
        self._key = ""
        self._hashes = itertools.count(1)
        self._said: dict[str, list[Any]] = {}
        states = dict.fromkeys(lifecycle.claimed(state) for state in sorted(lifecycle.waiting))
        self._source = Source("walks", {"Thing": lifecycle}, [Handler(state, self._handle) for state in states])

    async def walk(self, key: str, deeds: Sequence[Deed]) -> list[tuple[str, str]]:
        self._key = key
        await self._bench.add(self._source, key, label="Thing")
        for verb, *details in deeds:
            await getattr(self, f"_{verb}")(*details)
        return await self._bench.moves(key)

    async def _id(self) -> int:
        [number] = await self._bench.store.listing.find(self._key)
        return number

    async def _work(self, said: dict[str, list[Any]]) -> None:
        self._said = said
        await self._bench.run(self._source, wait=False)
        assert not any(said.values()), "the handlers were not called as often as they were to be"

    async def _handle(self, item: Item) -> AsyncIterator[Any]:
        calls = self._said.get(item.state) if item.key == self._key else None
        said = calls.pop(0) if calls else LATER
        for each in said if isinstance(said, list) else [said]:
            if each is PAUSE:
                await self._pause()
            yield Step() if each is PAUSE else each

    async def _change(self) -> None:
        hashes = {self._key: f"content {next(self._hashes)}"}
        assert await self._bench.store.mark_changed("walks", "Thing", hashes) == 1

    async def _retry(self, to: str | None) -> None:
        assert await self._bench.store.retry([await self._id()], to=to) == 1

    async def _move(self, to: str) -> None:
        assert await self._bench.store.items.move([await self._id()], to, owner="a person")

    async def _pause(self) -> None:
        assert await self._bench.store.pause_items([await self._id()]) == 1

    async def _resume(self) -> None:
        assert await self._bench.store.resume_items([await self._id()]) == 1

    async def _claim(self, state: str, outcome: Any) -> None:
        [item] = await self._bench.store.claim(Stage(self._lifecycle, state), owner="a person")
        await self._bench.store.settle([(item, outcome)])


@pytest.mark.parametrize("lifecycle", BUILTIN.values(), ids=BUILTIN)
async def test_every_move_of_a_built_in_lifecycle_can_be_made(bench: Bench, lifecycle: Lifecycle) -> None:
    walker = Walker(bench, lifecycle)
    walked = [await walker.walk(f"thing {n}", deeds) for n, deeds in enumerate(WALKS[lifecycle.name])]
    made = {move for moves in walked for move in moves}
    listed = {(move.state, move.to) for move in lifecycle.moves}
    assert made == listed
    assert {move.event for move in lifecycle.moves} <= set(Event)
    assert await bench.sound()
