"""Tending beside the work: it survives its own trouble, sweeps seldom, and keeps the accounts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from detent import Child, Done, Handler, Item, Node, Source
from detent.configuration import EmbeddingSettings
from detent.embedding import Budget, Provider, register
from detent.embedding.provider import Vectors
from detent.errors import DatabaseAway, DatabaseBusy
from detent.lifecycle import ARTICLE, PASSAGE
from detent.store import Store
from detent.store.vectors import vectors as store_vectors
from detent.worker import tending
from detent.worker.duty import declare, duties
from detent.worker.tending import Tending

if TYPE_CHECKING:
    from tests.worker.conftest import Bench

PAID: dict[str, Any] = {"embedding__provider": "paid", "embedding__token_budget": 100}


class Paid(Provider):
    """Every text costs a token."""

    name = "paid"
    model = "one"
    dimensions = 4
    batch_size = 8

    def __init__(self, settings: EmbeddingSettings) -> None:
        self.budget = Budget(settings.token_budget)

    def embed(self, texts: Sequence[str]) -> Vectors:
        assert self.budget is not None
        self.budget.reserve(len(texts))
        return np.full((len(texts), 4), 0.5, np.float32)


@pytest.fixture(autouse=True)
def paid() -> None:
    register("paid", Paid)


def wiki() -> Source:
    def load(item: Item) -> Done:
        return Done(Node(item.key), children=[Child("Section", f"{item.key}/s", Node("s", f"long enough {item.key}"))])

    return Source("wiki", {"Article": ARTICLE, "Section": PASSAGE}, [Handler("claimed", load, label="Article")])


async def load(bench: Bench, *keys: str) -> None:
    source = wiki()
    await bench.add(source, *keys, label="Article")
    async with asyncio.timeout(20):
        await bench.run(source, **PAID)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def tender(store: Store, clock: Clock) -> Tending:
    async def account() -> None:
        return

    return Tending(store, account, clock=clock)


class Calls:
    """Stands in the place of a step: counts its calls, and does with each what it was told."""

    def __init__(self, *answers: object) -> None:
        self._answers: Iterator[object] = iter(answers)
        self.count = 0
        self.called = asyncio.Event()

    async def __call__(self, *_: object) -> Any:
        self.count += 1
        self.called.set()
        answer = next(self._answers, 0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_step_that_fails_is_told_once_and_keeps_no_other_from_being_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await load(bench, "a")
    monkeypatch.setattr(tending, "_SHORTEST_SECONDS", 0.01)
    monkeypatch.setattr(tending, "_LONGEST_SECONDS", 0.01)
    index, tidy = Calls(*[ValueError("the index is upset")] * 3), Calls()
    monkeypatch.setattr(bench.store.texts, "index", index)
    monkeypatch.setattr(bench.store.texts, "tidy", tidy)
    tends = tender(bench.store, Clock())
    with caplog.at_level(logging.WARNING, "detent.worker"):
        running = asyncio.create_task(tends.run())
        await bench.until(lambda: later(index.count > 4 and tidy.count > 4))
        tends.stop()
        await running
    told = [record.message for record in caplog.records]
    assert len(told) == 2 and "the index is upset" in told[0] and "works again" in told[1]


async def later(answer: object) -> object:
    return answer


async def test_a_database_that_is_busy_for_one_step_does_the_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await load(bench, "a")
    index, tidy = Calls(DatabaseBusy("no room"), DatabaseAway("gone")), Calls()
    monkeypatch.setattr(bench.store.texts, "index", index)
    monkeypatch.setattr(bench.store.texts, "tidy", tidy)
    tends = tender(bench.store, Clock())
    for trouble, done in ((DatabaseBusy, 1), (DatabaseAway, 1)):
        with pytest.raises(trouble):
            await tends.run_once()
        assert tidy.count == done
    assert await tends.run_once() is False


async def test_a_run_whose_texts_cannot_be_indexed_says_why(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.store.texts, "index", Calls(*[ValueError("the index is upset")] * 100))
    with pytest.raises(ValueError, match="the index is upset"):
        await load(bench, "a")


async def test_an_idle_worker_sweeps_once_a_minute_and_a_slow_sweep_is_more_seldom(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await load(bench, "a")
    clock = Clock()
    sweep, index = Calls(0, 3), Calls()
    monkeypatch.setattr(bench.store.removal, "sweep", sweep)
    monkeypatch.setattr(bench.store.texts, "index", index)
    tends = tender(bench.store, clock)
    clock.now = 59
    assert (await tends.run_once(), sweep.count) == (False, 0)
    clock.now = 61
    assert (await tends.run_once(), sweep.count) == (False, 1)
    clock.now = 120
    assert (await tends.run_once(), sweep.count) == (False, 1)
    clock.now = 122
    assert (await tends.run_once(), sweep.count) == (True, 2)

    async def slow(*_: object) -> int:
        clock.now += 10
        return int(await sweep())

    monkeypatch.setattr(bench.store.removal, "sweep", slow)
    for now, sweeps in ((183, 3), (300, 3), (692, 3), (694, 4)):
        clock.now = now
        assert (await tends.run_once(), sweep.count) == (False, sweeps)


async def test_it_does_not_sweep_while_there_is_anything_else_to_do(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await load(bench, "a")
    clock, sweep = Clock(), Calls()
    monkeypatch.setattr(bench.store.removal, "sweep", sweep)
    monkeypatch.setattr(bench.store.texts, "index", Calls(1))
    tends = tender(bench.store, clock)
    clock.now = 100
    assert (await tends.run_once(), sweep.count) == (True, 0)
    assert (await tends.run_once(), sweep.count) == (False, 1)


async def test_texts_of_a_claim_that_failed_are_not_reserved_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = store_vectors.Vectors.known
    answers = iter([DatabaseBusy("a deadlock")])

    async def busy_once(self: store_vectors.Vectors, *arguments: Any) -> Any:
        for trouble in answers:
            raise trouble
        return await known(self, *arguments)

    monkeypatch.setattr(store_vectors.Vectors, "known", busy_once)
    await load(bench, "a", "b")
    assert (await bench.states())["a/s"] == "ready"
    assert await bench.sound()


async def test_what_was_spent_since_the_last_tending_is_kept_when_a_worker_ends(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ANCESTORS 44: calls were repeated after a restart, without a bound on spending."""

    async def nothing(self: Tending) -> None:
        return

    monkeypatch.setattr(Tending, "run", nothing)
    monkeypatch.setattr(Tending, "finish", nothing)
    await load(bench, "a", "b", "c")
    assert await bench.store.spending.elsewhere("the next run", "paid") == 3


async def test_a_worker_ends_although_its_spending_cannot_be_kept(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Tending, "run", Calls())
    monkeypatch.setattr(Tending, "finish", Calls())
    monkeypatch.setattr(bench.store.spending, "note", Calls(*[DatabaseAway("gone")] * 9))
    with caplog.at_level(logging.WARNING, "detent.worker"):
        await load(bench, "a")
    assert "could not be kept" in caplog.text


async def test_few_batches_are_embedded_at_once_unless_the_configuration_says_otherwise(bench: Bench) -> None:
    source = wiki()
    kinds = await declare(bench.store, [source])

    def concurrency(read: Callable[..., Any] = bench.settings, **flags: object) -> int:
        [duty] = [duty for duty in duties([source], kinds, read(**PAID, **flags)) if duty.embedder]
        return duty.concurrency

    assert concurrency() == 2
    assert concurrency(worker__concurrency=5) == 5
