"""Checks of values that PostgreSQL cannot store. They are refused here, with a reason for a person."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from detent.errors import Unstorable
from detent.knowledge import (
    Alias,
    Child,
    Done,
    Embedding,
    Failed,
    Mention,
    NewItem,
    Node,
    Product,
    Reference,
    Retry,
    Skipped,
    Step,
)
from detent.lifecycle import Trouble
from detent.services.keyring import scrubbed

LONGEST_TEXT = 100_000_000
"""Characters. PostgreSQL limits a statement with all its data to about 1 GB."""

LONGEST_MESSAGE = 100_000

LONGEST_KEY = 2000
"""Bytes. A key is indexed, and PostgreSQL limits index entries to a third of a page."""

_SMALLEST, _LARGEST = -(2**31), 2**31 - 1
_FEW = 100
"""Largest number of properties that are checked one by one."""


def check_text(what: str, text: str | None) -> None:
    if text is None:
        return
    if not isinstance(text, str):
        raise Unstorable(f"{what} is {type(text).__name__}, not text")
    if len(text) > LONGEST_TEXT:
        raise Unstorable(f"{what} is {len(text):,} characters long; at most {LONGEST_TEXT:,} can be stored")
    if text.isascii() and "\x00" not in text:
        return
    if "\x00" in text:
        raise Unstorable(f"{what} has a NUL byte at character {text.index(chr(0))}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Unstorable(f"{what} has half a surrogate pair at character {error.start}") from None


def beginning_like(key: str) -> dict[str, str]:
    """Return the range of keys that begin with this one, to suggest one when no key matches exactly."""
    start = key[: max(1, len(key) // 3)]
    return {"start": start, "end": start + "\U0010ffff"}


def check_key(what: str, key: str) -> None:
    if isinstance(key, str) and key.isascii() and 0 < len(key) <= LONGEST_KEY and "\x00" not in key:
        return  # the common case, and there may be millions
    check_text(what, key)
    if not key:
        raise Unstorable(f"{what} is empty")
    length = len(key.encode("utf-8"))
    if length > LONGEST_KEY:
        raise Unstorable(f"{what} is {length:,} bytes long; at most {LONGEST_KEY:,} can be stored")


def check_priority(priority: int) -> None:
    if not isinstance(priority, int) or not _SMALLEST <= priority <= _LARGEST:
        raise Unstorable(f"the priority {priority!r} is not a whole number between ±2,147,483,647")


def check_properties(what: str, properties: Mapping[str, Any]) -> None:
    _require_type(what, properties, Mapping)
    few = len(properties) <= _FEW
    if few and all(map(_is_plain_text, properties)) and all(map(_is_harmless, properties.values())):
        return  # the common case, and there may be millions
    try:
        text = json.dumps(dict(properties), allow_nan=False, sort_keys=True)  # in the form in which they are compared
    except (TypeError, ValueError, RecursionError) as error:
        raise Unstorable(f"{what} cannot be written as JSON: {error}") from None
    if len(text) > LONGEST_TEXT:
        raise Unstorable(f"{what}: {len(text):,} characters of JSON; at most {LONGEST_TEXT:,} can be stored")
    if "\\u0000" in text or "\\ud" in text.lower():
        _check_strings(what, properties)


def _is_plain_text(value: object) -> bool:
    """True if the value is text that needs no closer check."""
    return type(value) is str and len(value) <= LONGEST_KEY and value.isascii() and "\x00" not in value


def _is_harmless(value: object) -> bool:
    if type(value) is int:
        return _SMALLEST <= value <= _LARGEST
    return value is None or type(value) is bool or _is_plain_text(value)


def check_new_item(new: NewItem) -> None:
    check_key("the label of a new item", new.label)
    check_key("the key of a new item", new.key)
    check_priority(new.priority)
    if new.source is not None:
        _require_type("the source of a new item", new.source, str)
    if new.state is not None:
        _require_type("the state of a new item", new.state, str)
    if new.content_hash is not None:
        check_text("its content hash", new.content_hash)


def check_outcome(outcome: object) -> None:
    """Raise Unstorable if this is no outcome, or if any of its data cannot be stored."""
    match outcome:
        case Done() | Step():
            _check_product(outcome)
        case Retry():
            _require_type("the trouble", outcome.trouble, Trouble)
            _require_type("retry_after", outcome.retry_after, int | float | None)
        case Failed():
            _require_type("the trouble", outcome.trouble, Trouble)
            _require_type("the state to go to", outcome.to, str | None)
            if outcome.content_hash is not None:
                check_text("the content hash", outcome.content_hash)
        case Skipped():
            pass
        case _:
            raise Unstorable(
                f"{outcome!r} is not an outcome: a handler returns Done, Retry, Failed or Skipped, "
                "or yields Step before"
            )


def _check_product(done: Product) -> None:
    if done.to is not None:
        _require_type("the state to go to", done.to, str | Sequence)
        if not done.to:
            raise Unstorable("the states to go through are none")
        for state in [done.to] if isinstance(done.to, str) else done.to:
            _require_type("a state to go through", state, str)
    if done.note is not None:
        check_text("the note", done.note)
    if done.content_hash is not None:
        check_text("the content hash", done.content_hash)
    _require_type("what was found", done.found, Sequence)
    _require_type("the mentions", done.mentions, Sequence)
    if done.carries_data:
        _check_data(done)


def _check_data(done: Product) -> None:
    if done.node is not None:
        _check_node("the node", done.node)
    if done.references:
        _check_references("the references", done.references)
    if done.found:
        _check_found(done.found)
    if done.checkpoint is not None:
        check_properties("the checkpoint", done.checkpoint)
    _check_company(done)


def _check_company(done: Product) -> None:
    """Check an outcome's data about other items, and the item's other names."""
    if done.children is not None:
        _check_children(done.children)
    if done.mentions:
        _check_mentions(done.mentions)
    if done.aliases is not None:
        _check_aliases(done.aliases)
    if done.alias_of is not None:
        check_key("an alias", done.alias_of)
    if done.embedding is not None:
        _check_embedding(done.embedding)


def _check_embedding(embedding: Embedding) -> None:
    _require_type("the embedding", embedding, Embedding)
    for what in ("provider", "model", "content_hash"):
        check_text(f"the embedding's {what}", getattr(embedding, what))
    _require_type("the embedding's hash", embedding.hash, UUID | None)
    _require_type("whether the embedding is renewable", embedding.renewable, bool)
    if embedding.vector is not None and getattr(embedding.vector, "ndim", None) != 1:
        raise Unstorable("the embedding's vector is not a row of numbers")


def printable(text: object) -> str:
    """Return a message that can be stored: secrets are masked, characters that PostgreSQL refuses are escaped, and a
    very long message is cut."""
    escaped = scrubbed(str(text))[:LONGEST_MESSAGE].replace("\x00", "\\x00")
    return escaped.encode("utf-8", errors="backslashreplace").decode("utf-8")


def _require_type(what: str, value: object, wanted: Any) -> None:
    if type(value) is not wanted and not isinstance(value, wanted):
        name = getattr(wanted, "__name__", str(wanted))
        raise Unstorable(f"{what} is {type(value).__name__}, not {name}")


def _check_node(what: str, node: Node) -> None:
    _require_type(what, node, Node)
    check_text("the title", node.title)
    check_text("the text", node.text)
    check_text("the node's content hash", node.content_hash)
    check_properties("the properties", node.properties)


def _check_references(what: str, references: Sequence[Reference]) -> None:
    _require_type(what, references, Sequence)
    checked = None
    for reference in references:
        if not _is_plain(reference):
            _require_type("a reference", reference, Reference)
            _require_type("a reference's label", reference.label, str)
            _require_type("a reference's source", reference.source, str | None)
            check_text("a reference's type", reference.type)
            check_key(f"the key of a reference to a {reference.label}", reference.key)
        if reference.properties and reference.properties is not checked:
            check_properties("a reference's properties", reference.properties)
            checked = reference.properties


def _is_plain(reference: Reference) -> bool:
    """True if a reference needs no closer check. Nearly all are like this, and there may be millions."""
    return (
        type(reference) is Reference
        and reference.source is None
        and type(reference.label) is str
        and _is_plain_text(reference.type)
        and _is_plain_text(reference.key)
        and reference.key != ""
    )


def _check_children(children: Sequence[Child]) -> None:
    _require_type("the children", children, Sequence)
    names: set[tuple[str, str]] = set()
    for child in children:
        _require_type("a child", child, Child)
        _require_type("the label of a child", child.label, str)
        check_key("the key of a child", child.key)
        check_text("a child's edge", child.edge)
        _check_node("a child's node", child.node)
        _check_references("a child's references", child.references)
        if (child.label, child.key) in names:
            raise Unstorable(f"there are two children {child.label} {child.key!r}")
        names.add((child.label, child.key))


def _check_mentions(mentions: Sequence[Mention]) -> None:
    for mention in mentions:
        _require_type("a mention", mention, Mention)
        _require_type("the label of a mention", mention.label, str)
        _require_type("the source of a mention", mention.source, str | None)
        check_key("the key of a mention", mention.key)
        _check_node("a mention's node", mention.node)


def _check_aliases(aliases: Sequence[str | Alias]) -> None:
    _require_type("the aliases", aliases, Sequence)
    for alias in aliases:
        if isinstance(alias, Alias):
            _require_type("the label of an alias", alias.label, str)
            check_key("what an alias stands for", alias.of)
        check_key("an alias", alias.key if isinstance(alias, Alias) else alias)


def _check_found(found: Sequence[NewItem]) -> None:
    for new in found:
        _require_type("an item that was found", new, NewItem)
        check_new_item(new)


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
