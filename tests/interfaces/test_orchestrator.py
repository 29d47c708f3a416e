"""What the document "Machine à états universelle pour l'ingestion" (002) has its orchestrator do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from detent import Detent
from detent.interfaces import (
    FileChange,
    IngestionOrchestrator,
    IngestionStats,
    NodeStateInfo,
    NodeStateMachine,
    TransitionOptions,
)


class Recording(IngestionOrchestrator):
    """Notes what it was asked to do, and in which state the node was then. Names with `bad` fail in the stage they
    name, and names with `binary` need no embedding."""

    def __init__(self, db: Detent, machine: NodeStateMachine | None = None) -> None:
        super().__init__(db, machine)
        self.calls: list[tuple[str, str, str]] = []

    def parse_node(self, node: NodeStateInfo) -> None:
        self._note("parse", node)

    def link_node(self, node: NodeStateInfo) -> None:
        self._note("link", node)

    def embed_node(self, node: NodeStateInfo) -> TransitionOptions | None:
        self._note("embed", node)
        return {"embedding_provider": "ollama", "embedding_model": "small"}

    def needs_embedding(self, node: NodeStateInfo) -> bool:
        return "binary" not in node.uuid

    def _note(self, stage: str, node: NodeStateInfo) -> None:
        found = self.machine.get_node(node.uuid)
        assert found is not None
        self.calls.append((stage, node.uuid, found.state))
        if f"bad {stage}" in node.uuid:
            raise ValueError(f"{node.uuid} is bad")


@pytest.fixture
def machine(db: Detent) -> NodeStateMachine:
    return NodeStateMachine(db)


@pytest.fixture
def orchestrator(db: Detent, machine: NodeStateMachine) -> Recording:
    return Recording(db, machine)


def state_of(machine: NodeStateMachine, uuid: str) -> str | None:
    node = machine.get_node(uuid)
    return node.state if node else None


def test_the_documents_example(orchestrator: Recording, machine: NodeStateMachine) -> None:
    """Changed nodes go from `pending` to `ready`; a node that cannot be parsed goes to `error` with its message."""
    orchestrator.reingest([FileChange("a.py", "1"), FileChange("b.py", "1")])
    orchestrator.calls.clear()

    stats = orchestrator.reingest(
        [FileChange("a.py", "2"), FileChange("b.py", "1"), FileChange("bad parse.py", "1"), FileChange("c.py", "1")]
    )

    assert stats == IngestionStats(changed=3, parsed=2, linked=2, embedded=2, errors=1)
    assert sorted(orchestrator.calls) == [
        ("embed", "a.py", "embedding"),
        ("embed", "c.py", "embedding"),
        ("link", "a.py", "linking"),
        ("link", "c.py", "linking"),
        ("parse", "a.py", "parsing"),
        ("parse", "bad parse.py", "parsing"),
        ("parse", "c.py", "parsing"),
    ]
    assert {state_of(machine, path) for path in ("a.py", "b.py", "c.py")} == {"ready"}
    bad = machine.get_node("bad parse.py", "File")
    assert bad is not None
    assert (bad.state, bad.error_type, bad.error_message) == ("error", "parse", "bad parse.py is bad")


@pytest.mark.parametrize("stage", ["parse", "link", "embed"])
def test_an_exception_becomes_an_error_of_its_stage_and_does_not_stop_the_others(
    orchestrator: Recording, machine: NodeStateMachine, stage: str
) -> None:
    stats = orchestrator.reingest([FileChange(f"bad {stage}", "1"), FileChange("good", "1")])
    assert (stats.errors, stats.embedded) == (1, 1)
    [bad] = machine.get_nodes_by_state("error", error_type=stage)
    assert (bad.uuid, bad.retry_count) == (f"bad {stage}", 1)


def test_a_failed_file_is_tried_again_when_it_has_changed_and_not_before(orchestrator: Recording) -> None:
    orchestrator.reingest([FileChange("bad link", "1")])
    assert orchestrator.reingest([FileChange("bad link", "1")]) == IngestionStats()
    assert orchestrator.reingest([FileChange("bad link", "2")]) == IngestionStats(changed=1, parsed=1, errors=1)


def test_what_embedding_says_is_kept(orchestrator: Recording, machine: NodeStateMachine) -> None:
    orchestrator.reingest([FileChange("a.py", "1")])
    node = machine.get_node("a.py")
    assert node is not None
    assert (node.embedding_provider, node.embedding_model, node.embedding_hash) == ("ollama", "small", "1")


def test_what_needs_no_embedding_is_skipped(orchestrator: Recording, machine: NodeStateMachine) -> None:
    stats = orchestrator.reingest([FileChange("binary.png", "1"), FileChange("a.py", "1")])
    assert stats == IngestionStats(changed=2, parsed=2, linked=2, embedded=1, skipped=1)
    assert state_of(machine, "binary.png") == "skip"


def test_deleted_files_are_removed(orchestrator: Recording, machine: NodeStateMachine) -> None:
    orchestrator.reingest([FileChange("a.py", "1"), FileChange("b.py", "1")])
    gone = [FileChange("a.py", deleted=True), FileChange("never there", deleted=True)]
    assert orchestrator.reingest(gone) == IngestionStats(deleted=1)
    assert state_of(machine, "a.py") is None
    assert state_of(machine, "b.py") == "ready"


def test_a_file_whose_hash_is_not_known_counts_as_changed(orchestrator: Recording) -> None:
    once = IngestionStats(changed=1, parsed=1, linked=1, embedded=1)
    assert orchestrator.reingest([FileChange("a.py")]) == once
    assert orchestrator.reingest([FileChange("a.py")]) == once


def test_of_several_changes_of_a_file_the_last_counts(orchestrator: Recording, machine: NodeStateMachine) -> None:
    orchestrator.reingest([FileChange("a.py", "1")])
    stats = orchestrator.reingest([FileChange("a.py", deleted=True), FileChange("a.py", "2")])
    assert (stats.deleted, stats.changed) == (0, 1)
    assert state_of(machine, "a.py") == "ready"


def test_nodes_of_a_project_are_found_there(db: Detent) -> None:
    library = NodeStateMachine(db, source="library")
    library.detect("Page", {"p": "1"})
    stats = Recording(db).reingest([FileChange("p", "2", label="Page")])
    assert stats == IngestionStats(changed=1, parsed=1, linked=1, embedded=1)
    assert library.count_by_state()["ready"] == 1
    assert db.count_by_state()[0].source == "library"
    assert Recording(db, library).reingest([FileChange("p", deleted=True, label="Page")]).deleted == 1


def test_files_of_a_folder_that_was_added_are_left_to_who_reads_them_where_nothing_is_said(
    db: Detent, machine: NodeStateMachine
) -> None:
    class Embedding(IngestionOrchestrator):
        def embed_node(self, node: NodeStateInfo) -> None:
            pass

    db.wait(db.asynchronous.store.sources.configure("docs", "files", {"root": "/docs"}))
    docs = NodeStateMachine(db, source="docs")
    docs.detect("File", ["unread.md", "linked.md"])
    for state in ("parsing", "parsed", "linking", "linked"):
        docs.transition("linked.md", "File", state)
    stats = Embedding(db, machine).reingest([FileChange("own.md", "1")])
    assert stats == IngestionStats(changed=1, parsed=1, linked=1, embedded=2)
    assert (state_of(machine, "unread.md"), state_of(machine, "linked.md")) == ("pending", "ready")


def test_what_an_earlier_program_left_is_gone_on_with(
    open_db: Callable[[], Detent], orchestrator: Recording, machine: NodeStateMachine
) -> None:
    earlier = NodeStateMachine(open_db())
    earlier.detect("File", ["waits", "parsed"])
    earlier.transition("parsed", "File", "parsing")
    earlier.transition("parsed", "File", "parsed")
    assert orchestrator.reingest([]) == IngestionStats(parsed=1, linked=2, embedded=2)
    assert machine.count_by_state()["ready"] == 2


def test_what_another_program_has_taken_is_left_to_it(open_db: Callable[[], Detent], orchestrator: Recording) -> None:
    other = NodeStateMachine(open_db())
    other.detect("File", {"a.py": "1"})
    other.transition("a.py", "File", "parsing")
    assert orchestrator.reingest([FileChange("a.py", "2")]).parsed == 0
    assert orchestrator.calls == []
    assert other.transition("a.py", "File", "parsed")
    assert orchestrator.reingest([]) == IngestionStats(parsed=1, linked=1, embedded=1)


def test_who_loses_a_node_while_working_on_it_does_not_count_it(
    db: Detent, open_db: Callable[[], Detent], machine: NodeStateMachine
) -> None:
    other = open_db()

    class Robbed(IngestionOrchestrator):
        def parse_node(self, node: NodeStateInfo) -> None:
            other.reset(other.find(node.uuid))

    assert Robbed(db, machine).reingest([FileChange("a.py", "1")]) == IngestionStats(changed=1)
    assert state_of(machine, "a.py") == "pending"


def test_by_default_nodes_just_pass_through(db: Detent) -> None:
    stats = IngestionOrchestrator(db).reingest([FileChange("a.py", "1")])
    assert stats == IngestionStats(changed=1, parsed=1, linked=1, embedded=1)
