"""Batches of one process that have texts in common: each is embedded by one of them, and none waits in vain."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import numpy as np
import pytest

from detent.worker import sharing
from detent.worker.sharing import Sharing, Vector

ONE, TWO, THREE = (UUID(int=number) for number in (1, 2, 3))


class Model:
    """Says what it was asked for, and can be made to wait and to fail."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[list[UUID]] = []
        self.begun, self.may_end, self.was_asked = threading.Event(), threading.Event(), threading.Event()
        self._fails = fails

    def at_once(self, texts: Sequence[UUID]) -> list[Vector]:
        self.asked.append(list(texts))
        self.was_asked.set()
        return [np.array([text.int, text.int]) for text in texts]

    def when_told(self, texts: Sequence[UUID]) -> list[Vector]:
        self.begun.set()
        assert self.may_end.wait(10)
        if self._fails:
            raise ConnectionError("the service is away")
        return self.at_once(texts)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def test_what_another_batch_has_made_is_not_made_again() -> None:
    shared, model = Sharing(), Model()
    first = shared.embed([ONE, TWO], model.at_once)
    second = shared.embed([TWO, THREE], model.at_once)
    assert model.asked == [[ONE, TWO], [THREE]]
    assert second[TWO] is first[TWO]
    assert {text: int(vector[0]) for text, vector in second.items()} == {TWO: 2, THREE: 3}


def test_what_another_batch_is_making_is_waited_for(threads: ThreadPoolExecutor) -> None:
    shared, model = Sharing(), Model()
    first = threads.submit(shared.embed, [ONE, TWO], model.when_told)
    assert model.begun.wait(10)
    second = threads.submit(shared.embed, [TWO, THREE], model.at_once)
    assert model.was_asked.wait(10)
    assert not second.done()
    model.may_end.set()
    assert second.result(10)[TWO] is first.result(10)[TWO]
    assert model.asked == [[THREE], [ONE, TWO]]


def test_who_waits_makes_it_if_the_other_batch_fails(threads: ThreadPoolExecutor) -> None:
    shared, failing, model = Sharing(), Model(fails=True), Model()
    first = threads.submit(shared.embed, [ONE, TWO], failing.when_told)
    assert failing.begun.wait(10)
    second = threads.submit(shared.embed, [TWO], model.at_once)
    failing.may_end.set()
    assert int(second.result(10)[TWO][0]) == 2
    with pytest.raises(ConnectionError):
        first.result(10)
    assert shared.embed([ONE, TWO], model.at_once).keys() == {ONE, TWO}
    assert model.asked == [[TWO], [ONE]]


def test_a_batch_that_was_given_up_is_not_waited_for_for_ever(
    threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "_PATIENCE_SECONDS", 0.1)
    shared, hung, model = Sharing(), Model(), Model()
    texts = [UUID(int=number) for number in range(1, 1000)]
    first = threads.submit(shared.embed, texts, hung.when_told)
    assert hung.begun.wait(10)
    second = threads.submit(shared.embed, texts, model.at_once)
    assert second.result(30).keys() == set(texts), "all of it is waited for no longer than for one"
    hung.may_end.set()
    assert int(first.result(10)[ONE][0]) == 1


def test_a_vector_that_is_not_finite_is_made_again_by_the_next() -> None:
    shared, model = Sharing(), Model()
    made = shared.embed([ONE], lambda texts: [np.array([np.nan, 1.0])])
    assert np.isnan(made[ONE][0])
    assert shared.embed([ONE], model.at_once)[ONE].tolist() == [1, 1]


def test_what_a_batch_gives_up_that_another_has_made_makes_room_again(
    threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(sharing, "_MOST_NUMBERS", 4)
    shared, failing, model = Sharing(), Model(fails=True), Model()
    first = threads.submit(shared.embed, [ONE], failing.when_told)
    assert failing.begun.wait(10)
    shared.embed([ONE], model.at_once)
    failing.may_end.set()
    with pytest.raises(ConnectionError):
        first.result(10)
    for text in (TWO, THREE, TWO, THREE):
        shared.embed([text], model.at_once)
    assert model.asked == [[ONE], [TWO], [THREE]]


def test_no_more_is_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_MOST_NUMBERS", 4)
    shared, model = Sharing(), Model()
    for text in (ONE, TWO, THREE, THREE, ONE):
        shared.embed([text], model.at_once)
    assert model.asked == [[ONE], [TWO], [THREE], [ONE]]


def test_two_batches_with_the_same_texts_in_another_order_never_wait_for_each_other(
    threads: ThreadPoolExecutor,
) -> None:
    shared, model = Sharing(), Model()
    texts = [UUID(int=number) for number in range(1, 200)]
    batches = [threads.submit(shared.embed, some, model.at_once) for some in (texts, texts[::-1], texts[50:])]
    assert [len(batch.result(10)) for batch in batches] == [199, 199, 149]
    assert sorted(text for asked in model.asked for text in asked) == texts
