"""Lines whose kind is decided by their beginning: the items of lists, and the parts of tables."""

from __future__ import annotations

import re

from detent.wikitext.marks import BREAK, INDENT, SECTION
from detent.wikitext.rows import Rows

_ENDS = re.compile(r"(?:\|\}[ \t]*+)+")
_MOST_INDENTED = 10
_SPECIAL = frozenset("*#:;-{|!" + SECTION)
_LISTED = frozenset("*#:;")
_BLANK = f" \t\u00a0{BREAK}"
_TABLE = re.compile(r":*[ \t]*\{\|")
_ROW = re.compile(r"\|-++[ \t]*+(?:[A-Za-z-]++[ \t]*+=|\Z)")
"""A row with nothing but attributes. Other lines that begin the same way are text, if no table is open."""


def arranged(text: str) -> str:
    """Arrange the lines of a text for readers: one line per table row, a dash before list items, and at most one
    empty line in a row."""
    lines = _Lines(Rows(len(text)))
    for line in text.split("\n"):
        lines.read(line.strip(_BLANK))
    lines.end_row()
    return "\n".join(lines.written)


class _Lines:
    """The lines read so far. Within a table, the current row is kept apart until it ends."""

    def __init__(self, rows: Rows) -> None:
        self.written: list[str] = []
        self._tables = 0
        self._headless = False
        """The outermost table was begun by a template that shows nothing, so its end is unknown."""
        self._rows = rows

    def read(self, line: str) -> None:
        if not line:
            if self._tables == 1 and self._headless:
                self._end_tables(1)
            if not self._tables and self.written and self.written[-1]:
                self.written.append("")
        elif line[0] in _SPECIAL:
            self._read_special(line)
        elif self._tables:
            self._rows.go_on(line)
        else:
            self.written.append(line)

    def end_row(self) -> None:
        if row := self._rows.end():
            self.written.append(row)

    def _end_tables(self, many: int) -> None:
        self.end_row()
        self._rows.begin_table()
        self._tables = max(0, self._tables - many)
        self._headless = self._headless and self._tables > 0

    def _read_special(self, line: str) -> None:
        if "{|" in line and _TABLE.match(line):
            self.end_row()
            self._rows.begin_table()
            self._tables += 1
        elif line[0] == SECTION:
            self.end_row()
            self.written.append(line.replace(BREAK, " "))
        elif self._tables:
            self._read_table(line)
        elif line[0] in _LISTED:
            if line := _item(line):
                self.written.append(line)
        elif line[0] == "|" and _ROW.match(line):
            self._tables, self._headless = 1, True
        elif line := _unruled(line):
            self.written.append(line)

    def _read_table(self, line: str) -> None:
        if ends := _ENDS.match(line):
            self._end_tables(ends[0].count("|}"))
            if after := line[ends.end() :]:
                self.read(after)
        elif line.startswith(("|-", "|+")):
            self.end_row()
            if line[1] == "+":
                self.written.append(_content(line[2:]).replace(BREAK, " "))
        elif line[0] in "|!":
            cells = line[1:].replace("!!", "||") if line[0] == "!" else line[1:]
            for cell in cells.split("||"):
                self._rows.cell(cell)
        else:
            self._rows.go_on(line.lstrip("*#:; "), item=line[0] in "*#")


def _content(cell: str) -> str:
    """Return the content of a cell or caption, without the attributes before it."""
    before, pipe, after = cell.partition("|")
    return (after if pipe else before).strip()


def _item(line: str) -> str:
    """Format an item of a list, indented once per mark. Definitions and lines that are only indented are ordinary
    lines."""
    listed = line.lstrip("*#:;")
    marks = len(line) - len(listed)
    words = listed.lstrip(_BLANK)
    if not words or line[marks - 1] not in "*#":
        return words
    return f"{INDENT * min(marks - 1, _MOST_INDENTED)}- {words}"


def _unruled(line: str) -> str:
    """Return a line without the ruler at its beginning, if it has one."""
    return line.lstrip("-").lstrip() if line.startswith("----") else line
