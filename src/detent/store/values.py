"""Whether PostgreSQL can keep a value. What it cannot keep is refused here, with a reason for a person."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from detent.errors import Unstorable
from detent.knowledge import Done, Failed, NewItem, Node, Reference, Retry, Skipped
from detent.lifecycle import Trouble

LONGEST_TEXT = 100_000_000
"""Characters. PostgreSQL takes a statement of a thousand million bytes at most, with all that it carries."""

LONGEST_MESSAGE = 100_000

LONGEST_KEY = 2000
"""Bytes. A key is in an index, whose entries PostgreSQL limits to a third of a page."""

_SMALLEST, _LARGEST = -(2**31), 2**31 - 1


def check_text(what: str, text: str | None) -> None:
    if text is None:
        return
    if not isinstance(text, str):
        raise Unstorable(f"{what} is {type(text).__name__}, not text")
    if len(text) > LONGEST_TEXT:
        raise Unstorable(f"{what} is {len(text):,} characters long; at most {LONGEST_TEXT:,} can be kept")
    if text.isascii() and "\x00" not in text:
        return
    if "\x00" in text:
        raise Unstorable(f"{what} has a NUL byte at character {text.index(chr(0))}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Unstorable(f"{what} has half a surrogate pair at character {error.start}") from None


def check_key(what: str, key: str) -> None:
    if isinstance(key, str) and key.isascii() and 0 < len(key) <= LONGEST_KEY and "\x00" not in key:
        return  # nearly all are like this, and there may be millions
    check_text(what, key)
    if not key:
        raise Unstorable(f"{what} is empty")
    length = len(key.encode("utf-8"))
    if length > LONGEST_KEY:
        raise Unstorable(f"{what} is {length:,} bytes long; at most {LONGEST_KEY:,} can be kept")


def check_priority(priority: int) -> None:
    if not isinstance(priority, int) or not _SMALLEST <= priority <= _LARGEST:
        raise Unstorable(f"the priority {priority!r} is not a whole number between ±2,147,483,647")


def check_properties(what: str, properties: Mapping[str, Any]) -> None:
    _require_type(what, properties, Mapping)
    try:
        text = json.dumps(dict(properties), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unstorable(f"{what} cannot be written as JSON: {error}") from None
    if len(text) > LONGEST_TEXT:
        raise Unstorable(f"{what}: {len(text):,} characters of JSON; at most {LONGEST_TEXT:,} can be kept")
    if "\\u0000" in text or "\\ud" in text.lower():
        _check_strings(what, properties)


def check_new_item(new: NewItem) -> None:
    _require_type("the label of a new item", new.label, str)
    check_key("the key of a new item", new.key)
    check_text("its label", new.label)
    check_priority(new.priority)
    if new.source is not None:
        _require_type("the source of a new item", new.source, str)
    if new.state is not None:
        _require_type("the state of a new item", new.state, str)
    if new.content_hash is not None:
        check_text("its content hash", new.content_hash)


def check_outcome(outcome: object) -> None:
    """Raise Unstorable if this is no outcome, or anything that it carries cannot be kept."""
    match outcome:
        case Done():
            _check_done(outcome)
        case Retry():
            _require_type("the trouble", outcome.trouble, Trouble)
            _require_type("retry_after", outcome.retry_after, int | float | None)
        case Failed():
            _require_type("the trouble", outcome.trouble, Trouble)
        case Skipped():
            pass
        case _:
            raise Unstorable(f"{outcome!r} is no outcome: a handler returns Done, Retry, Failed or Skipped")


def _check_done(done: Done) -> None:
    if done.to is not None:
        _require_type("the state to go to", done.to, str)
    if done.note is not None:
        check_text("the note", done.note)
    if done.content_hash is not None:
        check_text("the content hash", done.content_hash)
    if done.node is not None:
        _require_type("the node", done.node, Node)
        _check_node(done.node)
    if done.references:
        _require_type("the references", done.references, Sequence)
        for reference in done.references:
            _require_type("a reference", reference, Reference)
            _check_reference(reference)
    if done.found:
        _require_type("what was found", done.found, Sequence)
        for new in done.found:
            _require_type("an item that was found", new, NewItem)
            check_new_item(new)
    if done.checkpoint is not None:
        check_properties("the checkpoint", done.checkpoint)


def printable(text: object) -> str:
    """A message as it can be kept: what PostgreSQL refuses is shown as an escape, and the end of a very long one is
    left out."""
    escaped = str(text)[:LONGEST_MESSAGE].replace("\x00", "\\x00")
    return escaped.encode("utf-8", errors="backslashreplace").decode("utf-8")


def _require_type(what: str, value: object, wanted: Any) -> None:
    if not isinstance(value, wanted):
        name = getattr(wanted, "__name__", str(wanted))
        raise Unstorable(f"{what} is {type(value).__name__}, not {name}")


def _check_node(node: Node) -> None:
    check_text("the title", node.title)
    check_text("the text", node.text)
    check_text("the node's content hash", node.content_hash)
    check_properties("the properties", node.properties)


def _check_reference(reference: Reference) -> None:
    _require_type("a reference's label", reference.label, str)
    _require_type("a reference's source", reference.source, str | None)
    check_text("a reference's type", reference.type)
    check_key(f"the key of a reference to a {reference.label}", reference.key)
    check_properties("a reference's properties", reference.properties)


def _check_strings(what: str, value: object) -> None:
    if isinstance(value, str):
        check_text(f"a string in {what}", value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            _check_strings(what, name)
            _check_strings(what, inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_strings(what, inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Unstorable(f"a number in {what} is not finite")
