"""`detent migrate-flags`: the document "Machine à états universelle" (002), its migration and its fifth test."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import detent
from detent.application.migrating import state_of
from detent.interfaces import NodeStateMachine
from detent.lifecycle import NODE, TOPIC

Result = subprocess.CompletedProcess[str]
Write = Callable[..., Path]

VECTOR = [0.1, 0.2]


def node(number: int, label: str = "Scope", **properties: Any) -> dict[str, Any]:
    """A node as `apoc.export.json.all` writes it."""
    given = {"uuid": f"u{number}", "projectId": "brain", **properties}
    return {"type": "node", "id": str(number), "labels": [label], "properties": given}


def relationship(start: int, end: int, type_: str = "CONSUMES", **properties: Any) -> dict[str, Any]:
    ends = {"start": {"id": str(start), "labels": ["Scope"]}, "end": {"id": str(end), "labels": ["Scope"]}}
    return {"type": "relationship", "id": "9", "label": type_, **ends, "properties": properties}


GRAPH = [
    node(0, name="parse", source="def parse(): ...", embedding_content=VECTOR, embeddingsDirty=True, line=7),
    node(1, name="link", embeddingsDirty=True, contentHash="abc", createdAt="2025-12-30T10:00:00Z"),
    node(2, name="new", docstring="Says nothing."),
    node(3, name="stale", embedding_content=VECTOR, schemaDirty=True),
    node(4, "File", path="src/a.py", content="import b", embedding_name=VECTOR, embeddingsDirty=False),
    relationship(0, 1, since=2025),
    relationship(0, 4, "DEFINED_IN"),
    relationship(4, 2, "CONTAINS"),
]
STATES = {"u0": "ready", "u1": "linked", "u2": "pending", "u3": "pending", "u4": "pending"}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of JSON lines; what is text already stands as it is."""

    def written(*records: Any, name: str = "all.json") -> Path:
        lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return tmp_path / name

    return written


def states(db: detent.Detent) -> dict[str, str]:
    return {item.key: item.state for item in db.items(limit=1000).items}


def export(db: detent.Detent, tmp_path: Path) -> dict[str, Any]:
    """The items of the database by key, with all that they have."""
    db.graph.export(tmp_path / "exported.jsonl")
    records = [json.loads(line) for line in (tmp_path / "exported.jsonl").read_text().splitlines()]
    return {record["key"]: record for record in records if record.get("record") == "item"}


def test_flags_become_states(opened: detent.Detent, said: Callable[..., Result], write: Write) -> None:
    write(*GRAPH)

    result = said("migrate-flags", "all.json")

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "brain/File: 1 pending",
        "brain/Scope: 2 pending, 1 linked, 1 ready",
        "5 nodes and 3 relationships migrated.",
    ]
    assert states(opened) == STATES
    assert NodeStateMachine(opened).count_by_state("brain")["ready"] == 1
    assert opened.wait(opened.asynchronous.store.tallies.check()) == []


@given(st.booleans(), st.booleans(), st.sampled_from([None, VECTOR, "a vector in another form"]))
def test_the_state_is_that_of_the_documents_query(embed: bool, schema: bool, vector: object) -> None:
    documented = "ready" if vector is not None else "linked" if embed else "pending"
    flags = {"embeddingsDirty": embed, "schemaDirty": schema, "embedding_content": vector}
    assert state_of(flags) == ("pending" if schema else documented)


@pytest.mark.parametrize(
    ("made", "detected"),
    [
        ("2025-12-30T10:00:00Z", "2025-12-30T10:00:00+00:00"),
        ("2025-12-30T11:00:00.123456789+01:00[Europe/Berlin]", "2025-12-30T10:00:00.123456+00:00"),
        ("2025-12-30T10:00:00", "2025-12-30T10:00:00+00:00"),
        (1767088800000, "2025-12-30T10:00:00+00:00"),
    ],
)
def test_a_node_was_detected_when_it_says_it_was_made(
    opened: detent.Detent, said: Callable[..., Result], write: Write, made: Any, detected: str
) -> None:
    write(node(1, createdAt=made), node(2, createdAt="yesterday"))
    assert said("migrate-flags", "all.json").returncode == 0
    first, second = (opened.show(opened.find(f"u{number}")[0]).item for number in (1, 2))
    assert first.added_at.isoformat() == detected
    assert second.added_at.year >= 2026


