"""Data files: JSON, JSON lines, YAML and TOML, a part for each entry of the top level, as it is written.

No values are made of what is read: aliases are not followed, and no depth of nesting is too deep for the memory.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import yaml

from detent.documents.decoding import decode, is_binary, storable
from detent.documents.keys import slug
from detent.documents.parsed import Parsed, Part, Unparsable
from detent.knowledge.keys import Unique

MOST_PARTS = 5_000
LONGEST_TEXT = 100_000
"""Characters of an entry's text, and of the file's own, that are kept."""

DEEPEST = 1_000
"""Levels that a YAML file may be nested."""

_DEEPEST_JSON = 1_000_000
_LONGEST_TITLE = 500
_FAULTY = ("Some of its bytes are no text in its encoding, and stand as �.",)


class _Malformed(Exception):
    """The text cannot be read from here on."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


class _Entries:
    """What was found of a text: the entries, up to the most that become parts, and the pieces that stand in none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[Part] = []
        self.start = self.end = 0
        """Where the first of the parts begins, and the last ends."""
        self.documents = 1
        self.loose: list[tuple[int, int]] = []
        self.problems: list[str] = []
        self._unique = Unique()
        self._count = self._reached = 0
        self._line = 1
        self._cut: list[str] = []

    def add(self, title: str, kind: str, start: int, end: int) -> None:
        """An entry, after those that were added before."""
        self._count, self._reached = self._count + 1, end
        if self._count > MOST_PARTS:
            return
        first = self._line + self.text.count("\n", self.end, start)
        self._line = first + self.text.count("\n", start, end)
        self.start, self.end = self.start if self.parts else start, end
        plain = " ".join(storable(title[:_LONGEST_TITLE]).split())
        if end - start > LONGEST_TEXT:
            self._cut.append(plain[:50])
        key, text = self._unique.key(slug(plain)), self.text[start : min(end, start + LONGEST_TEXT)]
        document = {"document": self.documents} if self.documents > 1 else {}
        self.parts.append(Part("Section", key, plain, text, first, self._line, properties={"type": kind, **document}))

    def add_commented(self, title: str, kind: str, start: int, end: int) -> None:
        """Add an entry with the comment on its last line, and those right above it."""
        floor = self._reached
        line = self.text.rfind("\n", floor, start) + 1
        while line > floor and not self.text[line:start].strip(" \t"):
            above = self.text.rfind("\n", floor, line - 1) + 1
            if above < floor or not self.text[above:line].lstrip(" \t").startswith("#"):
                break
            start = line = above
        comment = _COMMENT.match(self.text, end)
        self.add(title, kind, start, comment.end() if comment else end)

    def fail(self, language: str, error: _Malformed) -> None:
        """Tell where the text is malformed. What comes after the last whole entry is the file's own text."""
        place = min(error.place, len(self.text))
        line, column = self.text.count("\n", 0, place) + 1, place - self.text.rfind("\n", 0, place)
        self.problems.append(f"It is no valid {language}: line {line}, column {column}: {error}.")
        self.loose = [piece for piece in self.loose if piece[1] <= self.end] + [(self.end, len(self.text))]

    def parsed(self, kind: str, *, faulty: bool) -> Parsed:
        if self._count > len(self.parts):
            self.problems.append(f"It has {self._count:,} entries; the first {MOST_PARTS:,} of them are parts.")
            self.loose = [(self.end, len(self.text))]
        own = "\n".join(filter(None, (self.text[start:end].strip(" \t\n,") for start, end in self.loose)))
        if len(own) > LONGEST_TEXT:
            self.problems.append(f"Its own text has {len(own):,} characters; the first {LONGEST_TEXT:,} were kept.")
        if self._cut:
            names = ", ".join(self._cut[:3]) + (" …" if len(self._cut) > 3 else "")
            self.problems.append(f"The text of some entries was cut after {LONGEST_TEXT:,} characters: {names}.")
        self.problems.extend(_FAULTY * faulty)
        properties = {"documents": self.documents} if self.documents > 1 else {}
        return Parsed(kind, text=own[:LONGEST_TEXT], properties=properties, parts=self.parts, problems=self.problems)


def parse_json(data: bytes, name: str) -> Parsed:
    """Read a JSON file. Comments and commas before a closing bracket are let pass, as in many settings."""
    text, faulty = _text(data)
    entries = _Entries(text)
    try:
        if not _read_json(text, entries):
            entries.loose.append((0, len(text)))
    except _Malformed as error:
        entries.fail("JSON", error)
    return entries.parsed("json", faulty=faulty)


