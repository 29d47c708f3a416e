"""The lines of an exported file, read and checked one by one, and prepared for COPY.

The type of a line's record is the header, a lifecycle, a kind, an item with everything that belongs to it, or an
alias.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from detent.errors import DetentError, LineRefused, NoExport
from detent.lifecycle import Lifecycle
from detent.store.exchange.dump import FORMAT, VERSION
from detent.store.values import LONGEST_KEY, LONGEST_TEXT, check_key, check_priority, check_properties, check_text

CHUNK_RECORDS = 2_000
CHUNK_BYTES = 16_000_000
FAILURE = ("kind", "trouble", "state", "message")
"""Fields of an item's failure."""
_NULL = "\\N"
_LARGEST = 2**31 - 1
_TURN = 16
_SURELY_SHORT = LONGEST_KEY // 4
"""Number of characters that always fit in a key."""


class Name(NamedTuple):
    """The name of an item."""

    source: str
    label: str
    key: str


class Link(NamedTuple):
    """A reference: its target's kind, and its columns in COPY's form: position, type, key, properties."""

    source: str
    label: str
    columns: str


@dataclass(slots=True)
class ItemLine:
    """An item.

    `content` has its node's columns in COPY's form, without the numbers; None: it has no node. `state` is its
    resting state, and `embedded` the resting state if the database has its embedding. The numbers are the target
    database's, set by the writer.
    """

    line: int
    name: Name
    state: str
    priority: int
    content: str | None
    parent: Name | None
    links: list[Link]
    record: dict[str, Any]
    kind_id: int = 0
    id: int = 0
    text_id: int = 0
    parent_id: int | None = None
    embedded: str = ""
    not_before: str = "-infinity"

    @property
    def content_hash(self) -> str | None:
        found: str | None = self.record.get("content_hash")
        return found


class AliasLine(NamedTuple):
    line: int
    source: str
    label: str
    key: str
    to: str
    said_by: Name | None


class KindLine(NamedTuple):
    line: int
    source: str
    label: str
    lifecycle: str
    language: str


@dataclass(slots=True)
class Chunk:
    """Some lines that are imported together."""

    lifecycles: dict[str, Lifecycle] = field(default_factory=dict)
    kinds: list[KindLine] = field(default_factory=list)
    items: list[ItemLine] = field(default_factory=list)
    aliases: list[AliasLine] = field(default_factory=list)
    expected: int | None = None
    """Number of items that the file announces, if its first line is in this chunk."""


