"""Migration from boolean flags: the nodes of a Neo4j database, exported as JSONL, become items that have a state.

The file is read twice. The first time each line is checked, and it is noted what nodes are called and which
relationships there are, since those come after the nodes they belong to. The second time the nodes are translated
into lines of Detent's own format, one by one, and the store reads those in. Names and relationships are in memory
meanwhile, the same words once; texts and properties of nodes are not.

Nodes that are in the database already are left alone, whatever has become of them since. So a file may be migrated
again, after an interruption for example.
"""

from __future__ import annotations

import asyncio
import fileinput
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from detent.errors import FileDamaged, SourceConflict, UnknownName, Unstorable
from detent.knowledge.value import Value
from detent.lifecycle import NODE
from detent.store import Store
from detent.store.exchange import load
from detent.store.exchange.dump import FORMAT, VERSION
from detent.store.exchange.load import TellOf
from detent.store.exchange.records import ItemLine, Name
from detent.store.values import check_key, check_properties, check_text

HOME = "nodes"
"""The source of nodes that belong to no project, here as for `NodeStateMachine`."""

UNLABELLED = "Node"
"""The label of nodes that have none."""

_NODE_FIELDS = frozenset({"type", "id", "labels", "properties"})
_FLAGS = ("embeddingsDirty", "schemaDirty")
_VECTOR, _HASH, _PROJECT, _MADE = "embedding_content", "contentHash", "projectId", "createdAt"
_KEYS = ("uuid", "path", "id")
_TITLES = ("title", "name")
_TEXTS = ("content", "text", "source", "docstring")
_AT_ONCE = 5_000


@dataclass(frozen=True)
class Problem(Value):
    """A line that could not be migrated, and why."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"Line {self.line:,} was not migrated: {self.reason}."


@dataclass
class Migrated(Value):
    """The result of migrating a file. `states` counts the nodes migrated now, by source, label and state; `known`
    are those that were in the database before."""

    states: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    known: int = 0
    references: int = 0
    problems: list[Problem] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "nodes": self.states.total(),
            "known": self.known,
            "references": self.references,
            "states": [
                {"source": source, "label": label, "state": state, "count": count}
                for (source, label, state), count in sorted(self.states.items())
            ],
            "problems": [problem.as_data() for problem in self.problems],
        }


async def migrate_flags(
    store: Store, file: Path, *, source: str | None = None, label: str | None = None, tell: TellOf | None = None
) -> Migrated:
    """Migrate the nodes of a file, with their relationships.

    They go to `source`, or else to the one named after their project. With `label`, only the nodes that have it are
    migrated; what has no label gets this one.
    """
    survey = await asyncio.to_thread(_survey, file, _Choice(source, label))
    await _require_node_lifecycle(store, survey.kinds)
    known = await _known(store, list(survey.lines))
    migrated = Migrated(known=len(known), problems=survey.problems)
    if len(known) < len(survey.lines):
        async with store.database.connection() as connection:
            lines = _translate(file, survey, known, migrated.states)
            loaded = await load(connection, lines, each_chunk=_leave_states, tell=tell)
        migrated.references = loaded.references
        await store.kinds.refresh()
        await store.notices.hint()
    return migrated


def state_of(properties: Mapping[str, Any]) -> str:
    """The state that a node's flags mean. A schema that is out of date goes before all: the node is parsed anew."""
    if properties.get("schemaDirty") is True:
        return "pending"
    if properties.get(_VECTOR) is not None:
        return "ready"
    return "linked" if properties.get("embeddingsDirty") is True else "pending"


class _Malformed(Exception):
    """A line is none of those that are understood."""


class _Node(NamedTuple):
    """A node of the file. `id` is how relationships name it."""

    id: str | None
    labels: Sequence[str]
    properties: Mapping[str, Any]


class _Relationship(NamedTuple):
    line: int
    type: str
    start: str
    end: str
    properties: Mapping[str, Any] | None


class _Link(NamedTuple):
    type: str
    to: Name
    properties: Mapping[str, Any] | None


class _Choice(NamedTuple):
    """The selection of nodes to migrate, and their names."""

    source: str | None
    label: str | None

    def takes(self, node: _Node) -> bool:
        return self.label is None or not node.labels or self.label in node.labels

    def name(self, node: _Node) -> Name:
        """The name of the node, selected or not: others may refer to it."""
        source = self.source or _word(node.properties.get(_PROJECT)) or HOME
        label = node.labels[0] if node.labels else self.label or UNLABELLED
        key = next((found for name in _KEYS if (found := _word(node.properties.get(name)))), node.id)
        if key is None:
            raise _Malformed("it has neither a uuid nor a path nor an id")
        for what, value in (("source", source), ("label", label), ("key", key)):
            check_key(f"its {what}", value)
        return Name(intern(source), intern(label), key)