def parse_json_lines(data: bytes, name: str) -> Parsed:
    """Read a file with a JSON value on each line. Its lines have no names, so they become no parts: its text is their
    beginning."""
    text, faulty = _text(data)
    shown, lines, problems = text[:LONGEST_TEXT], text[:LONGEST_TEXT].split("\n"), []
    if len(shown) < len(text):
        problems.append(f"It has {len(text):,} characters; the first {len(shown):,} were kept.")
        lines.pop()
    malformed = (_line_problem(number, line) for number, line in enumerate(lines, 1) if line.strip())
    problems.extend([*filter(None, malformed)][:1])
    problems.extend(_FAULTY * faulty)
    count = text.count("\n") + (not text.endswith("\n") and bool(text))
    return Parsed("jsonl", text=shown.strip(), properties={"lines": count}, problems=problems)


def parse_yaml(data: bytes, name: str) -> Parsed:
    """Read a YAML file, of one document or of several."""
    text, faulty = _text(data)
    entries = _Entries(text)
    try:
        _read_yaml(text, entries)
    except _Malformed as error:
        entries.fail("YAML", error)
    if entries.parts or not entries.loose:
        entries.loose.insert(0, (0, entries.start if entries.parts else len(text)))
    return entries.parsed("yaml", faulty=faulty)


def parse_toml(data: bytes, name: str) -> Parsed:
    """Read a TOML file: a part for each table, as its header names it, and for each key before the first of them."""
    text, faulty = _text(data)
    entries = _Entries(text)
    entries.problems.extend(_toml_problems(text))
    _read_toml(text, entries)
    entries.loose.append((0, entries.start if entries.parts else len(text)))
    return entries.parsed("toml", faulty=faulty)


def _text(data: bytes) -> tuple[str, bool]:
    if is_binary(data):
        raise Unparsable("It is no text.")
    decoded = decode(data)
    return decoded.text, decoded.faulty


# JSON

_SKIPPED = r"(?:[ \t\n\r\ufeff]++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))*+"
_TOKEN = re.compile(
    _SKIPPED
    + r"""("(?:[^"\\\x00-\x1f]++|\\["\\/bfnrtu])*+"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"""
    r"""|true|false|null|NaN|-?Infinity|[{}\[\],:])"""
)
_SPACE = re.compile(_SKIPPED)

_VALUE = '"-0123456789tfnNI{['
_KEY = '"}'
_ITEM = _VALUE + "]"
_AFTER = {"{": ",}", "[": ",]"}
_TYPES = {'"': "string", "{": "object", "[": "array", "t": "boolean", "f": "boolean", "n": "null"}


def _read_json(text: str, entries: _Entries) -> bool:
    """Find the entries of the object at the top; False if something else is there. `expected` are the signs with which
    the next token may begin, `around` the brackets that are open."""
    around: list[str] = []
    expected, place = _VALUE, 0
    start, key, kind = 0, "", ""
    while expected:
        match = _TOKEN.match(text, place)
        if match is None or match[1][0] not in expected:
            raise _unexpected(text, place, expected)
        sign, place = match[1][0], match.end()
        if sign == '"' and expected is _KEY:
            if len(around) == 1:
                start, key, kind = match.start(1), match[1], ""
            expected = ":"
            continue
        kind = kind or (_TYPES.get(sign, "number") if sign != ":" else "")
        if sign in "{[":
            around.append(sign)
            if len(around) > _DEEPEST_JSON:
                raise _Malformed(place - 1, f"it is nested more than {_DEEPEST_JSON:,} levels deep")
        elif sign in "}]":
            around.pop()
        expected = _expected(sign, around)
        if len(around) == 1 and around[0] == "{" and expected is _AFTER["{"]:
            entries.add(_name(key), kind, start, place)
    if _after(_SPACE, text, place) < len(text):
        raise _unexpected(text, place, "")
    return sign == "}"


def _expected(sign: str, around: list[str]) -> str:
    """What may come after a token that begins with this sign."""
    if sign in "{,":
        return _KEY if around[-1] == "{" else _ITEM
    if sign in "[:":
        return _ITEM if sign == "[" else _VALUE
    return _AFTER[around[-1]] if around else ""


def _unexpected(text: str, place: int, expected: str) -> _Malformed:
    place = _after(_SPACE, text, place)
    if place >= len(text):
        return _Malformed(place, "it ends too early")
    if not expected:
        return _Malformed(place, "more follows after its end")
    wanted = {_VALUE: "a value", _KEY: "a key in quotes", _ITEM: "a value", ":": "a colon"}
    return _Malformed(place, f"{wanted.get(expected, 'a comma or a closing bracket')} is expected")


def _name(key: str) -> str:
    try:
        return str(json.loads(key))
    except ValueError:
        return key[1:-1]


