"""What a source declares is checked where it is declared, and a mistake is told in a sentence."""

from __future__ import annotations

import re
from typing import Any

import pytest

import detent
from detent import Handler, Source
from detent.errors import InvalidSource
from detent.lifecycle import ARTICLE, TOPIC


def bake(item: detent.Item) -> None: ...


def cool(item: detent.Item) -> None: ...


@pytest.mark.parametrize(
    ("details", "words"),
    [
        ({"batch_size": 0}, "batch_size is 0. It must be"),
        ({"batch_size": "x"}, 'batch_size is "x". It must be'),
        ({"batch_size": True}, "batch_size is true. It must be"),
        ({"concurrency": 0}, "concurrency is 0. It must be"),
        ({"time_limit_seconds": -1}, "time_limit_seconds is -1. It must be"),
        ({"max_attempts": 0}, "max_attempts is 0. It must be"),
    ],
)
def test_limits_out_of_range_are_refused(details: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSource, match=f"^{re.escape(f'The handler for the state {chr(39)}b{chr(39)}: {words}')}"):
        Handler("b", bake, **details)


def test_a_handler_needs_a_function_and_a_state() -> None:
    with pytest.raises(InvalidSource, match=re.escape("The handler for the state 'b' needs a function, and 5 is none")):
        Handler("b", 5)  # type: ignore[arg-type]
    with pytest.raises(InvalidSource, match="needs the name of a state"):
        Handler(bake, "b")  # type: ignore[arg-type]


@pytest.mark.parametrize("second", [None, "Topic"])
def test_two_handlers_for_the_same_work_are_refused(second: str | None) -> None:
    handlers = [Handler("in_progress", bake), Handler("in_progress", cool, label=second)]
    words = "kitchen: two handlers are declared for the state 'in_progress' of the label 'Topic', bake and cool"
    with pytest.raises(InvalidSource, match=re.escape(words)):
        Source("kitchen", {"Topic": TOPIC}, handlers)


def test_handlers_of_two_labels_may_share_a_state() -> None:
    handlers = [Handler("in_progress", bake, label="A"), Handler("in_progress", cool, label="B")]
    assert Source("kitchen", {"A": TOPIC, "B": TOPIC}, handlers).handlers == handlers


def test_a_built_in_lifecycle_can_be_named() -> None:
    named = Source("kitchen", {"L": "article", "T": TOPIC})
    assert named.lifecycles == {"L": ARTICLE, "T": TOPIC}
    assert named == Source("kitchen", {"L": ARTICLE, "T": TOPIC})


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (("kitchen", {"L": "artikel"}), "kitchen: there is no built-in lifecycle 'artikel'. Did you mean 'article'?"),
        (("kitchen", {"L": 5}), "kitchen: the label 'L' needs a lifecycle, and 5 is none"),
        (("kitchen", TOPIC), "kitchen: the lifecycles are given by label, as in {'Article': ARTICLE}"),
        (("", {"L": TOPIC}), "A source needs a name"),
        ((5, {"L": TOPIC}), "A source needs a name"),
        (("kitchen", {}), "at least one label"),
        (("kitchen", {"L": TOPIC}, Handler("in_progress", bake)), "kitchen: handlers is a list of detent.Handler"),
        (("kitchen", {"L": TOPIC}, [bake]), "kitchen: handlers is a list of detent.Handler"),
        (("kitchen", {"L": TOPIC}, [], ["a"]), "kitchen: discover is a function that names the items, and ['a'] is"),
    ],
)
def test_a_source_that_cannot_be_meant_is_refused(declared: tuple[Any, ...], words: str) -> None:
    with pytest.raises(InvalidSource, match=re.escape(words)):
        Source(*declared)


def test_a_single_source_can_be_opened(database: str) -> None:
    with detent.open(database=database, sources=Source("kitchen", {"L": "topic"})) as db:
        assert [source.name for source in db.asynchronous.sources] == ["kitchen"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("kitchen", "sources is a list of detent.Source, and 'kitchen' is none"),
        ([bake], "sources is a list of detent.Source, and"),
        (5, "sources is a list of detent.Source, and 5 is none"),
        ([Source("kitchen", {"L": TOPIC})] * 2, "The source 'kitchen' is declared twice"),
    ],
)
def test_what_is_no_source_cannot_be_opened(database: str, given: Any, words: str) -> None:
    with pytest.raises(InvalidSource, match=re.escape(words)):
        detent.open(database=database, sources=given)