class _Survey:
    """The findings of the first pass over the file."""

    def __init__(self, choice: _Choice) -> None:
        self.choice = choice
        self.problems: list[Problem] = []
        self.lines: dict[Name, int] = {}
        """The lines of the nodes that are to be migrated."""
        self.links: dict[Name, list[_Link]] = {}
        self._names: dict[str, Name] = {}
        self._relationships: list[_Relationship] = []
        self._seen: dict[Name, int] = {}

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Sources and labels of the nodes, and of those that they refer to."""
        names = {*self.lines, *(link.to for links in self.links.values() for link in links)}
        return sorted({(name.source, name.label) for name in names})

    def take(self, number: int, line: bytes) -> None:
        try:
            record = _read(number, line)
            if isinstance(record, _Relationship):
                self._relationships.append(record)
            else:
                self._take_node(number, record)
        except (_Malformed, Unstorable) as error:
            self.problems.append(Problem(number, str(error)))

    def _take_node(self, number: int, node: _Node) -> None:
        name = self.choice.name(node)
        _item(name, node, ())  # which tells what cannot be kept
        if name in self._seen:
            raise _Malformed(f"{name.label} {name.key!r} of {name.source!r} is in line {self._seen[name]:,} already")
        self._seen[name] = number
        self._names[node.id or name.key] = name
        if self.choice.takes(node):
            self.lines[name] = number

    def join(self) -> None:
        """Give the relationships to the nodes at which they start, now that all nodes are known."""
        for each in self._relationships:
            lost = [end for end in (each.start, each.end) if end not in self._names]
            if lost:
                self.problems.append(Problem(each.line, f"the node {lost[0]!r} of the relationship is missing"))
            elif (start := self._names[each.start]) in self.lines:
                link = _Link(each.type, self._names[each.end], each.properties)
                self.links.setdefault(start, []).append(link)
        self.problems.sort(key=lambda problem: problem.line)
        self._relationships.clear()


def _survey(file: Path, choice: _Choice) -> _Survey:
    survey = _Survey(choice)
    for number, line in _lines(file):
        survey.take(number, line)
    survey.join()
    return survey


def _translate(
    file: Path, survey: _Survey, known: set[Name], states: Counter[tuple[str, str, str]]
) -> Iterator[bytes | str]:
    """The file in Detent's own format, without what is known; counts what has which state."""
    yield json.dumps({"format": FORMAT, "version": VERSION, "items": len(survey.lines) - len(known)})
    yield json.dumps({"record": "lifecycle", "definition": NODE.as_data()})
    for source, label in survey.kinds:
        yield json.dumps({"record": "kind", "source": source, "label": label, "lifecycle": NODE.name})
    wanted = {number: name for name, number in survey.lines.items() if name not in known}
    for number, line in _lines(file):
        name = wanted.get(number)
        node = _read(number, line) if name is not None else None
        if name is not None and isinstance(node, _Node):
            record = _item(name, node, survey.links.get(name, ()))
            states[name.source, name.label, record["state"]] += 1
            yield json.dumps(record)


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The numbered lines of a file, which may be compressed, without empty ones."""
    try:
        with fileinput.hook_compressed(str(file), "rb") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, line
    except (EOFError, zlib.error) as error:
        raise FileDamaged(file, error) from None
    except OSError as error:
        if error.strerror is None:
            raise FileDamaged(file, error) from None
        raise UnknownName(f"{file} cannot be read: {error.strerror}.") from None


def _read(number: int, line: bytes) -> _Node | _Relationship:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _Malformed(f"it is no JSON ({error})") from None
    if not isinstance(record, dict):
        raise _Malformed("it is no JSON object")
    if record.get("type") == "relationship":
        return _relationship(number, record)
    labels = _labels(record)
    if record.get("type") == "node" and record.keys() <= _NODE_FIELDS:
        return _Node(_word(record.get("id")), labels, _properties(record) or {})
    properties = {name: value for name, value in record.items() if name not in ("labels", "label")}
    return _Node(_word(record.get("id")), labels, properties)


def _relationship(number: int, record: Mapping[str, Any]) -> _Relationship:
    ends = [_word(end.get("id")) if isinstance(end := record.get(side), dict) else None for side in ("start", "end")]
    type_ = record.get("label")
    if not isinstance(type_, str) or not type_:
        raise _Malformed("the relationship has no label")
    if ends[0] is None or ends[1] is None:
        raise _Malformed("the relationship has no start or no end")
    properties = _properties(record)
    check_text("the relationship's label", type_)
    check_properties("the relationship's properties", properties or {})
    return _Relationship(number, intern(type_), intern(ends[0]), intern(ends[1]), properties)


def _properties(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = record.get("properties") or None
    if found is not None and not isinstance(found, dict):
        raise _Malformed("its properties are no JSON object")
    return found


def _labels(record: Mapping[str, Any]) -> list[str]:
    found = record.get("labels") or record.get("label") or []
    labels = [found] if isinstance(found, str) else found
    if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
        raise _Malformed("its labels are no list of names")
    return labels


def _item(name: Name, node: _Node, links: Sequence[_Link]) -> dict[str, Any]:
    """The node as a record of Detent's format."""
    content_hash = _word(node.properties.get(_HASH)) or ""
    check_text("its content hash", content_hash)
    return {
        "record": "item",
        **name._asdict(),
        "state": state_of(node.properties),
        "content_hash": content_hash,
        "added_at": _detected(node.properties),
        "node": _content(name, node),
        "references": [{"type": link.type, **link.to._asdict(), "properties": link.properties} for link in links],
    }