def test_what_nodes_have_is_taken_over_without_flags_and_vectors(
    opened: detent.Detent, said: Callable[..., Result], write: Write, tmp_path: Path
) -> None:
    write(*GRAPH)
    said("migrate-flags", "all.json")

    items = export(opened, tmp_path)

    assert items["u0"]["node"]["title"] == "parse"
    assert items["u0"]["node"]["text"] == "def parse(): ..."
    assert items["u0"]["node"]["properties"] == {"line": 7}
    assert items["u0"]["content_hash"] == ""
    assert items["u1"]["content_hash"] == "abc"
    assert items["u1"]["node"]["properties"] == {"createdAt": "2025-12-30T10:00:00Z"}
    assert items["u2"]["node"]["text"] == "Says nothing."
    assert items["u4"]["label"] == "File"
    assert items["u4"]["node"]["title"] == "u4"
    assert items["u4"]["node"]["properties"] == {"path": "src/a.py"}


def test_relationships_become_references(
    opened: detent.Detent, said: Callable[..., Result], write: Write, tmp_path: Path
) -> None:
    write(*GRAPH)
    said("migrate-flags", "all.json")

    first, second = export(opened, tmp_path)["u0"]["references"]

    assert (first["type"], first["key"], first["properties"]) == ("CONSUMES", "u1", {"since": 2025})
    assert (second["type"], second["label"], second["key"]) == ("DEFINED_IN", "File", "u4")
    start = opened.find("u0")[0]
    assert {each.node.key for each in opened.graph.neighbours(start).neighbours} == {"u1", "u4"}


def test_a_second_time_nothing_changes(
    opened: detent.Detent,
    said: Callable[..., Result],
    document: Callable[..., Any],
    write: Write,
) -> None:
    write(*GRAPH)
    said("migrate-flags", "all.json")
    machine = NodeStateMachine(opened)
    assert machine.transition("u2", "Scope", "parsing")
    assert machine.transition("u2", "Scope", "parsed")
    before = opened.items(limit=1000).items, opened.graph.digest()

    again = document("migrate-flags", "all.json")

    assert again == {"nodes": 0, "known": 5, "references": 0, "states": [], "problems": []}
    assert (opened.items(limit=1000).items, opened.graph.digest()) == before
    write(*GRAPH, node(5))
    assert said("migrate-flags", "all.json").stdout.splitlines() == [
        "brain/Scope: 1 pending",
        "1 node and 0 relationships migrated. 5 more existed already.",
    ]


MALFORMED = {
    '{"type": "node", "id"': "it is no JSON (",
    "[1, 2]": "it is no JSON object",
    "[" * 100_000: "it is no JSON (",
    '{"name": "nobody"}': "it has neither a uuid nor a path nor an id",
    '{"uuid": "a", "labels": [7]}': "its labels are no list of names",
    '{"type": "node", "id": "7", "properties": [1]}': "its properties are no JSON object",
    '{"uuid": "a", "text": "a\\u0000b"}': "its text has a NUL byte at character 1",
    '{"uuid": "a", "title": "\\ud800"}': "its title has half a surrogate pair at character 0",
    '{"uuid": "a", "size": NaN}': "its properties cannot be written as JSON",
    '{"uuid": "a", "contentHash": "\\u0000"}': "its content hash has a NUL byte",
    '{"uuid": "u0", "label": "Scope", "projectId": "brain"}': "Scope 'u0' of 'brain' is in line 1 already",
    '{"type": "relationship", "label": "A", "start": {"id": "0"}}': "the relationship has no start or no end",
    '{"type": "relationship", "start": {"id": "0"}, "end": {"id": "0"}}': "the relationship has no label",
    json.dumps(relationship(0, 99)): "the node '99' of the relationship is missing",
    json.dumps({"uuid": "a" * 3000}): "its key is 3,000 bytes long",
}


@pytest.mark.parametrize("line", MALFORMED, ids=range(len(MALFORMED)))
def test_a_line_that_cannot_be_migrated_is_told_and_the_others_are_migrated(
    opened: detent.Detent, said: Callable[..., Result], write: Write, line: str
) -> None:
    write(GRAPH[0], "", line, GRAPH[1], GRAPH[5])

    result = said("migrate-flags", "all.json")

    assert result.returncode == 1
    assert result.stderr.startswith(f"Line 3 was not migrated: {MALFORMED[line]}")
    assert result.stdout.splitlines()[-1] == "2 nodes and 1 relationship migrated."
    assert states(opened) == {"u0": "ready", "u1": "linked"}


