"""Plain text and logs, which have no parts; and how any file of text is read."""

from __future__ import annotations

import re

from detent.documents.decoding import decode, is_binary
from detent.documents.parsed import Parsed, Unparsable

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def parse(data: bytes, name: str) -> Parsed:
    """A text as it is, but for the colours of a terminal."""
    text, problems = read(data)
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    return Parsed("text", text=text, problems=problems)


def read(data: bytes) -> tuple[str, list[str]]:
    """The text of a file, with sentences on what of it could not be read."""
    if is_binary(data):
        raise Unparsable("The file holds no text.")
    decoded = decode(data)
    if decoded.faulty:
        return decoded.text, [f"Some bytes are no {decoded.encoding.upper()} text; � stands for each of them."]
    return decoded.text, []
