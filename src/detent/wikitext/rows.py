"""Rows of a table, each of which becomes a line: its cells, with the cells that span into it from the rows above."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from detent.wikitext.hiding import hides
from detent.wikitext.marks import BREAK

_SPAN = re.compile(r"(row|col)span\s*+=\s*+[\"']?\s*+([0-9]{1,3})", re.IGNORECASE)
_WIDEST = 20
_LEAST_ROOM = 20_000
"""Least number of characters that spanning cells may repeat in all rows of a page, however short the page."""
_ENDING = tuple(".,;:!?")


class _Span(NamedTuple):
    """Number of rows and columns that a cell spans."""

    rows: int = 1
    columns: int = 1


class _Hanging(NamedTuple):
    """The text that spans a column, and the number of rows it still covers."""

    rows: int
    text: str


_ONE = _Span()


class Rows:
    """The current row, and the cells that span into it.

    A spanning cell is repeated in each row, up to about `length` characters in all, the length of the page, so
    that the output does not become many times as long.
    """

    def __init__(self, length: int) -> None:
        self._room = max(length, _LEAST_ROOM)
        self._cells: list[list[str]] = []
        self._spans: dict[int, _Span] = {}
        self._hanging: dict[int, _Hanging] = {}
        self._in_list = False

    def begin_table(self) -> None:
        self._hanging.clear()

    def cell(self, written: str) -> None:
        """Begin the next cell, which may have attributes before its content."""
        before, pipe, after = written.partition("|")
        if pipe and (found := _SPAN.findall(before)):
            self._spans[len(self._cells)] = _span(found)
        text = (after if pipe else before).strip()
        self._cells.append(["" if pipe and hides(before) else text])
        self._in_list = False

    def go_on(self, line: str, *, item: bool = False) -> None:
        """Append a line to the last cell, or a list item in it."""
        if not self._cells:
            self._cells.append([])
        pieces = self._cells[-1]
        if item and self._in_list and pieces[-1] and not pieces[-1].endswith(_ENDING):
            pieces[-1] += ";"
        pieces.append(line)
        self._in_list = item

    def end(self) -> str:
        """Return the row as a line, in which an empty cell keeps its place; '' if all cells are empty."""
        texts = [" ".join(filter(None, pieces)) for pieces in self._cells]
        if texts and (self._spans or self._hanging):
            texts = self._in_columns(texts)
        self._cells.clear()
        self._spans.clear()
        self._in_list = False
        line = " | ".join(texts).replace(BREAK, " ")
        return line.strip() if line.strip(" |") else ""

    def _in_columns(self, texts: Sequence[str]) -> list[str]:
        hanging, self._hanging = self._hanging, {}
        columns: list[str] = []
        filled = 0
        for number, text in enumerate(texts):
            self._let_hang(hanging, columns)
            span = self._spans.get(number, _ONE)
            for place in range(span.columns):
                self._hang(len(columns) + place, _Hanging(span.rows - 1, "" if place else text))
            columns += [text, *[""] * (span.columns - 1)]
            filled = len(columns) - span.columns + 1
        if self._let_hang(hanging, columns):
            filled = len(columns)
        for column, found in hanging.items():  # the row ends before them
            self._hang(column, _Hanging(found.rows - 1, found.text))
        return columns[:filled]

    def _let_hang(self, hanging: dict[int, _Hanging], columns: list[str]) -> bool:
        """Write the cells that span into the next columns; return True if there are any."""
        before = len(columns)
        while (found := hanging.pop(len(columns), None)) is not None:
            self._hang(len(columns), _Hanging(found.rows - 1, found.text))
            columns.append(found.text)
        return len(columns) > before

    def _hang(self, column: int, what: _Hanging) -> None:
        if what.rows > 0 and self._room > 0:
            self._room -= len(what.text) + 1
            self._hanging[column] = what


def _span(found: Sequence[tuple[str, str]]) -> _Span:
    sizes = {name.lower(): max(1, int(number)) for name, number in found}
    return _Span(sizes.get("row", 1), min(sizes.get("col", 1), _WIDEST))
