"""What the document "Machine à états universelle pour l'ingestion" (002) promises of the state machine."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from detent import Detent
from detent.errors import DetentError, UnknownName
from detent.interfaces import VALID_TRANSITIONS, NodeStateMachine, Transition
from detent.interfaces import node_state_machine as module
from detent.lifecycle import NODE, TOPIC
from detent.store import Stage

Clock = Callable[..., datetime]

DOCUMENTED = {
    "pending": {"parsing", "skip"},
    "parsing": {"parsed", "error"},
    "parsed": {"linking"},
    "linking": {"linked", "error"},
    "linked": {"embedding", "skip"},
    "embedding": {"ready", "error"},
    "ready": {"pending"},
    "skip": {"pending"},
    "error": {"pending"},
}
"""The table of the document, as it stands."""

PIPELINE = ("parsing", "parsed", "linking", "linked", "embedding", "ready")
WAY_TO: dict[str, tuple[str, ...]] = {
    "pending": (),
    **{state: PIPELINE[: number + 1] for number, state in enumerate(PIPELINE)},
    "skip": ("skip",),
    "error": ("parsing", "error"),
}


def bring(machine: NodeStateMachine, uuids: Iterable[str], state: str, label: str = "Scope") -> None:
    """Bring new nodes to a state."""
    names = list(uuids)
    machine.detect(label, names)
    for step in WAY_TO[state]:
        assert machine.transition_batch([line(uuid, step, label) for uuid in names]) == len(names)


def line(uuid: str, state: str, label: str = "Scope") -> Transition:
    return {"uuid": uuid, "label": label, "state": state}


def state_of(machine: NodeStateMachine, uuid: str) -> str | None:
    node = machine.get_node(uuid)
    return node.state if node else None


def uuids(machine: NodeStateMachine, state: str, **filters: Any) -> list[str]:
    return [node.uuid for node in machine.get_nodes_by_state(state, **filters)]


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def machine(db: Detent) -> NodeStateMachine:
    return NodeStateMachine(db)


# The document's first test: valid moves.


def test_the_table_of_moves_is_that_of_the_document() -> None:
    assert {state: set(ends) for state, ends in VALID_TRANSITIONS.items()} == DOCUMENTED
    assert set(NODE.states) == set(DOCUMENTED)


@pytest.mark.parametrize("state", DOCUMENTED)
def test_only_valid_moves_are_accepted(db: Detent, machine: NodeStateMachine, state: str) -> None:
    """Every pair of states; ANCESTORS.md, lines 4 and 14. A move that is refused writes nothing."""
    ends = [*DOCUMENTED, "nonsense"]
    bring(machine, ends, state)
    for end in ends:
        before = machine.get_node(end)
        assert before is not None
        told = db.history(db.find(end)[0])
        accepted = machine.transition(end, "Scope", end)
        assert accepted is (end in DOCUMENTED[state]), (state, end)
        if accepted:
            assert state_of(machine, end) == end
        else:
            assert machine.get_node(end) == before
            assert db.history(db.find(end)[0]) == told


def test_a_batch_moves_what_is_valid_and_counts_it(machine: NodeStateMachine) -> None:
    bring(machine, ["a", "b"], "pending")
    bring(machine, ["c"], "parsed")
    assert machine.transition_batch([line("a", "parsing"), line("b", "ready"), line("c", "linking")]) == 2
    assert [state_of(machine, uuid) for uuid in "abc"] == ["parsing", "pending", "linking"]


def test_a_batch_makes_several_moves_of_one_node_in_their_order(machine: NodeStateMachine) -> None:
    machine.detect("Scope", ["a", "b"])
    batch = [line("a", state) for state in PIPELINE] + [line("b", "parsing"), line("b", "ready")]
    assert machine.transition_batch(batch) == len(PIPELINE) + 1
    assert (state_of(machine, "a"), state_of(machine, "b")) == ("ready", "parsing")


def test_an_unknown_node_is_added_by_a_transition_to_pending_alone(machine: NodeStateMachine) -> None:
    assert not machine.transition("new", "File", "parsing")
    assert machine.transition("new", "File", "pending", content_hash="h1")
    assert not machine.transition("new", "File", "pending", content_hash="h2")
    node = machine.get_node("new", "File")
    assert node is not None
    assert (node.label, node.project_id, node.state, node.content_hash) == ("File", "nodes", "pending", "h1")
    assert machine.get_node("other") is None


def test_detecting_is_idempotent(machine: NodeStateMachine) -> None:
    assert machine.detect("File", {"a": "h1", "b": None}) == 2
    assert machine.detect("File", ["b", "c"]) == 1
    assert uuids(machine, "pending") == ["a", "b", "c"]


# The second: persistence.


def test_the_state_survives_a_restart_of_the_program(
    machine: NodeStateMachine, program: Callable[[str], subprocess.Popen[str]]
) -> None:
    first = program(
        """
