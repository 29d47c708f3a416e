"""YAML: the entries of the mapping at the top of each document."""

from __future__ import annotations

from typing import Any

import yaml

from detent.documents.data.entries import Entries, Malformed, read
from detent.documents.parsed import Parsed

DEEPEST = 1_000
"""Levels that a YAML file may be nested."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER = yaml.resolver.Resolver()
_TAGS = {"int": "number", "float": "number", "bool": "boolean", "null": "null", "timestamp": "date"}
_COLLECTIONS = {yaml.MappingStartEvent: "object", yaml.SequenceStartEvent: "array"}


def parse(data: bytes, name: str) -> Parsed:
    """Read a YAML file, of one document or of several."""
    text, faulty = read(data)
    entries = Entries(text)
    try:
        _read_yaml(text, entries)
    except Malformed as error:
        entries.fail("YAML", error)
    if entries.parts or not entries.loose:
        entries.loose.insert(0, (0, entries.start if entries.parts else len(text)))
    return entries.parsed("yaml", faulty=faulty)


class _YamlReader:
    """Follows the events of a YAML file, and keeps the entries of the mappings at the top of its documents."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._documents = self._depth = self._key_end = self._end = 0
        self._in_mapping = False
        self._top: Any = None
        self._node: Any = None
        self._key: Any = None

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            self._entries.documents = self._documents
        elif isinstance(event, yaml.NodeEvent):
            self._begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._depth -= 1
            if event.end_mark.index > event.start_mark.index:  # else it is no bracket, and stands after the comments
                self._end = event.end_mark.index
            self._finish()

    def _begin(self, event: Any) -> None:
        self._end = event.end_mark.index
        if self._depth == 0:
            self._top, self._in_mapping = event, isinstance(event, yaml.MappingStartEvent)
        elif self._depth == 1:
            self._node = event
        if not isinstance(event, yaml.CollectionStartEvent):
            self._finish()
            return
        self._depth += 1
        if self._depth > DEEPEST:
            raise Malformed(event.start_mark.index, f"it is nested more than {DEEPEST:,} levels deep")

    def _finish(self) -> None:
        """A node has ended. In a mapping at the top, every second one is a value."""
        if self._depth == 0 and not self._in_mapping:
            self._entries.loose.append((self._top.start_mark.index, self._end))
        if self._depth != 1 or not self._in_mapping:
            return
        if self._key is None:
            self._key, self._key_end = self._node, self._end
            return
        start, text = self._key.start_mark.index, self._entries.text
        title = self._key.value if isinstance(self._key, yaml.ScalarEvent) else text[start : self._key_end]
        while self._end > start and text[self._end - 1].isspace():  # blank lines after a block of text
            self._end -= 1
        self._entries.add_commented(title, _yaml_type(self._node), start, self._end)
        self._key = None


def _read_yaml(text: str, entries: Entries) -> None:
    reader = _YamlReader(entries)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Malformed(mark.index if mark else len(text), error.problem or "it cannot be read") from error
    except (yaml.YAMLError, ValueError) as error:
        reason = getattr(error, "reason", "it cannot be read")
        raise Malformed(getattr(error, "position", 0), str(reason)) from error


def _yaml_type(event: Any) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        return _COLLECTIONS.get(type(event), "alias")
    plain = event.tag is None and event.implicit[0] and len(event.value) < 100
    tag = _RESOLVER.resolve(yaml.ScalarNode, event.value, (True, False)) if plain else event.tag or ""
    return _TAGS.get(tag.rpartition(":")[2], "string")
