"""`get_brain_status`: what the document "Machine à états universelle" (002) wants to be shown of all nodes."""

from __future__ import annotations

import json

import pytest

from detent import Detent, Failed, NewItem
from detent.application import status as status_module
from detent.interfaces import ErrorGroup, NodeStateMachine, get_brain_status
from detent.lifecycle import TOPIC


def fail(machine: NodeStateMachine, label: str, uuids: list[str], error_type: str = "parse") -> None:
    machine.detect(label, uuids)
    for uuid in uuids:
        assert machine.transition(uuid, label, "parsing")
        assert machine.transition(uuid, label, "error", error_type=error_type, error_message="no")


def test_an_empty_database_has_nothing_to_tell(db: Detent) -> None:
    assert get_brain_status(db).as_data() == {
        "states": {},
        "labels": {},
        "projects": {},
        "errors": [],
        "embedding": {"current": None, "next": None},
    }


def test_items_are_counted_by_state_label_and_project(db: Detent) -> None:
    machine = NodeStateMachine(db)
    machine.detect("Scope", ["a", "b"], "brain")
    machine.detect("File", ["c"], "brain")
    machine.detect("File", ["d"], "web")
    assert machine.transition("a", "Scope", "skip")

    status = get_brain_status(db)

    assert status.states == {"pending": 3, "skip": 1}
    assert status.labels == {"Scope": {"pending": 1, "skip": 1}, "File": {"pending": 2}}
    assert status.projects == {"brain": {"pending": 2, "skip": 1}, "web": {"pending": 1}}
    assert status.errors == ()


def test_errors_are_grouped_by_label_and_type_with_five_samples(db: Detent) -> None:
    machine = NodeStateMachine(db)
    fail(machine, "Scope", [f"s{number}" for number in range(7)])
    fail(machine, "Scope", ["linked badly"], "link")
    fail(machine, "File", ["f1", "f2"])
    machine.detect("File", ["fine"])

    status = get_brain_status(db)

    assert status.errors == (
        ErrorGroup("Scope", "parse", 7, ("s0", "s1", "s2", "s3", "s4")),
        ErrorGroup("File", "parse", 2, ("f1", "f2")),
        ErrorGroup("Scope", "link", 1, ("linked badly",)),
    )
    assert status.states["error"] == 10


def test_items_of_other_lifecycles_count_too(db: Detent) -> None:
    db.declare("reading", "Book", TOPIC)
    db.add("reading", "Book", [NewItem("Emma", "Book"), NewItem("Ulysses", "Book")])
    first, _ = db.claim(TOPIC, "pending", owner="me")
    db.settle([(first, Failed("too long"))])
    [group] = get_brain_status(db).errors
    assert (group.label, group.count, group.keys) == ("Book", 1, ("Emma",))


def test_of_very_many_failed_items_the_first_are_counted(db: Detent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_module, "COUNTED", 5)
    monkeypatch.setattr(status_module, "_PAGE", 2)
    fail(NodeStateMachine(db), "Scope", [f"s{number}" for number in range(7)])
    status = get_brain_status(db)
    assert [group.count for group in status.errors] == [5]
    assert status.states == {"error": 7}


def test_the_models_in_use_and_to_come_are_told(db: Detent) -> None:
    vectors = db.asynchronous.store.vectors
    db.wait(vectors.register("ollama", "small", 4))
    db.wait(vectors.register("openai", "large", 8))

    told = json.loads(json.dumps(get_brain_status(db).as_data()))

    assert told["embedding"] == {
        "current": {"provider": "ollama", "model": "small", "dimensions": 4},
        "next": {"provider": "openai", "model": "large", "dimensions": 8},
    }