machine = NodeStateMachine(db)
machine.detect("Scope", {"a": "h1", "b": "h2"})
for state in ("parsing", "parsed", "linking"):
    assert machine.transition("a", "Scope", state)
assert machine.transition("a", "Scope", "error", error_type="link", error_message="no such symbol")
for state in ("parsing", "parsed"):
    assert machine.transition("b", "Scope", state)
print("done")
"""
    )
    assert first.communicate()[0] == "done\n"
    second = program(
        """
machine = NodeStateMachine(db)
[node] = machine.get_nodes_by_state("error")
print(node.uuid, node.error_type, node.error_message, node.retry_count, node.content_hash, node.parsed_at is not None)
print(machine.transition("b", "Scope", "linking") and machine.transition("b", "Scope", "linked"))
"""
    )
    assert second.communicate()[0] == "a link no such symbol 1 h1 True\nTrue\n"
    assert state_of(machine, "b") == "linked"


# The third: batches.


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Collects every statement that is sent to the database."""
    sent: list[object] = []
    execute = psycopg.AsyncConnection.execute

    async def counted(self: Any, query: Any, *args: Any, **options: Any) -> Any:
        sent.append(query)
        return await execute(self, query, *args, **options)

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", counted)
    return sent


def test_a_batch_takes_as_many_statements_for_thousands_as_for_one(
    machine: NodeStateMachine, statements: list[object]
) -> None:
    counts: dict[int, list[int]] = {}
    for size in (1, 3000):
        names = [f"{size}-{number}" for number in range(size)]
        machine.detect("Scope", names)
        counts[size] = []
        for state in PIPELINE:
            statements.clear()
            assert machine.transition_batch([line(uuid, state) for uuid in names]) == size
            counts[size].append(len(statements))
    assert all(many <= one for one, many in zip(counts[1], counts[3000], strict=True)), counts
    assert max(counts[3000]) < 20
    assert machine.count_by_state()["ready"] == 3001


def test_changes_are_marked_in_a_batch_of_few_statements(machine: NodeStateMachine, statements: list[object]) -> None:
    bring(machine, [f"n{number}" for number in range(3000)], "ready")
    statements.clear()
    changes = [{"uuid": f"n{number}", "content_hash": "new"} for number in range(3000)]
    assert machine.mark_changed_batch(changes) == 3000
    assert machine.mark_changed_batch(changes) == 0
    assert len(statements) < 40
    assert machine.count_by_state()["pending"] == 3000


# The fourth: recovery.


def test_what_a_crashed_program_had_comes_back_when_its_lease_has_run_out(
    db: Detent, clock: Clock, program: Callable[[str], subprocess.Popen[str]]
) -> None:
    clock((datetime.now(UTC) - clock()).total_seconds())
    crashed = program(
        """
machine = NodeStateMachine(db, lease_seconds=60)
for uuid in "abc":
    machine.detect("Scope", [uuid])
    machine.transition(uuid, "Scope", "parsing")
machine.transition("b", "Scope", "parsed")
machine.transition("b", "Scope", "linking")
machine.transition("c", "Scope", "parsed")
print("working", flush=True)
time.sleep(600)
"""
    )
    assert said(crashed) == "working"
    crashed.kill()
    crashed.wait()
    machine = NodeStateMachine(db)
    assert machine.recover() == 0
    assert (uuids(machine, "parsing"), uuids(machine, "linking")) == (["a"], ["b"])
    clock(120)
    assert uuids(machine, "pending") == ["a"]
    assert sorted(uuids(machine, "parsed")) == ["b", "c"]
    assert machine.get_node("a").retry_count == 1  # type: ignore[union-attr]
    assert machine.transition("a", "Scope", "parsing")
    assert machine.transition("a", "Scope", "parsed")


