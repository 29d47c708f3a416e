"""The outline of a document: its sections, collected from beginning to end."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from detent.documents.keys import anchor
from detent.documents.parsed import Link, Parsed, Part
from detent.knowledge.keys import Unique

LONGEST_KEY = 800
"""Bytes of a section's key; of a longer one the path is shortened to a number."""

LONGEST_TARGET = 2000
"""Characters of a link's target. Longer ones are data, not places."""

_LONGEST_SYMBOL = 200
_SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*")
_NO_PLACE = ("data:", "javascript:", "vbscript:")


def symbol(code: str) -> str:
    """The name of a symbol, if these words in code style are one: `Client.connect()` is `Client.connect`; '' if not."""
    name = code.strip().removesuffix("()")
    if 3 <= len(name) <= _LONGEST_SYMBOL and _SYMBOL.fullmatch(name):
        return name
    return ""


@dataclass
class _Section:
    key: str = ""
    title: str = ""
    level: int = 0
    first: int = 1
    last: int = 0
    parent: str = ""
    pieces: list[str] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Outline:
    """The sections of a document, collected from its beginning to its end.

    What is written or linked belongs to the section that was opened last; before the first one, to the document itself.
    Where there are no lines, their places are counted otherwise: by paragraphs, or cells.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._keys = Unique()
        self._document = _Section()
        self._sections: list[_Section] = []
        self._open = [self._document]
        self._links: list[Link] = []

    @property
    def properties(self) -> dict[str, Any]:
        """Those of the section that was opened last, to be changed."""
        return self._open[-1].properties

    def open(self, level: int, title: str, line: int) -> None:
        """Begin a section. It ends those of its own level and below. Its key is the anchor that links have for it; of
        sections whose headings are alike, that is the first one's, and the others say in which section they are."""
        while self._open[-1].level >= level:
            ended = self._open.pop()
            ended.last = max(ended.first, line - 1)
        parent = self._open[-1]
        own = anchor(title)
        key = self._keys.key(own, _path(parent.key, own) if parent.key else "")
        section = _Section(key, title, level, line, 0, parent.key, properties={"level": level})
        self._sections.append(section)
        self._open.append(section)

    def write(self, block: str, *, tight: bool = False) -> None:
        """Add a paragraph or the like. A tight one, as in a list, stands right under the one before."""
        if not block or block.isspace():
            return
        pieces = self._open[-1].pieces
        if pieces:
            pieces.append("\n" if tight else "\n\n")
        pieces.append(block)

    def link(self, kind: str, target: str, line: int) -> None:
        """Note a link or an image, if its target is a place; or words in code style, if they name a symbol."""
        target = symbol(target) if kind == "code" else target.strip()
        if 0 < len(target) <= LONGEST_TARGET and not target.lower().startswith(_NO_PLACE):
            self._links.append(Link(kind, target, self._open[-1].key, line))

    def add_language(self, language: str) -> None:
        """Note that the section has code in a language."""
        languages = self.properties.setdefault("languages", [])
        if language.lower() not in languages:
            languages.append(language.lower())

    def add_table(self) -> None:
        """Note that the section has one more table."""
        self.properties["tables"] = self.properties.get("tables", 0) + 1

    def parsed(
        self, kind: str, last: int, *, title: str = "", properties: Mapping[str, Any], problems: Sequence[str] = ()
    ) -> Parsed:
        """End the document at its last line. Without a title of its own it has that of the first section of level 1."""
        for section in self._open:
            section.last = max(section.first, last)
        if not title:
            title = next((section.title for section in self._sections if section.level == 1), "")
        parts = [
            Part(self._label, each.key, each.title, each.text, each.first, each.last, each.parent, each.properties)
            for each in self._sections
        ]
        return Parsed(kind, title, self._document.text, properties, parts, links=self._links, problems=problems)


def _path(above: str, own: str) -> str:
    """The key of a section under another: long headings in deep sections would make one that no index takes."""
    path = f"{above}/{own}"
    if len(path) <= LONGEST_KEY // 4 or len(path.encode()) <= LONGEST_KEY:
        return path
    return f"{hashlib.sha256(path.encode()).hexdigest()[:16]}/{own}"
