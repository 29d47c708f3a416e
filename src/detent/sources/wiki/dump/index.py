"""The index of a multistream dump: a line `offset:id:title` for each page, a hundred of them per stream.

Titles are written as in the XML, with `&amp;` for `&`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from detent.sources.wiki.dump import unpacking
from detent.sources.wiki.dump.damage import DumpDamaged

_LONGEST_LINE = 65_536
_LINE = re.compile(rb"(\d{1,18}):(\d{1,18}):([^\n]+)\n")
_ENTITY = re.compile(rb"&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}));")
_SIGNS = {b"lt": b"<", b"gt": b">", b"amp": b"&", b"quot": b'"', b"apos": b"'"}
_MULTISTREAM = re.compile(r"(.*multistream)(\d*)\.xml(.*)\.bz2", re.DOTALL)


class Lines(NamedTuple):
    """Some lines: the offsets of the pages' streams in the dump, the pages' numbers, and their titles in UTF-8."""

    offsets: list[int]
    ids: list[int]
    titles: list[bytes]


def beside(dump: Path) -> Path | None:
    """Return the index beside a dump under its usual name, if there is one."""
    named = _MULTISTREAM.fullmatch(dump.name)
    if named is None:
        return None
    stem = f"{named[1]}-index{named[2]}.txt{named[3]}"
    found = (dump.with_name(stem + ending) for ending in (".bz2", "", ".gz"))
    return next((index for index in found if index.is_file()), None)


def lines(path: Path) -> Iterator[Lines]:
    """Yield the lines of an index, some thousands at a time."""
    number, rest = 0, b""
    for piece in unpacking.pieces(path):
        block = rest + piece
        end = block.rfind(b"\n") + 1
        if len(block) - end > _LONGEST_LINE:
            raise _malformed(path, number)
        rest = block[end:]
        read = _lines(path, block[:end], number)
        number += len(read.titles)
        yield read
    if rest:
        yield _lines(path, rest + b"\n", number)


def _lines(path: Path, block: bytes, before: int) -> Lines:
    found = _LINE.findall(block)
    if len(found) != block.count(b"\n") or not _decodes(block):
        raise _malformed(path, before)
    if not found:
        return Lines([], [], [])
    offsets, ids, titles = zip(*found, strict=True)
    written = [_ENTITY.sub(_sign, title) for title in titles] if b"&" in block else list(titles)
    return Lines(list(map(int, offsets)), list(map(int, ids)), written)


def _sign(entity: re.Match[bytes]) -> bytes:
    if entity[1]:
        return _SIGNS[entity[1]]
    number = int(entity[2]) if entity[2] else int(entity[3], 16)
    return entity[0] if 0xD800 <= number < 0xE000 or number > 0x10FFFF else chr(number).encode()


def _decodes(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _malformed(path: Path, before: int) -> DumpDamaged:
    return DumpDamaged(path, f"line {before + 1:,} or soon after", "a line is not of the form offset:id:title")