def test_recovery_leaves_alone_what_another_program_is_working_on(
    db: Detent, machine: NodeStateMachine, clock: Clock
) -> None:
    """ANCESTORS.md, line 8."""
    bring(machine, ["a"], "parsing")
    clock(299)
    newcomer = NodeStateMachine(db)
    assert newcomer.recover() == 0
    assert newcomer.count_by_state()["parsing"] == 1
    assert machine.transition("a", "Scope", "parsed")


def test_a_node_that_crashes_every_program_ends_in_error(db: Detent, clock: Clock) -> None:
    """ANCESTORS.md, line 11."""
    for _ in range(3):
        crashing = NodeStateMachine(db, max_attempts=3)
        crashing.transition("a", "Scope", "pending")
        assert crashing.transition("a", "Scope", "parsing")
        clock(301)
        crashing.recover()
    [node] = NodeStateMachine(db).get_nodes_by_state("error")
    assert (node.error_type, node.retry_count) == ("parse", 3)
    assert "died" in str(node.error_message)


def test_nodes_that_were_held_beside_one_another_do_not_fail_for_each_other(db: Detent, clock: Clock) -> None:
    """A program takes its nodes one by one, holds them all, and crashes because of one of them."""
    for _ in range(4):
        crashing = NodeStateMachine(db, max_attempts=3)
        for uuid in ("killer", "innocent"):
            crashing.transition(uuid, "Scope", "pending")
            assert crashing.transition(uuid, "Scope", "parsing")
        clock(301)
        crashing.recover()
    machine = NodeStateMachine(db, max_attempts=3)
    assert machine.transition("innocent", "Scope", "parsing")
    assert machine.transition("innocent", "Scope", "parsed")
    assert machine.transition("killer", "Scope", "parsing")
    clock(301)
    machine.recover()
    assert uuids(machine, "error") == ["killer"]
    assert [node.error_message for node in machine.get_nodes_by_state("parsed")] == [None]


def test_a_program_that_was_too_slow_cannot_write(db: Detent, machine: NodeStateMachine, clock: Clock) -> None:
    """ANCESTORS.md, lines 2 and 4."""
    other = NodeStateMachine(db)
    bring(machine, ["a", "b"], "parsing")
    clock(301)
    assert other.recover() == 2
    assert other.transition("a", "Scope", "parsing")
    assert machine.transition_batch([line("a", "parsed"), line("b", "parsed")]) == 0
    assert not machine.transition("a", "Scope", "error", error_type="parse", error_message="late")
    assert state_of(machine, "a") == "parsing"
    assert other.transition("a", "Scope", "parsed")


def test_a_node_is_taken_out_of_work_by_whoever_took_it(db: Detent, machine: NodeStateMachine) -> None:
    other = NodeStateMachine(db)
    bring(machine, ["a"], "embedding")
    assert not other.transition("a", "Scope", "ready")
    assert not other.transition("a", "Scope", "error")
    assert machine.transition("a", "Scope", "ready")


def test_progress_keeps_the_rest_of_a_batch(db: Detent, machine: NodeStateMachine, clock: Clock) -> None:
    """ANCESTORS.md, lines 5 and 6."""
    other = NodeStateMachine(db)
    names = [f"n{number}" for number in range(5)]
    bring(machine, names, "embedding")
    for uuid in names:
        clock(250)
        assert other.recover() == 0
        assert machine.transition(uuid, "Scope", "ready")


def test_a_heartbeat_keeps_nodes_and_tells_which_are_lost(db: Detent, machine: NodeStateMachine, clock: Clock) -> None:
    """ANCESTORS.md, line 7."""
    other = NodeStateMachine(db)
    bring(machine, ["a"], "parsing")
    clock(250)
    bring(machine, ["b"], "parsing")
    assert machine.heartbeat() == []
    clock(250)
    assert other.recover() == 0
    clock(51)
    assert other.recover() == 2
    assert machine.heartbeat() == ["a", "b"]
    assert machine.heartbeat() == []


