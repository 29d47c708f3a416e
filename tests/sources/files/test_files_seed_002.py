"""The five tests of the document "Machine à états universelle pour l'ingestion" (002), on real folders: what its state
machine and its orchestrator say, and what the source and its worker do, are one and the same."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import detent
from detent import Detent, Source
from detent.cli import main
from detent.interfaces import (
    VALID_TRANSITIONS,
    FileChange,
    IngestionOrchestrator,
    IngestionStats,
    NodeStateInfo,
    NodeStateMachine,
    Transition,
    get_brain_status,
)
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import make

Query = Callable[..., list[Any]]

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
BATCH = 2000
TEXTS = ("As it was at first.\n", "As it is now.\n")
PATIENCE_SECONDS = 60.0

PROGRAM = """
import os, signal, sys
import detent
from detent.interfaces import *
from detent.sources.files import linking
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import make
from detent.worker.embedder import Embedder

source = make("docs", FolderSettings(sys.argv[2]).as_data())
db = detent.open(database=sys.argv[1], sources=source)
machine = NodeStateMachine(db, source="docs")
"""
CRASHING = """
calls = 0

def dying(function):
    def call(*arguments):
        global calls
        calls += 1
        if calls == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)
    return call

if sys.argv[3] == "embedding":
    calls = 3
    embed = dying(Embedder.__call__)
    Embedder.__call__ = lambda self, items: embed(self, items)
if sys.argv[3] == "linking":  # to which only those files come whose links could not be found
    seen = set()

    def broken(path, parsed, roots, links=linking.links):
        if path in seen:
            return links(path, parsed, roots)
        seen.add(path)
        raise ValueError("no links")

    linking.links = broken
