"""The comments and attributes above a scope, and the text of the comments."""

from __future__ import annotations

import inspect
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from detent.documents.code.language import Language
from detent.documents.source_text import SourceText

_WIDEST = 400
"""Columns from the left where a comment above a scope may begin."""

_BLOCK_START, _BLOCK_END = re.compile(r"^/\*[*!]*"), re.compile(r"\**\*/$")
_STAR = re.compile(r"^\s*\*(?!/)")
_RULE = re.compile(r"^=(?:begin|end)\b.*$", re.MULTILINE)
_NO_DOCUMENTATION = re.compile(r"copyright|licen[cs]e|spdx|frozen_string_literal|eslint|-\*-|vim:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Above:
    node: Node
    line: int
    column: int
    comment: bool


class Comments:
    """The comments and attributes of a file that have their lines for themselves."""

    def __init__(
        self, source: SourceText, language: Language, comments: Sequence[Node], attributes: Sequence[Node]
    ) -> None:
        self._source, self._language = source, language
        self._comments = comments
        self._starts = [node.start_byte for node in comments]
        self._by_last_line: dict[int, _Above] = {}
        for nodes, comment in ((comments, True), (attributes, False)):
            for node in nodes:
                self._add(node, comment)

    def above(self, start: int) -> tuple[int | None, str]:
        """The beginning of the comments and attributes above a scope that begins at this place, None if there are
        none, and the text of the comments. They stand as far from the left as the scope, without a blank line
        between."""
        line, column = self._source.line(start), self._source.column(start)
        found: list[_Above] = []
        while (above := self._by_last_line.get(line - 1)) is not None and above.column == column:
            found.append(above)
            line = above.line
        said = self._said(self._source.text(above.node) for above in reversed(found) if above.comment)
        return found[-1].node.start_byte if found else None, said

    def between(self, start: int, end: int) -> list[tuple[int, int]]:
        """From where to where the comments reach that begin between two places."""
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        return [(node.start_byte, node.end_byte) for node in self._comments[first:last]]

    def at_the_top(self, end: int) -> str:
        """The text of the first comments before `end` that describe the file. A licence does not describe it."""
        place, block = 0, list[str]()
        for node in self._comments:
            between = self._source.data[place : node.start_byte]
            if node.start_byte >= end or between.strip():
                break
            if between.count(b"\n") > 1:
                if said := self._on_the_file(block):
                    return said
                block = []
            comment = self._source.text(node).rstrip()
            block.append(comment)
            place = node.start_byte + len(comment.encode())
        return self._on_the_file(block)

    def _add(self, node: Node, comment: bool) -> None:
        start = node.start_byte
        line, column = self._source.line(start), self._source.column(start)
        if line == 1 and self._source.data.startswith(b"#!"):
            return
        if column <= _WIDEST and not self._source.data[start - column : start].strip():
            last = self._source.last_line(start, node.end_byte)
            self._by_last_line[last] = _Above(node, line, column, comment)

    def _on_the_file(self, block: list[str]) -> str:
        text = self._said(comment for comment in block if not comment.startswith("#!"))
        return "" if _NO_DOCUMENTATION.search(text) else text

    def _said(self, comments: Iterable[str]) -> str:
        """The text of comments, without the signs that make them comments."""
        return inspect.cleandoc("\n".join(map(self._plain, comments))).strip()

    def _plain(self, comment: str) -> str:
        comment = comment.strip()
        if comment.startswith("/*"):
            lines = _BLOCK_END.sub("", _BLOCK_START.sub("", comment)).splitlines()
            return "\n".join(_STAR.sub("", line) for line in lines)
        if comment.startswith("="):
            return _RULE.sub("", comment)
        return self._language.line_comment.sub("", comment)
