"""The text of a file, as the syntax tree counts in it: in bytes.

Lines are counted here, and not asked of the tree: the points of tree-sitter 0.26.0 free numbers that are still in use.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property

from tree_sitter import Node

_LINE_END = re.compile(rb"\n")


class SourceText:
    """`data` is UTF-8 with plain line ends. Lines are numbered from 1."""

    def __init__(self, text: str) -> None:
        self.data = text.encode(errors="replace")

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in _LINE_END.finditer(self.data)]

    def text(self, node: Node | None) -> str:
        """The text of a node; "" for None."""
        return "" if node is None else self.between(node.start_byte, node.end_byte)

    def path(self, node: Node | None) -> str:
        """The text of a node without white space: the parts of a path may stand on several lines."""
        return "".join(self.text(node).split())

    def between(self, start: int, end: int) -> str:
        return self.data[start:end].decode(errors="replace")

    def line(self, place: int) -> int:
        return bisect_left(self._line_ends, place) + 1

    def last_line(self, start: int, end: int) -> int:
        """The line where that ends which stands between two places. A line's end belongs to the line."""
        return self.line(max(start, min(end, len(self.data)) - 1))

    def column(self, place: int) -> int:
        """The number of bytes before a place in its line."""
        before = bisect_left(self._line_ends, place)
        return place - (self._line_ends[before - 1] + 1 if before else 0)