def chunks(lines: Iterable[bytes | str], records: int = CHUNK_RECORDS, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Yield the lines of a file, some thousands at a time; each line is checked before any of its chunk is written."""
    chunk, taken, number = Chunk(), 0, 0
    for number, line in enumerate(lines, start=1):
        _take(chunk, number, line)
        taken += len(line)
        if not number % _TURN:
            time.sleep(0)  # otherwise the thread that talks to PostgreSQL waits 5 ms for each turn
        if len(chunk.items) + len(chunk.aliases) >= records or taken >= size:
            yield chunk
            chunk, taken = Chunk(), 0
    if not number:
        raise LineRefused(1, "the file is empty")
    yield chunk


def _take(chunk: Chunk, number: int, line: bytes | str) -> None:
    if number == 1:
        chunk.expected = _expected(line)
        return
    record: Any = None
    try:
        record = json.loads(line)
        take = _RECORDS.get(record["record"])
        if take is None:
            raise ValueError(f"there is no record {record['record']!r}")
        if _needs_checking(line):
            _check(record)
        take(chunk, number, record)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, DetentError) as error:
        raise LineRefused(number, _reason(record, error)) from None


def _needs_checking(line: bytes | str) -> bool:
    """True if a line may have characters that cannot be stored, or a key that is too long. Hardly any line has,
    and there may be millions; values of the wrong type are found in any case."""
    return (b"\\u" if isinstance(line, bytes) else "\\u") in line or len(line) > LONGEST_TEXT  # type: ignore[operator]


def _reason(record: Any, error: Exception) -> str:
    """Return what is wrong with a record, as precisely as possible."""
    if isinstance(error, (TypeError, AttributeError)):
        if not isinstance(record, dict):
            return "it is not a JSON object"
        try:
            _check(record)
        except (DetentError, LookupError, TypeError) as found:
            error = found
    return f"it lacks {error.args[0]!r}" if isinstance(error, KeyError) else str(error).rstrip(".")


def _check(record: dict[str, Any]) -> None:
    """Check every value of an item."""
    if record["record"] != "item":
        return
    check_key("its key", record["key"])
    for name in ("source", "label", "state"):
        _require_text(record, name)
    check_text("its content hash", record.get("content_hash"))
    check_priority(record.get("priority", 0))
    node = record.get("node") or {"title": "", "text": ""}
    for name in ("title", "text"):
        _require_text(node, name)
    for name in ("edge", "content_hash"):
        check_text(f"its {name}", node.get(name))
    check_properties("its properties", node.get("properties") or {})
    for reference in record.get("references") or ():
        check_key("the key of a reference", reference["key"])
        _require_text(reference, "type")
        check_properties("the properties of a reference", reference.get("properties") or {})


def _expected(line: bytes | str) -> int:
    """Return the number of items that the first line announces."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise NoExport
    version, items = record.get("version"), record.get("items", 0)
    if version != VERSION:
        raise LineRefused(1, f"it has version {version!r} of the format; this Detent reads {VERSION}")
    if not isinstance(items, int):
        raise LineRefused(1, f"{items!r} is not a number of items")
    return items


def _lifecycle(chunk: Chunk, _: int, record: dict[str, Any]) -> None:
    lifecycle = Lifecycle(**record["definition"])
    chunk.lifecycles[lifecycle.name] = lifecycle


def _kind(chunk: Chunk, number: int, record: dict[str, Any]) -> None:
    source, label = record["source"], record["label"]
    check_key("the source's name", source)
    check_key("the label", label)
    chunk.kinds.append(
        KindLine(number, source, label, _require_text(record, "lifecycle"), record.get("language") or "simple")
    )


def _alias(chunk: Chunk, number: int, record: dict[str, Any]) -> None:
    check_key("the alias", record["key"])
    check_key("what it leads to", record["to"])
    if record["key"] == record["to"]:
        raise ValueError("it leads to itself")
    said_by = record.get("said_by")
    teller = Name(said_by["source"], said_by["label"], said_by["key"]) if said_by else None
    chunk.aliases.append(AliasLine(number, record["source"], record["label"], record["key"], record["to"], teller))


def _item(chunk: Chunk, number: int, record: dict[str, Any]) -> None:
    node = record.get("node")
    parent = node and node.get("parent")
    name = Name(record["source"], record["label"], record["key"])
    priority = record.get("priority", 0)
    if not 0 < len(name.key) <= _SURELY_SHORT:
        check_key("its key", name.key)
    if type(priority) is not int or not -_LARGEST <= priority <= _LARGEST:
        check_priority(priority)
    hash((name, parent and parent["source"]))  # report values that are not text here, and not when they are written
    links = [_link(place, each) for place, each in enumerate(record.get("references") or ())]
    if len(links) > 1:
        _check_positions(links)
    if record.get("failure"):
        _check_failure(record["failure"])
    if record.get("added_at"):
        record["added_at"] = datetime.fromisoformat(record["added_at"]).astimezone(UTC).isoformat()
    chunk.items.append(
        ItemLine(
            number,
            name,
            column(record["state"]),
            priority,
            _content(node) if node else None,
            Name(parent["source"], parent["label"], parent["key"]) if parent else None,
            links,
            record,
        )
    )


def _content(node: dict[str, Any]) -> str:
    """Return the columns position, edge, shared, title, text, properties and content hash."""
    get = node.get
    edge, hash_, properties = get("edge"), get("content_hash"), get("properties")
    return (
        f"{_integer(get('position'))}\t{_NULL if edge is None else column(edge)}\t{'t' if get('shared') else 'f'}\t"
        f"{column(node['title'])}\t{column(node['text'])}\t{_properties(properties) if properties else '{}'}\t"
        f"{_NULL if hash_ is None else column(hash_)}"
    )


def _link(place: int, reference: dict[str, Any]) -> Link:
    get, key = reference.get, reference["key"]
    position, properties = get("position"), get("properties")
    if not 0 < len(key) <= _SURELY_SHORT:
        check_key("the key of a reference", key)
    columns = (
        f"{place if position is None else _integer(position)}\t{column(reference['type'])}\t{column(key)}\t"
        f"{_properties(properties) if properties else '{}'}"
    )
    return Link(reference["source"], reference["label"], columns)


def _check_positions(links: list[Link]) -> None:
    positions = [link.columns.partition("\t")[0] for link in links]
    if len(set(positions)) < len(positions):
        twice = next(each for number, each in enumerate(positions) if each in positions[:number])
        raise ValueError(f"two of its references have the position {twice}")


def _check_failure(failure: Any) -> None:
    if not isinstance(failure, dict):
        raise ValueError("its failure is not a JSON object")
    for name in FAILURE:
        if failure.get(name) is None:
            raise ValueError(f"its failure lacks {name!r}")
        check_text(f"the {name} of its failure", failure[name])


def column(text: str) -> str:
    """Return a text in COPY's form."""
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if "\n" in text:
        text = text.replace("\n", "\\n")
    if "\t" in text:
        text = text.replace("\t", "\\t")
    return text.replace("\r", "\\r")


def _properties(properties: dict[str, Any]) -> str:
    if not isinstance(properties, dict):
        raise TypeError("properties are not a JSON object")
    return json.dumps(properties, allow_nan=False).replace("\\", "\\\\")


def _integer(number: object) -> str:
    if number is None:
        return _NULL
    if type(number) is not int or not -_LARGEST <= number <= _LARGEST:
        raise ValueError(f"{number!r} is not a position")
    return str(number)


def _require_text(record: dict[str, Any], name: str) -> str:
    text: str | None = record[name]
    if text is None:
        raise TypeError(f"its {name} is missing")
    check_text(f"its {name}", text)
    return text


_RECORDS = {"lifecycle": _lifecycle, "kind": _kind, "item": _item, "alias": _alias}