handlers = [
    detent.Handler(each.state, dying(each.function), reads="node", batch_size=2) if each.state == sys.argv[3] else each
    for each in source.handlers
]
db.asynchronous.sources[0] = detent.Source("docs", source.lifecycles, handlers, source.discover)
db.run()
"""


class Desk:
    """A folder and the database that follows it."""

    def __init__(self, root: Path, database: str, query: Query) -> None:
        self.root = root
        self.database = database
        self.query = query
        self._age = itertools.count(1_000_000, -10)

    def write(self, path: str, text: str) -> None:
        """Write a file as if it had been a while ago, but later than what was written before."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        then = file.stat().st_mtime - next(self._age)
        os.utime(file, (then, then))

    def source(self) -> Source:
        return make("docs", FolderSettings(self.root).as_data())

    def open(self, source: Source | None = None, database: str | None = None) -> Detent:
        return detent.open(database=database or self.database, sources=source or self.source())

    def program(self, lines: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another program on the same folder and database, run to its end."""
        command = [sys.executable, "-c", PROGRAM + lines, self.database, str(self.root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)

    def moves(self, key: str) -> list[tuple[str, str]]:
        with self.open() as db:
            return [(entry.from_state, entry.to_state) for entry in db.history(db.find(key)[0])]


@pytest.fixture
def desk(tmp_path: Path, database: str, query: Query) -> Desk:
    root = tmp_path / "folder"
    root.mkdir()
    return Desk(root, database, query)


@pytest.fixture
def db(desk: Desk) -> Iterator[Detent]:
    """The database, open. At the end it must be sound."""
    with desk.open() as opened:
        yield opened
        assert opened.wait(opened.asynchronous.store.tallies.check()) == []


def fill(desk: Desk, count: int = 12) -> None:
    """A folder of texts and code, in which nothing fails and everything is embedded."""
    for number in range(count):
        text = f"Of a bird of this pond.\n\n# Bird number {number}\n\nIt waits for fish {number} in the water.\n"
        desk.write(f"{number}.md", text)
    desk.write("pond.py", '"""The water of the pond."""\n\n\ndef swim():\n    return \'swimming in it\'\n')


def line(key: str, state: str) -> Transition:
    return {"uuid": key, "label": "File", "state": state}


def states(db: Detent, label: str = "File") -> dict[str, str]:
    return {item.key: item.state for item in db.items(source="docs", label=label, limit=10_000).items}


# 1. Transition valide: seules les transitions valides sont acceptées.


def test_transition_valide_only_valid_moves_of_a_file_are_accepted(desk: Desk, db: Detent) -> None:
    """Every pair of states; what is refused writes nothing."""
    ends = [*DOCUMENTED, "nonsense"]
    for state, end in itertools.product(DOCUMENTED, ends):
        desk.write(f"{state}/{end}.md", f"# {state} {end}\n\nA file for each pair of states.\n")
    db.discover()
    machine = NodeStateMachine(db, source="docs")
    for state in DOCUMENTED:
        keys = [f"{state}/{end}.md" for end in ends]
        for step in WAY_TO[state]:
            assert machine.transition_batch([line(key, step) for key in keys]) == len(keys)
        for key, end in zip(keys, ends, strict=True):
            before, told = machine.get_node(key, "File"), db.history(db.find(key)[0])
            accepted = machine.transition(key, "File", end)
            assert accepted is (end in DOCUMENTED[state]), key
            if accepted:
                assert states(db)[key] == end
            else:
                assert (machine.get_node(key, "File"), db.history(db.find(key)[0])) == (before, told)


def test_transition_valide_a_real_run_makes_only_moves_of_the_document(desk: Desk, query: Query) -> None:
    """But for those by which work is given back: to be tried again, or because nothing is to be embedded."""
    fill(desk)
    desk.write("short.txt", "no")
    desk.write("broken.ipynb", "{")
    with desk.open() as db:
        db.run()
        desk.write("0.md", "Of a bird that is new.\n\n# Bird number 0\n\nIt waits for frogs now.\n")
        desk.write("broken.ipynb", '{"cells": [{"cell_type": "markdown", "source": "# Heron\\n\\nIt is repaired."}]}')
        db.run()
    rows = query(
        "SELECT DISTINCT from_state, to_state FROM move JOIN item ON item.id = move.item_id "
        "JOIN kind ON kind.id = item.kind_id WHERE label IN ('File', 'ImageFile', 'Directory')"
    )
    made = {(row.from_state, row.to_state) for row in rows}
    given_back = {("embedding", "linked"), ("linking", "parsed"), ("parsing", "pending")}
    allowed = {(state, to) for state, ends in DOCUMENTED.items() for to in ends}
    assert made - given_back <= allowed
    assert {("pending", "parsing"), ("linking", "linked"), ("embedding", "ready"), ("parsing", "error")} <= made
    assert {("ready", "pending"), ("error", "pending"), ("linked", "skip")} <= made
    assert {state: set(ends) for state, ends in VALID_TRANSITIONS.items()} == DOCUMENTED


def test_transition_valide_a_file_that_a_program_has_taken_is_left_to_it_by_the_worker(desk: Desk, db: Detent) -> None:
    fill(desk, 3)
    db.discover()
    machine = NodeStateMachine(db, source="docs")
    assert machine.transition("1.md", "File", "parsing")
    with desk.open() as other:
        [taken] = NodeStateMachine(other, source="docs").get_nodes_by_state("parsing")
        assert not NodeStateMachine(other, source="docs").transition("1.md", "File", "parsed")
    assert taken.uuid == "1.md"
    assert machine.transition("1.md", "File", "error", error_type="parse", error_message="not by me")
    db.run()
    assert states(db) == {"0.md": "ready", "1.md": "error", "2.md": "ready", "pond.py": "ready"}


@pytest.mark.parametrize("label", ["MarkdownSection", "Scope", "File", "Directory"])
def test_transition_valide_the_machine_knows_nodes_of_every_label(desk: Desk, db: Detent, label: str) -> None:
    """The document: on all nodes, Scope, File, MarkdownSection and so on."""
    fill(desk, 3)
    db.run()
    machine = NodeStateMachine(db, source="docs")
    nodes = [*machine.get_nodes_by_state("ready", label=label), *machine.get_nodes_by_state("skip", label=label)]
    assert {node.uuid: node.state for node in nodes} == states(db, label)
    assert nodes and all(machine.get_node(node.uuid, label) == node for node in nodes)


# 2. Persistence: l'état survit à un redémarrage.


def test_persistence_the_states_of_files_survive_a_restart(desk: Desk) -> None:
    """In the middle of the pipeline: the program is gone, without having closed anything."""
    fill(desk)
    desk.write("broken.ipynb", "{")
    first = desk.program(
        """
def broken(*about):
    raise ValueError("no links")

linking.links = broken
parsing = [each for each in source.handlers if each.state == "parsing"]
db.asynchronous.sources[0] = detent.Source("docs", source.lifecycles, parsing, source.discover)
db.run()
print(machine.count_by_state(), machine.get_node("0.md"), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    assert first.returncode == -signal.SIGKILL, first.stderr
    second = desk.program(
        """
print(machine.count_by_state(), machine.get_node("0.md"))
[failed] = machine.get_nodes_by_state("error")
print(failed.uuid, failed.error_type, failed.retry_count, bool(failed.error_message))
db.run()
"""
    )
    told, failed = second.stdout.splitlines()
    assert (told, failed) == (first.stdout.strip(), "broken.ipynb parse 1 True")
    assert "'parsed': 13" in told
    with desk.open() as db:
        assert set(states(db).values()) == {"ready", "error"}
    assert desk.moves("0.md").count(("pending", "parsing")) == 1


def test_persistence_what_is_ready_stays_so_and_is_not_worked_on_again(desk: Desk, query: Query) -> None:
    fill(desk)
    assert desk.program("db.run()").returncode == 0
    with desk.open() as db:
        before, status = db.items(limit=10_000).items, get_brain_status(db)
    moves = query("SELECT count(*) AS count FROM move")
    assert desk.program("assert db.run().done == 0").returncode == 0
    with desk.open() as db:
        assert (db.items(limit=10_000).items, get_brain_status(db)) == (before, status)
    assert query("SELECT count(*) AS count FROM move") == moves
    assert status.labels["File"] == {"ready": 13}


# 3. Batch: les performances des opérations batch.


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


def test_batch_thousands_of_files_take_as_many_statements_as_one(
    desk: Desk, db: Detent, statements: list[object]
) -> None:
    for number in range(BATCH):
        desk.write(f"{number % 20}/{number}.txt", f"File number {number} of many.\n")
    db.discover()
    keys = [f"{number % 20}/{number}.txt" for number in range(BATCH)]
    machine = NodeStateMachine(db, source="docs")
    began = time.monotonic()
    for state in PIPELINE:
        counts = []
        for some in (keys[:1], keys[1:]):
            statements.clear()
            assert machine.transition_batch([line(key, state) for key in some]) == len(some)
            counts.append(len(statements))
        assert counts[1] <= counts[0] + 2 < 20, state
    statements.clear()
    assert machine.mark_changed_batch([{"uuid": key, "content_hash": "new"} for key in keys]) == BATCH
    assert machine.count_by_state()["pending"] >= BATCH
    assert len(statements) < 40
    assert time.monotonic() - began < PATIENCE_SECONDS


def test_batch_a_folder_in_which_every_file_changed_is_marked_in_few_statements(
    desk: Desk, db: Detent, statements: list[object]
) -> None:
    counts = {}
    for size in (1, BATCH):
        for text in TEXTS:
            for number in range(size):
                desk.write(f"{number}.txt", text)
            statements.clear()
            db.discover()
            counts[size, text] = len(statements)
    assert max(counts[BATCH, text] - counts[1, text] for text in TEXTS) <= 20, counts
    assert len(states(db)) == BATCH


# 4. Recovery: simuler un crash et vérifier la reprise.


@pytest.mark.parametrize("stage", ["parsing", "linking", "embedding"])
def test_recovery_after_a_crash_every_file_goes_on_where_it_was(
    desk: Desk, make_database: Callable[[], str], stage: str
) -> None:
    """The whole program is killed in the middle of a stage, and what it had done stays done."""
    fill(desk)
    crashed = desk.program(CRASHING, stage)
    assert crashed.returncode == -signal.SIGKILL, crashed.stderr
    with desk.open() as db:
        machine = NodeStateMachine(db, source="docs")
        counts = machine.count_by_state()
        assert len(states(db)) == 13 and set(states(db).values()) != {"ready"}
        assert sum(counts.values()) >= 14 and counts["error"] == 0  # with the folder itself
        db.run()
        assert set(states(db).values()) == set(states(db, "MarkdownSection").values()) == {"ready"}
        assert all(node.retry_count == 0 for node in machine.get_nodes_by_state("ready"))
        digest = db.graph.digest()
        assert db.wait(db.asynchronous.store.tallies.check()) == []
    for key in ("0.md", "5.md", "11.md", "pond.py"):
        moves = desk.moves(key)
        for done in (("parsing", "parsed"), ("linking", "linked"), ("embedding", "ready")):
            assert moves.count(done) == 1, (key, moves)
    with desk.open(database=make_database()) as fresh:
        fresh.run()
        assert fresh.graph.digest() == digest


def test_recovery_a_file_that_kills_every_program_ends_in_error_and_the_others_are_ready(
    desk: Desk, db: Detent
) -> None:
    fill(desk, 5)
    lines = """
def killing(item, parse=source.handlers[0].function):
    if item.key == "3.md":
        os.kill(os.getpid(), signal.SIGKILL)
    return parse(item)

handlers = [detent.Handler("parsing", killing, reads="node"), source.handlers[1]]
db.asynchronous.sources[0] = detent.Source("docs", source.lifecycles, handlers, source.discover)
db.run()
"""
    died = 0
    while desk.program(lines).returncode == -signal.SIGKILL:
        died += 1
    assert 3 <= died <= 5
    found = states(db)
    assert (found.pop("3.md"), set(found.values())) == ("error", {"ready"})
    [failed] = NodeStateMachine(db, source="docs").get_nodes_by_state("error", error_type="parse")
    assert "died" in str(failed.error_message)


def test_recovery_the_orchestrator_goes_on_with_files_that_a_crashed_run_left(desk: Desk) -> None:
    fill(desk)
    assert desk.program(CRASHING, "linking").returncode == -signal.SIGKILL
    deadline = time.monotonic() + PATIENCE_SECONDS
    with desk.open() as db:
        machine = NodeStateMachine(db, source="docs")
        while machine.count_by_state()["linking"]:  # the keeper gives back what the dead program had
            assert time.monotonic() < deadline
        stats = Reading(db, machine, desk.root).reingest([])
        assert stats.errors == 0 and stats.parsed + stats.linked > 0
        assert set(states(db).values()) == {"ready"}
        assert set(states(db, "MarkdownSection").values()) == {"linked"}, "these are Detent's own to embed"
        db.run()
        assert set(states(db, "MarkdownSection").values()) == {"ready"}


# 5. Migration: les anciens nodes sont correctement migrés.

VECTOR = [0.1, 0.2]
FLAGS: dict[str, dict[str, Any]] = {
    "0.md": {"embedding_content": VECTOR, "embeddingsDirty": False},
    "1.md": {"embedding_content": VECTOR, "embeddingsDirty": True},
    "2.md": {"embeddingsDirty": True, "contentHash": "abc"},
    "3.md": {"embeddingsDirty": False, "createdAt": "2025-12-30T10:00:00Z"},
    "4.md": {},
}
MIGRATED = {"0.md": "ready", "1.md": "ready", "2.md": "linked", "3.md": "pending", "4.md": "pending"}


class Reading(IngestionOrchestrator):
    """Reads the files of a folder. One that is not there fails."""

    def __init__(self, db: Detent, machine: NodeStateMachine, root: Path) -> None:
        super().__init__(db, machine)
        self.root = root
        self.read: list[str] = []

    def parse_node(self, node: NodeStateInfo) -> None:
        if node.label == "File":
            (self.root / node.uuid).read_text()
            self.read.append(node.uuid)


@pytest.fixture
def migrated(desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A folder, and the nodes that the ancestor had of it, migrated from its flags."""
    fill(desk, 5)
    records = [
        {"labels": ["File"], "projectId": "brain", "path": path, "content": (desk.root / path).read_text(), **flags}
        for path, flags in FLAGS.items()
    ]
    export = desk.root.parent / "all.json"
    export.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    monkeypatch.chdir(desk.root.parent)
    with pytest.raises(SystemExit) as left:
        main(["--database", desk.database, "migrate-flags", "all.json"])
    assert left.value.code == 0, capsys.readouterr()
    return desk


def brain(db: Detent) -> dict[str, str]:
    return {item.key: item.state for item in db.items(source="brain", limit=100).items}


def test_migration_the_flags_of_files_become_states(migrated: Desk, db: Detent) -> None:
    assert brain(db) == MIGRATED
    machine = NodeStateMachine(db, source="brain")
    assert {key: node.state for key in MIGRATED if (node := machine.get_node(key))} == MIGRATED
    nodes = {key: machine.get_node(key) for key in MIGRATED}
    assert nodes["2.md"] is not None and nodes["2.md"].content_hash == "abc"
    assert nodes["3.md"] is not None and nodes["3.md"].detected_at.isoformat() == "2025-12-30T10:00:00+00:00"
    assert db.search("fish 0", mode="text").hits[0].key == "0.md"


def test_migration_what_waits_is_gone_on_with_by_the_orchestrator_on_the_real_files(migrated: Desk, db: Detent) -> None:
    machine = NodeStateMachine(db, source="brain")
    orchestrator = Reading(db, machine, migrated.root)
    assert orchestrator.reingest([]) == IngestionStats(parsed=2, linked=2, embedded=3)
    assert (orchestrator.read, set(brain(db).values())) == (["3.md", "4.md"], {"ready"})
    (migrated.root / "4.md").unlink()
    changes = [FileChange("0.md", "new"), FileChange("4.md", "new"), FileChange("3.md", deleted=True)]
    stats = orchestrator.reingest(changes)
    assert stats == IngestionStats(changed=2, parsed=1, linked=1, embedded=1, errors=1, deleted=1)
    failed = machine.get_node("4.md")
    assert failed is not None
    assert (failed.state, failed.error_type, "No such file" in str(failed.error_message)) == ("error", "parse", True)


def test_migration_leaves_the_folder_that_is_read_beside_it_alone(migrated: Desk, db: Detent) -> None:
    """The old nodes and the folder have the same paths, and are not mixed up."""
    db.run()
    assert set(states(db).values()) == {"ready"}
    assert brain(db).keys() == MIGRATED.keys()
    assert {key: state for key, state in brain(db).items() if key != "2.md"} == {
        key: state for key, state in MIGRATED.items() if key != "2.md"
    }
    assert db.remove_source("brain") == len(MIGRATED)
    assert set(states(db)) == {*MIGRATED, "pond.py"}


def test_migration_what_waits_for_its_embedding_gets_it_from_the_run_that_reads_the_folder(
    migrated: Desk, db: Detent
) -> None:
    db.run()
    assert brain(db)["2.md"] == "ready"


def test_migration_does_not_touch_a_folder_of_the_same_name(
    migrated: Desk, db: Detent, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twice the same file: what is known is left alone."""
    db.run()
    digest = db.graph.digest("docs")
    for source in ("brain", "docs"):
        with pytest.raises(SystemExit):
            main(["--database", migrated.database, "migrate-flags", "all.json", "--source", source])
    assert db.graph.digest("docs") == digest
    assert set(states(db).values()) == {"ready"}