def test_of_many_malformed_lines_the_first_are_told(
    opened: detent.Detent, said: Callable[..., Result], write: Write
) -> None:
    write(*["no"] * 30, GRAPH[0])
    result = said("migrate-flags", "all.json")
    assert len(result.stderr.splitlines()) == 21
    assert result.stderr.splitlines()[-1] == "10 more lines could not be migrated."
    assert states(opened) == {"u0": "ready"}


def test_plain_lines_have_their_properties_at_the_top(
    opened: detent.Detent, document: Callable[..., Any], write: Write, tmp_path: Path
) -> None:
    write(
        {"uuid": "a", "labels": ["Scope", "Function"], "name": "a", "type": "function", "embeddingsDirty": True},
        {"path": "b.md", "label": "MarkdownFile", "text": "About b", "embedding_content": VECTOR},
        {"id": 3, "title": "c"},
    )

    found = document("migrate-flags", "all.json", "--source", "notes")

    assert {(each["label"], each["state"]) for each in found["states"]} == {
        ("Scope", "linked"),
        ("MarkdownFile", "ready"),
        ("Node", "pending"),
    }
    items = export(opened, tmp_path)
    assert {item["source"] for item in items.values()} == {"notes"}
    assert items["a"]["node"]["properties"] == {"type": "function", "labels": ["Scope", "Function"]}
    assert items["b.md"]["node"]["properties"] == {"path": "b.md"}
    assert items["3"]["node"]["title"] == "c"


def test_labels_migrated_one_after_the_other_give_the_same_graph(
    opened: detent.Detent,
    said: Callable[..., Result],
    write: Write,
    make_database: Callable[[], str],
) -> None:
    write(*GRAPH)
    said("migrate-flags", "all.json", "--label", "Scope")
    assert set(states(opened)) == {"u0", "u1", "u2", "u3"}
    said("migrate-flags", "all.json", "--label", "File")

    other = make_database()
    said("--database", other, "migrate-flags", "all.json")

    with detent.open(database=other) as whole:
        assert whole.graph.digest() == opened.graph.digest()


def test_nodes_of_no_project_belong_to_nodes(opened: detent.Detent, said: Callable[..., Result], write: Write) -> None:
    write({"uuid": "a", "label": "Scope"}, {"uuid": "b"})
    said("migrate-flags", "all.json", "--label", "Scope")
    assert {(item.source, item.label, item.key) for item in opened.items().items} == {
        ("nodes", "Scope", "a"),
        ("nodes", "Scope", "b"),
    }


def test_a_source_with_another_lifecycle_is_left_alone(
    opened: detent.Detent, said: Callable[..., Result], write: Write
) -> None:
    opened.declare("brain", "Scope", TOPIC)
    write(*GRAPH)
    result = said("migrate-flags", "all.json")
    assert result.returncode == 2
    assert "brain/Scope follows the lifecycle 'topic'" in result.stderr
    assert states(opened) == {}
    assert said("migrate-flags", "all.json", "--source", "mind").returncode == 0


def test_a_compressed_file_is_read_and_a_damaged_one_told(
    opened: detent.Detent, said: Callable[..., Result], write: Write, tmp_path: Path
) -> None:
    packed = gzip.compress(write(*GRAPH).read_bytes())
    (tmp_path / "all.json.gz").write_bytes(packed[:-20])
    assert "is cut off or damaged" in said("migrate-flags", "all.json.gz").stderr
    (tmp_path / "all.json.gz").write_bytes(b"no gzip")
    assert "is cut off or damaged" in said("migrate-flags", "all.json.gz").stderr
    assert states(opened) == {}
    (tmp_path / "all.json.gz").write_bytes(packed)
    assert said("migrate-flags", "all.json.gz").returncode == 0
    assert states(opened) == STATES
    missing = said("migrate-flags", "nothing.json")
    assert (missing.returncode, missing.stderr) == (2, "nothing.json cannot be read: No such file or directory.\n")


def test_migrated_nodes_can_be_worked_on(opened: detent.Detent, said: Callable[..., Result], write: Write) -> None:
    write(*GRAPH)
    said("migrate-flags", "all.json")
    claimed = opened.claim(NODE, "linked", owner="me")
    assert [item.key for item in claimed] == ["u1"]
    assert [hit.key for hit in opened.search("parse", mode="text").hits] == ["u0"]
