"""Bounds: how deep what is found is followed, and how many items come to rest."""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import detent
from detent import Bounds, Done, Failed, Handler, Item, NewItem, Node, Outcome, Reference, Retry, Source
from detent.errors import InvalidSource
from detent.lifecycle import ARTICLE

Links = Mapping[str, Sequence[str]]
Query = Callable[..., list[Any]]

CHAIN = {"a": ["b"], "b": ["c"], "c": ["d"], "d": ["e"], "e": ["f"], "f": []}
STAR = {"a": [f"{number:03}" for number in range(100)]}


class Web:
    """Pages that link to others, and how often each was asked for."""

    def __init__(self, links: Links, answer: Callable[[Item], Outcome | None] = lambda item: None) -> None:
        self.links = links
        self.asked: Counter[str] = Counter()
        self._answer = answer

    def load(self, item: Item) -> Outcome:
        self.asked[item.key] += 1
        if (answer := self._answer(item)) is not None:
            return answer
        linked = self.links.get(item.key, ())
        return Done(
            Node(item.key),
            references=[Reference("LINKS_TO", "Page", key) for key in linked],
            found=[NewItem(key, "Page", item.priority + 1) for key in linked],
            to="processed",
        )

    def source(self, *seeds: str, **bounds: Any) -> Source:
        limits = Bounds(**bounds, state="processed")
        handlers = [Handler("claimed", self.load, concurrency=4, batch_size=4)]
        found = [NewItem(seed, "Page") for seed in seeds]
        return Source("web", {"Page": ARTICLE}, handlers, lambda: found, bounds={"Page": limits})


@pytest.fixture
def depths(query: Query) -> Callable[[], dict[str, int]]:
    def read() -> dict[str, int]:
        rows = query("SELECT key, priority FROM item WHERE state = 'processed'")
        return {row.key: row.priority for row in rows}

    return read


def run(database: str, source: Source, **options: Any) -> None:
    with detent.open(database=database, sources=source) as db:
        db.run(**options)


def test_what_is_deeper_stays_a_reference_until_the_depth_is_greater(
    database: str, query: Query, depths: Callable[[], dict[str, int]]
) -> None:
    web = Web(CHAIN)
    run(database, web.source("a", depth=2))
    assert depths() == {"a": 0, "b": 1, "c": 2}
    assert [row.key for row in query("SELECT key FROM item ORDER BY key")] == ["a", "b", "c"]
    assert [row.key for row in query("SELECT key FROM reference WHERE key = 'd'")] == ["d"]

    run(database, web.source("a", depth=4))
    assert depths() == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}
    assert web.asked == {"a": 1, "b": 1, "c": 2, "d": 1, "e": 1}


def test_an_item_that_is_found_nearer_takes_what_it_found_along(
    database: str, depths: Callable[[], dict[str, int]]
) -> None:
    web = Web(CHAIN)
    run(database, web.source("a", depth=2))
    run(database, web.source("a", "c", depth=2))
    assert depths() == {"a": 0, "b": 1, "c": 0, "d": 1, "e": 2}


@pytest.mark.parametrize("seed", range(8))
def test_in_whatever_order_items_come_each_has_its_shortest_way(
    database: str, depths: Callable[[], dict[str, int]], seed: int
) -> None:
    chance = random.Random(seed)
    names = [f"{number:02}" for number in range(40)]
    web = Web({name: chance.sample(names, 2) for name in names}, lambda item: _put_off(item, chance))
    run(database, web.source("00", depth=4))
    assert depths() == {name: depth for name, depth in _distances(web.links, "00").items() if depth <= 4}


def _put_off(item: Item, chance: random.Random) -> Outcome | None:
    """Let some of the nearest be overtaken by others."""
    return Retry("later", retry_after=chance.random() / 20) if item.attempt == 1 and chance.random() < 0.3 else None


def _distances(links: Links, start: str) -> dict[str, int]:
    found, line = {start: 0}, deque([start])
    while line:
        name = line.popleft()
        for each in links[name]:
            if each not in found:
                found[each] = found[name] + 1
                line.append(each)
    return found


def test_so_many_come_to_rest_and_the_others_wait_nearest_first(
    database: str, query: Query, depths: Callable[[], dict[str, int]]
) -> None:
    web = Web(STAR)
    run(database, web.source("a", most=10))
    assert sorted(depths()) == ["000", "001", "002", "003", "004", "005", "006", "007", "008", "a"]
    assert query("SELECT count(*) AS count FROM item WHERE state = 'discovered'")[0].count == 91
    with detent.open(database=database) as db:
        assert [item.held_back for item in db.items(state="discovered", limit=2).items] == [True, True]

    run(database, web.source("a", most=12))
    assert len(depths()) == 12
    assert max(web.asked.values()) == 1