def test_two_programs_never_take_the_same_node(open_db: Callable[[], Detent]) -> None:
    """ANCESTORS.md, line 1."""
    machines = [NodeStateMachine(open_db()) for _ in range(4)]
    names = [f"n{number}" for number in range(60)]
    machines[0].detect("Scope", names)
    taken: list[str] = []

    def take(machine: NodeStateMachine) -> None:
        for uuid in names:
            if machine.transition(uuid, "Scope", "parsing"):
                taken.append(uuid)
                assert machine.transition(uuid, "Scope", "parsed")

    threads = [threading.Thread(target=take, args=[machine]) for machine in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(names)
    assert machines[0].count_by_state()["parsed"] == 60


# The rest of the interface.


def test_the_loop_of_the_document_works(db: Detent) -> None:
    """The orchestrator's example, in Python."""
    state_machine = NodeStateMachine(db)
    state_machine.detect("File", {"good.py": "h1", "bad.py": "h2", "same.py": "h3"})
    for state in PIPELINE:
        for path in ("good.py", "bad.py", "same.py"):
            state_machine.transition(path, "File", state)
    changes = {"good.py": "h1'", "bad.py": "h2'", "same.py": "h3"}

    def parse_node(node: Any) -> None:
        if node.uuid == "bad.py":
            raise SyntaxError("unexpected indent")

    # 1. Mark all nodes as "pending" (reset if changed)
    for path, new_hash in changes.items():
        state_machine.mark_changed(path, new_hash)

    # 2. Parsing
    pending_nodes = state_machine.get_nodes_by_state("pending")
    for node in pending_nodes:
        state_machine.transition(node.uuid, node.label, "parsing")
        try:
            parse_node(node)
            state_machine.transition(node.uuid, node.label, "parsed")
        except Exception as error:
            state_machine.transition(node.uuid, node.label, "error", error_type="parse", error_message=str(error))

    # 3. Linking
    parsed_nodes = state_machine.get_nodes_by_state("parsed")

    assert sorted(node.uuid for node in pending_nodes) == ["bad.py", "good.py"]
    assert [node.uuid for node in parsed_nodes] == ["good.py"]
    [failed] = state_machine.get_nodes_by_state("error", error_type="parse")
    assert (failed.uuid, failed.error_message, failed.retry_count) == ("bad.py", "unexpected indent", 1)
    assert uuids(state_machine, "ready") == ["same.py"]


def test_a_node_has_the_properties_of_the_document(machine: NodeStateMachine, clock: Clock) -> None:
    detected = clock()
    machine.detect("Scope", {"a": "h1"}, project_id="docs")
    times = {}
    for state in PIPELINE:
        times[state] = clock(10)
        assert machine.transition(
            "a", "Scope", state,
            embedding_provider="wordllama" if state == "ready" else None,
            embedding_model="256" if state == "ready" else None,
        )  # fmt: skip
    [node] = machine.get_nodes_by_state("ready")
    assert vars(node) == {
        "uuid": "a", "label": "Scope", "project_id": "docs", "state": "ready", "state_changed_at": times["ready"],
        "error_type": None, "error_message": None, "retry_count": 0, "detected_at": detected,
        "parsed_at": times["parsed"], "linked_at": times["linked"], "embedded_at": times["ready"],
        "content_hash": "h1", "embedding_provider": "wordllama", "embedding_model": "256", "embedding_hash": "h1",
    }  # fmt: skip


def test_an_error_is_kept_with_its_type_and_message(machine: NodeStateMachine) -> None:
    bring(machine, ["a"], "linking")
    assert machine.transition("a", "Scope", "error", error_message="no \x00 such symbol", content_hash="h9")
    [node] = machine.get_nodes_by_state("error")
    assert (node.error_type, node.error_message, node.retry_count) == ("link", "no \\x00 such symbol", 1)
    assert node.content_hash == "h9"


def test_what_is_written_as_an_error_type_is_what_is_found(machine: NodeStateMachine) -> None:
    """ANCESTORS.md, line 15."""
    for error_type in ("parse", "link", "embed"):
        bring(machine, [error_type], "parsing")
        assert machine.transition(error_type, "Scope", "error", error_type=error_type)
    for error_type in ("parse", "link", "embed"):
        assert uuids(machine, "error", error_type=error_type) == [error_type]
        assert machine.retry_errors(error_type=error_type) == 1
        assert state_of(machine, error_type) == "pending"
    assert machine.retry_errors() == 0


def test_retrying_counts_through_all_stages_and_has_a_limit(machine: NodeStateMachine) -> None:
    """ANCESTORS.md, line 16: a node that fails late, and succeeds in the stages before, is not retried for ever."""
    machine.detect("Scope", {"a": "h1"})
    for count in (1, 2, 3):
        for state in ("parsing", "parsed", "linking", "linked", "embedding"):
            assert machine.transition("a", "Scope", state)
            assert machine.get_node("a").retry_count == count - 1  # type: ignore[union-attr]
        assert machine.transition("a", "Scope", "error", error_type="embed", error_message="out of memory")
        assert machine.get_node("a").retry_count == count  # type: ignore[union-attr]
        assert machine.retry_errors(error_type="parse") == 0
        assert machine.retry_errors(error_type="embed", max_retries=count) == 0
        assert machine.retry_errors(error_type="embed", max_retries=3) == (count < 3)
    assert state_of(machine, "a") == "error"
    assert machine.retry_errors(max_retries=4) == 1
    node = machine.get_node("a")
    assert node is not None
    assert (node.state, node.retry_count, node.error_type) == ("pending", 3, None)


def test_a_retry_by_transition_counts_as_well(machine: NodeStateMachine) -> None:
    bring(machine, ["a"], "error")
    assert machine.transition("a", "Scope", "pending")
    assert machine.get_node("a").retry_count == 1  # type: ignore[union-attr]
    assert machine.transition("a", "Scope", "parsing")
    assert machine.transition("a", "Scope", "error")
    assert machine.get_node("a").retry_count == 2  # type: ignore[union-attr]


def test_new_content_has_all_its_retries_before_it(machine: NodeStateMachine) -> None:
    bring(machine, ["a"], "error")
    assert machine.retry_errors() == 1
    bring_on = [line("a", "parsing"), line("a", "error")]
    assert machine.transition_batch(bring_on) == 2
    assert machine.get_node("a").retry_count == 2  # type: ignore[union-attr]
    assert machine.mark_changed("a", "new")
    assert machine.get_node("a").retry_count == 0  # type: ignore[union-attr]
    assert machine.transition_batch(bring_on) == 2
    assert machine.get_node("a").retry_count == 1  # type: ignore[union-attr]


def test_retrying_thousands_takes_a_project_and_leaves_the_others(db: Detent, machine: NodeStateMachine) -> None:
    docs, code = NodeStateMachine(db, source="docs"), NodeStateMachine(db, source="code")
    bring(docs, [f"d{number}" for number in range(2500)], "error")
    bring(code, ["c"], "error")
    assert machine.retry_errors(project_id="docs") == 2500
    assert machine.retry_errors(project_id="docs") == 0
    assert machine.count_by_state("docs")["pending"] == 2500
    assert uuids(machine, "error") == ["c"]
    assert machine.retry_errors(project_id="nowhere") == 0
    assert docs.retry_errors() == 0
    assert code.retry_errors() == 1


def test_a_changed_node_begins_anew_and_an_unchanged_one_stays(machine: NodeStateMachine) -> None:
    for state in ("ready", "skip", "error", "parsed", "linked", "pending"):
        bring(machine, [state], state)
        assert machine.mark_changed(state, "h1")
        assert state_of(machine, state) == "pending"
        assert not machine.mark_changed(state, "h1")
        assert machine.get_node(state).content_hash == "h1"  # type: ignore[union-attr]
    assert not machine.mark_changed("unknown", "h1")


@pytest.mark.parametrize("end", ["parsed", "error"])
def test_a_node_that_changes_while_it_is_worked_on_goes_round_again(machine: NodeStateMachine, end: str) -> None:
    """ANCESTORS.md, line 17."""
    machine.detect("Scope", {"a": "h1"})
    assert machine.transition("a", "Scope", "parsing")
    assert machine.mark_changed("a", "h2")
    assert state_of(machine, "a") == "parsing"
    assert machine.transition("a", "Scope", end, content_hash="h1")
    node = machine.get_node("a")
    assert node is not None
    assert (node.state, node.content_hash, node.retry_count) == ("pending", "h2", 0)


def test_the_hash_of_an_embedding_is_that_of_the_content_embedded(machine: NodeStateMachine) -> None:
    machine.detect("Scope", {"a": "h1"})
    for state in PIPELINE[:-1]:
        machine.transition("a", "Scope", state)
    assert machine.mark_changed("a", "h2")
    assert machine.transition("a", "Scope", "ready", embedding_provider="p", embedding_model="m")
    node = machine.get_node("a")
    assert node is not None
    assert (node.state, node.content_hash, node.embedding_hash) == ("pending", "h2", "h1")
    for state in PIPELINE:
        assert machine.transition("a", "Scope", state)
    node = machine.get_node("a")
    assert node is not None
    assert (node.embedding_provider, node.embedding_model, node.embedding_hash) == ("p", "m", "h2")


def test_nodes_are_filtered_by_label_project_and_limit(
    db: Detent, machine: NodeStateMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 3)
    machine.detect("Scope", [f"s{number}" for number in range(10)], project_id="code")
    machine.detect("File", [f"f{number}" for number in range(10)], project_id="code")
    machine.detect("File", ["d0"], project_id="docs")
    assert len(uuids(machine, "pending")) == 21
    assert uuids(machine, "pending", label="File", project_id="docs") == ["d0"]
    assert uuids(machine, "pending", label="Scope") == [f"s{number}" for number in range(10)]
    assert uuids(machine, "pending", label="File", project_id="code", limit=4) == ["f0", "f1", "f2", "f3"]
    assert uuids(machine, "pending", limit=0) == []
    assert uuids(machine, "pending", label="Image") == uuids(machine, "pending", project_id="nowhere") == []
    assert uuids(machine, "pending", error_type="parse") == []
    assert machine.transition_batch([line(f"s{number}", "parsing") for number in range(10)]) == 10
    assert sorted(uuids(machine, "parsing")) == [f"s{number}" for number in range(10)]
    assert sorted(uuids(NodeStateMachine(db, source="docs"), "pending")) == ["d0"]
    with pytest.raises(UnknownName, match="parsing"):
        machine.get_nodes_by_state("parsin")


def test_counts_have_every_state_and_are_of_a_project_or_of_all(db: Detent, machine: NodeStateMachine) -> None:
    assert machine.count_by_state() == dict.fromkeys(DOCUMENTED, 0)
    bring(NodeStateMachine(db, source="docs"), ["a", "b"], "ready")
    bring(NodeStateMachine(db, source="code"), ["c"], "error")
    db.declare("tree", "Topic", TOPIC)
    db.add("tree", "Topic", ["not a node"])
    assert machine.count_by_state() == {**dict.fromkeys(DOCUMENTED, 0), "ready": 2, "error": 1}
    assert machine.count_by_state("docs") == {**dict.fromkeys(DOCUMENTED, 0), "ready": 2}
    assert uuids(machine, "pending") == []


def test_a_uuid_that_two_projects_have_is_asked_for_by_project(db: Detent, machine: NodeStateMachine) -> None:
    machine.detect("File", ["README.md"], project_id="one")
    machine.detect("File", ["README.md"], project_id="two")
    with pytest.raises(DetentError, match="several projects"):
        machine.transition("README.md", "File", "parsing")
    assert NodeStateMachine(db, source="two").transition("README.md", "File", "parsing")
    assert machine.count_by_state("one")["pending"] == machine.count_by_state("two")["parsing"] == 1


def test_the_engine_and_the_machine_move_the_same_nodes(db: Detent, machine: NodeStateMachine) -> None:
    store = db.asynchronous.store
    bring(machine, ["a", "b"], "pending")
    machine.transition("a", "Scope", "parsing")
    [item] = db.wait(store.claim(Stage(NODE, "pending"), owner="worker"))
    assert item.key == "b"
    assert not machine.transition("b", "Scope", "parsed")
    db.reset(db.find("a"))
    assert not machine.transition("a", "Scope", "parsed")
    assert state_of(machine, "a") == "pending"


def test_values_that_cannot_be_kept_are_refused_before_anything_is_written(machine: NodeStateMachine) -> None:
    bring(machine, ["a"], "pending")
    options: list[Mapping[str, str]] = [{"content_hash": "\x00"}, {"embedding_model": "\ud800"}]
    for bad in options:
        with pytest.raises(DetentError):
            machine.transition("a", "Scope", "parsing", **bad)
    assert state_of(machine, "a") == "pending"
