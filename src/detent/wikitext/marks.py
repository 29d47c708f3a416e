"""Placeholder characters used while a page is read.

No text contains them: the input is cleaned of them first, and none is left in the output.
"""

from __future__ import annotations

import re

SECTION = "\0"
"""Begins a line that is a section's title or the name of an infobox parameter."""

KEPT, KEPT_END = "\1", "\2"
"""Around the number of something that was set aside."""

NOTHING = "\3"
"""Something invisible that still separates the text before it from the text after it."""

BREAK = "\4"
"""A line end that begins no line of the wikitext."""

PIPE = "\5"
"""A pipe that separates no arguments of a template."""

INDENT = "\6"
"""One level of a list, which is not collapsed like spaces."""

GONE = "\7"
"""A template that shows nothing."""

EQUALS = "\x08"
"""An equals sign that separates no template argument from its name."""

_ALL = (SECTION, KEPT, KEPT_END, NOTHING, BREAK, PIPE, INDENT, GONE, EQUALS)
_ANY = re.compile("[\0-\x08\ud800-\udfff]")


def cleaned(text: str) -> str:
    """Return a text without these characters, without lone surrogates, and with one kind of line end."""
    if _is_marked(text):
        text = _ANY.sub("\ufffd", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def undivided(text: str) -> str:
    """Return a text whose protected pipes and equals signs are ordinary ones again."""
    return text.replace(PIPE, "|").replace(EQUALS, "=")


def _is_marked(text: str) -> bool:
    """True if the text has any of these characters. One search per character is many times faster than one for all."""
    if any(mark in text for mark in _ALL):
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