def _detected(properties: Mapping[str, Any]) -> str | None:
    """The creation time of the node, if it has one: as text, after which Neo4j may put the zone, or in milliseconds
    since 1970."""
    made = properties.get(_MADE)
    try:
        if isinstance(made, int | float):
            return datetime.fromtimestamp(made / 1000, UTC).isoformat()
        if not isinstance(made, str):
            return None
        told = datetime.fromisoformat(made.partition("[")[0])
        return (told if told.tzinfo else told.replace(tzinfo=UTC)).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _content(name: Name, node: _Node) -> dict[str, Any]:
    """Title, text and properties. What has a place of its own is no property any more."""
    given = node.properties
    titled, told = _first_text(given, _TITLES), _first_text(given, _TEXTS)
    title: str = given[titled] if titled else name.key
    text: str = given[told] if told else ""
    taken = {titled, told, _HASH, _VECTOR, *_FLAGS}
    taken |= {each for each, value in (("uuid", name.key), (_PROJECT, name.source)) if _word(given.get(each)) == value}
    kept = {each: value for each, value in given.items() if each not in taken and not _is_vector(each, value)}
    if len(node.labels) > 1:
        kept.setdefault("labels", list(node.labels))
    check_text("its title", title)
    check_text("its text", text)
    check_properties("its properties", kept)
    return {"title": title, "text": text, "properties": kept}


def _first_text(properties: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The first of these properties that has a text."""
    return next((name for name in names if isinstance(text := properties.get(name), str) and text.strip()), None)


def _is_vector(name: str, value: object) -> bool:
    return name.startswith("embedding") and isinstance(value, list)


def _word(value: object) -> str | None:
    """A name: a text, or a number as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


async def _leave_states(_: object, lines: Sequence[ItemLine]) -> None:
    """Nothing more is written with the nodes. Without this, what has no vector would come to wait for one, whatever
    state it is to have."""


async def _require_node_lifecycle(store: Store, named: Sequence[tuple[str, str]]) -> None:
    for kind in await store.kinds.select():
        if (kind.source, kind.label) in named and kind.lifecycle.name != NODE.name:
            raise SourceConflict(
                f"{kind} follows the lifecycle {kind.lifecycle.name!r}, and migrated nodes follow {NODE.name!r}. "
                "Nothing was migrated; name another source with --source."
            )


async def _known(store: Store, names: Sequence[Name]) -> set[Name]:
    """The ones among these that are in the database."""
    kinds = {(kind.source, kind.label): kind for kind in await store.kinds.select()}
    by_id = {kind.id: kind for kind in kinds.values()}
    asked = [(kinds[name[:2]], name.key) for name in names if name[:2] in kinds]
    found: set[Name] = set()
    for start in range(0, len(asked), _AT_ONCE):
        rows = await store.steering.find(asked[start : start + _AT_ONCE])
        found |= {Name(by_id[row.kind_id].source, by_id[row.kind_id].label, row.key) for row in rows}
    return found
