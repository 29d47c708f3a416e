"""From bytes to text, whatever the bytes are."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_LOOKED_AT = 8192
_MOST_CONTROLS = 0.1
"""A file of whose beginning more than this part is control characters is no text."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\r\f\x1b"})


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text with plain line ends, and how it was written. `faulty`: some of it could not be read as that, and
    stands as `�`."""

    text: str
    encoding: str
    faulty: bool = False


def storable(text: str, instead: str = "\ufffd") -> str:
    """A text without what no database keeps: zeros, and halves of characters."""
    return _UNSTORABLE.sub(instead, text)


def is_binary(data: bytes) -> bool:
    """Tell whether these bytes are no text."""
    head = data[:_LOOKED_AT]
    if _marked(head) or _utf16_without_mark(head):
        return False
    return b"\0" in head or len(head.translate(None, _CONTROLS)) < (1 - _MOST_CONTROLS) * len(head)


def decode(data: bytes) -> Decoded:
    """The text of a file. Bytes that are no UTF-8 are taken for Western European ones, unless they are only a few."""
    marked = _marked(data)
    if marked is not None:
        mark, encoding = marked
        return _read(data[len(mark) :], encoding)
    if (unmarked := _utf16_without_mark(data[:_LOOKED_AT])) is not None:
        return _read(data, unmarked)
    found = _read(data, "utf-8")
    if found.faulty and found.text.count("\ufffd") > len(data) // 1000 + 1:
        return _read(data, "cp1252")
    return found


def _read(data: bytes, encoding: str) -> Decoded:
    try:
        text, faulty = data.decode(encoding), False
    except UnicodeDecodeError:
        text, faulty = data.decode(encoding, errors="replace"), True
    if "\0" in text:
        text, faulty = text.replace("\0", "\ufffd"), True
    return Decoded(text.replace("\r\n", "\n").replace("\r", "\n"), encoding, faulty)


def _marked(data: bytes) -> tuple[bytes, str] | None:
    return next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), None)


def _utf16_without_mark(head: bytes) -> str | None:
    """Text in a Latin script has a zero in nearly every second byte, and nowhere else."""
    half = len(head) // 2
    if half < 2:
        return None
    even, odd = head[0 : 2 * half : 2].count(0), head[1 : 2 * half : 2].count(0)
    if odd > 0.7 * half and even < 0.1 * half:
        return "utf-16-le"
    if even > 0.7 * half and odd < 0.1 * half:
        return "utf-16-be"
    return None