def test_those_that_fail_make_room_for_others(database: str, depths: Callable[[], dict[str, int]]) -> None:
    odd = Web(STAR, lambda item: Failed("odd") if item.key[-1] in "13579" else None)
    run(database, odd.source("a", most=10))
    assert len(depths()) == 10


def test_what_changed_is_worked_on_again_when_there_is_no_room(
    database: str, depths: Callable[[], dict[str, int]]
) -> None:
    web = Web(STAR)
    run(database, web.source("a", most=10))
    with detent.open(database=database, sources=web.source("a", most=10)) as db:
        db.mark_changed("web", "Page", {"003": "another"})
        db.run()
    assert web.asked["003"] == 2
    assert len(depths()) == 10


def test_without_a_bound_any_more_all_are_let_in(database: str, depths: Callable[[], dict[str, int]]) -> None:
    web = Web(STAR)
    run(database, web.source("a", most=10))
    run(database, web.source("a"))
    assert len(depths()) == 101


def test_a_bound_that_comes_later_holds_the_others_back(database: str, depths: Callable[[], dict[str, int]]) -> None:
    web = Web(STAR)
    with detent.open(database=database, sources=web.source("a")) as db:
        db.add("web", "Page", [NewItem(key, "Page", 1) for key in STAR["a"]])
    run(database, web.source("a", most=10))
    assert len(depths()) == 10


@pytest.mark.parametrize("before", [None, 60])
def test_a_target_that_is_set_or_lowered_beside_a_running_worker_holds(
    database: str, query: Query, depths: Callable[[], dict[str, int]], before: int | None
) -> None:
    one_at_a_time = threading.Lock()

    def lower(item: Item) -> None:
        with one_at_a_time:
            if item.key == "005":
                detent.open(database=database, sources=web.source("a", most=30)).close()

    web = Web(STAR, lower)
    run(database, web.source("a", most=before))
    assert len(depths()) == 30
    assert query("SELECT count(*) AS count FROM item WHERE not_before = held_back()")[0].count == 71


def test_what_failed_and_is_retried_does_not_go_beyond_the_target(
    database: str, depths: Callable[[], dict[str, int]]
) -> None:
    odd = Web(STAR, lambda item: Failed("odd") if item.key[-1] in "13579" else None)
    run(database, odd.source("a", most=10))
    well = Web(STAR)
    with detent.open(database=database, sources=well.source("a", most=10)) as db:
        failed = [item.id for item in db.items(state="failed").items]
        assert db.retry(failed).count == len(failed) > 0
        db.run()
    assert len(depths()) == 10
    assert not well.asked


def test_a_greater_breadth_goes_on_with_more_of_what_each_found(
    database: str, depths: Callable[[], dict[str, int]]
) -> None:
    web = Web({"a": ["b", "c", "d"], "b": ["e", "f", "g"]})
    run(database, web.source("a", depth=2, breadth=1))
    assert sorted(depths()) == ["a", "b", "e"]
    run(database, web.source("a", depth=2, breadth=2))
    assert sorted(depths()) == ["a", "b", "c", "e", "f"]
    assert web.asked == {"a": 2, "b": 2, "c": 1, "e": 2, "f": 1}


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"Page": Bounds(depth=-1)}, "the depth of 'Page' is a whole number"),
        ({"Page": Bounds(breadth=-1)}, "the breadth of 'Page' is a whole number"),
        ({"Page": Bounds(most=5)}, "need the state"),
        ({"Paeg": Bounds(depth=1)}, "'Paeg', which is not declared"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(bounds: dict[str, Bounds], reason: str) -> None:
    with pytest.raises(InvalidSource, match=reason):
        Source("web", {"Page": ARTICLE}, bounds=bounds)


def test_a_handler_can_read_what_its_item_refers_to(database: str) -> None:
    seen: list[list[str] | None] = []

    def load(item: Item) -> Outcome:
        seen.append([each.key for each in item.links] if item.links is not None else None)
        links = [Reference("LINKS_TO", "Page", key, properties={"at": key}) for key in ("y", "x")]
        return Done(Node(item.key), references=links, to="processed")

    source = Source("web", {"Page": ARTICLE}, [Handler("claimed", load, reads="links")], lambda: [NewItem("a", "Page")])
    with detent.open(database=database, sources=source) as db:
        db.run()
        db.mark_changed("web", "Page", {"a": "another"})
        db.run()
    assert seen == [[], ["y", "x"]]


def test_of_what_is_found_twice_at_once_the_nearest_counts(database: str, query: Query) -> None:
    with detent.open(database=database, sources=Web({}).source(depth=9)) as db:
        db.add("web", "Page", [NewItem("a", "Page", 3), NewItem("a", "Page", 1), NewItem("a", "Page", 2)])
    assert [row.priority for row in query("SELECT priority FROM item")] == [1]
