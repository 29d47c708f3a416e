"""Long text cut into pieces that a model can take, at the borders a reader would choose.

A piece ends in its second half: at a blank line if there is one, else at the end of a line, of a sentence, of a
word, or anywhere. Among borders of one kind the text after the border decides, not its position: soon after an
edit the same borders are chosen again, and the pieces behind them stay unchanged.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator
from typing import NamedTuple

_LOOKED_AT = 60
"""Number of characters after a border that decide its rank."""

_SOLID = re.compile(r"\S")
_HEADING = re.compile(r"[#=]|[^\W_][^\n]{0,58}[^\s.,;:!?](?:\n|\Z)")
_BLANK_LINE = re.compile(r"\n(?:[^\S\n]*\n)+")
_LINE_END = re.compile(r"\n")
_SENTENCE_END = re.compile(r"[.!?…][\"'”\u2019»)\]]*\s+|[。\uff01\uff1f]")
_SPACE = re.compile(r"\s+")
_BORDERS = (_BLANK_LINE, _LINE_END, _SENTENCE_END, _SPACE)
_JOINERS = frozenset("\u200c\u200d")


class Piece(NamedTuple):
    """A piece of a text without surrounding blank lines, and its first and last line."""

    text: str
    first: int
    last: int


def split(text: str, size: int, *, first_line: int = 1) -> list[Piece]:
    """Cut a text into pieces of at most `size` characters. Together, in order, they contain everything but space
    at the cuts."""
    if size < 1:
        raise ValueError(f"The size of a piece must be at least 1 character, not {size}.")
    return list(_pieces(text.rstrip(), size, first_line))


def _pieces(text: str, size: int, line: int) -> Iterator[Piece]:
    counted = end = 0
    while (start := _start(text, end, size)) is not None:
        end = len(text) if len(text) - start <= size else _cut(text, start, size)
        piece = text[start:end].rstrip()
        line += text.count("\n", counted, start)
        counted = start
        if piece:
            yield Piece(piece, line, line + piece.count("\n"))


def _start(text: str, at: int, size: int) -> int | None:
    """Return the start of the next piece: the first line that is not blank, including its indentation."""
    solid = _SOLID.search(text, at)
    if solid is None:
        return None
    start = text.rfind("\n", max(at - 1, 0), solid.start()) + 1
    if (start < at and at > 0) or solid.start() - start > size // 2:
        return solid.start()
    return start


def _cut(text: str, start: int, size: int) -> int:
    """Return the end of the piece that begins here, where the rest is longer than a piece. Near the end, the rest
    is divided evenly."""
    low, high = start + max(size // 2, 1), start + size
    third, left = size // 3, len(text) - start
    if third and left < size + third:
        low, high = start + third, start + left - third
    for number, pattern in enumerate(_BORDERS):
        ends = (match.end() for match in pattern.finditer(text, low, high + 2))
        borders = [end for end in ends if (end <= high or text[high:end].isspace()) and not _joined(text, end)]
        if borders:
            return min(borders, key=lambda end: _rank(text, end, whole_lines=number < 2))
    return _anywhere(text, low, high)


def _rank(text: str, border: int, *, whole_lines: bool) -> tuple[int, bool, int, int]:
    """Rank a border; the best sorts first: before a line with little indentation that looks like a heading. Ties
    are broken by the words after the border."""
    following = text[border : border + _LOOKED_AT]
    shown = following.lstrip(" \t")
    chance = zlib.crc32(shown.partition("\n")[0].encode("utf-8", "surrogatepass"))
    if not whole_lines:
        return 0, False, chance, -border
    return len(following) - len(shown), not _HEADING.match(text, border), chance, -border


def _anywhere(text: str, low: int, high: int) -> int:
    """Return the last place that splits no visible character; if there is none, the last that splits no surrogate
    pair."""
    for place in range(high, low - 1, -1):
        if not _joined(text, place):
            return place
    return high - 1 if _is_pair(text, high) and high - 1 > low else high


def _joined(text: str, place: int) -> bool:
    """True if the characters before and after this place belong together."""
    if not 0 < place < len(text):
        return False
    after = text[place]
    if after.isascii() and text[place - 1].isascii():
        return False
    return (
        unicodedata.category(after).startswith("M")
        or after in _JOINERS
        or text[place - 1] in _JOINERS
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or _is_pair(text, place)
    )


def _is_pair(text: str, place: int) -> bool:
    return "\ud800" <= text[place - 1] <= "\udbff" and "\udc00" <= text[place] <= "\udfff"