def _line_problem(number: int, line: str) -> str:
    try:
        _read_json(line, _Entries(line))
    except _Malformed as error:
        return f"It is no valid JSON: line {number}, column {error.place + 1}: {error}."
    return ""


# YAML

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER = yaml.resolver.Resolver()
_TAGS = {"int": "number", "float": "number", "bool": "boolean", "null": "null", "timestamp": "date"}
_COLLECTIONS = {yaml.MappingStartEvent: "object", yaml.SequenceStartEvent: "array"}


class _YamlReader:
    """Follows the events of a YAML file, and keeps the entries of the mappings at the top of its documents."""

    def __init__(self, entries: _Entries) -> None:
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
            raise _Malformed(event.start_mark.index, f"it is nested more than {DEEPEST:,} levels deep")

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


def _read_yaml(text: str, entries: _Entries) -> None:
    reader = _YamlReader(entries)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _Malformed(mark.index if mark else len(text), error.problem or "it cannot be read") from error
    except (yaml.YAMLError, ValueError) as error:
        reason = getattr(error, "reason", "it cannot be read")
        raise _Malformed(getattr(error, "position", 0), str(reason)) from error


def _yaml_type(event: Any) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        return _COLLECTIONS.get(type(event), "alias")
    plain = event.tag is None and event.implicit[0] and len(event.value) < 100
    tag = _RESOLVER.resolve(yaml.ScalarNode, event.value, (True, False)) if plain else event.tag or ""
    return _TAGS.get(tag.rpartition(":")[2], "string")


# TOML

_COMMENT = re.compile(r"[ \t]*+#[^\n]*+")
_BLANK = re.compile(r"(?:[ \t\n]++|#[^\n]*+)*+")
_NAME = r"""(?:"(?:[^"\\\n]++|\\[^\n])*+"|'[^'\n]*+'|[^\s"'\[\]{}=#,.]++)"""
_PATH = rf"({_NAME}(?:[ \t]*+\.[ \t]*+{_NAME})*+)[ \t]*+"
_HEADER = re.compile(rf"\[\[?[ \t]*+{_PATH}\]\]?[ \t]*+(?=#|\n|\Z)")
_ASSIGNMENT = re.compile(rf"{_PATH}=[ \t]*+")
_PIECE = re.compile(
    r'''"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\Z)|"(?:[^"\\\n]++|\\[^\n])*+"?'''
    r"""|'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)|'[^'\n]*+'?|#[^\n]*+|[\[\]{}\n]|[^"'#\[\]{}\n]++""",
    re.DOTALL,
)
_DATE = re.compile(r"[0-9]{4}-|[0-9]{2}:")
_LARGEST_CHECKED = 5_000_000
_MOST_DOTS = 100
"""Dots on a line of a TOML file that is checked: tomllib takes the square of a key's length in time."""


def _toml_problems(text: str) -> list[str]:
    if len(text) > _LARGEST_CHECKED or any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        return ["It was not checked to be valid TOML: it is too large, or it has a very long key."]
    try:
        tomllib.loads(text)
    except RecursionError:
        return ["It is no valid TOML: it is nested too deeply."]
    except ValueError as error:
        return [f"It is no valid TOML: {storable(str(error), ' ')}."]
    return []


def _read_toml(text: str, entries: _Entries) -> None:
    """Find the tables, and the keys before them. Lines that make no sense belong to the table that they stand in."""
    table: tuple[str, int] | None = None
    end = place = 0
    while (place := _after(_BLANK, text, place)) < len(text):
        start = place
        if header := _HEADER.match(text, place):
            if table:
                entries.add_commented(table[0], "object", table[1], end)
            table, place = (header[1], start), header.end()
        elif assignment := _ASSIGNMENT.match(text, place):
            place = _value_end(text, assignment.end())
            if not table:
                entries.add_commented(assignment[1], _toml_type(text, assignment.end()), start, place)
        else:
            line_end = text.find("\n", place)
            place = line_end if line_end >= 0 else len(text)
        end = place
    if table:
        entries.add_commented(table[0], "object", table[1], end)


def _value_end(text: str, place: int) -> int:
    """Where a value ends: with its line, unless brackets are open."""
    depth, end = 0, place
    while match := _PIECE.match(text, place):
        sign = match[0][0]
        depth += (sign in "[{") - (sign in "]}")
        if sign == "\n" and depth <= 0:
            break
        place = match.end()
        end = place if sign not in "#\n" else end
    return max(end, place) if depth > 0 else end


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match else place


def _toml_type(text: str, place: int) -> str:
    kinds = {'"': "string", "'": "string", "[": "array", "{": "object", "t": "boolean", "f": "boolean"}
    return "date" if _DATE.match(text, place) else kinds.get(text[place : place + 1], "number")
