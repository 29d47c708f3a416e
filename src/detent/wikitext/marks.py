"""Characters that stand for something while a page is read. No text has them: what is given is cleaned of them first,
and none is left in what comes out."""

from __future__ import annotations

import re

SECTION = "\0"
"""Begins a line that is the title of a section or the name of a parameter of the infobox."""

KEPT, KEPT_END = "\1", "\2"
"""Around the number of something that was set aside."""

NOTHING = "\3"
"""Something that is not seen, but keeps what stands before it and after it apart."""

BREAK = "\4"
"""The end of a line that begins none in the wikitext."""

PIPE = "\5"
"""A pipe that divides no arguments of a template."""

INDENT = "\6"
"""A level of a list, which is not taken for spaces too many."""

GONE = "\7"
"""A template that shows nothing."""

EQUALS = "\x08"
"""An equals sign that divides no argument of a template from its name."""

_ALL = (SECTION, KEPT, KEPT_END, NOTHING, BREAK, PIPE, INDENT, GONE, EQUALS)
_ANY = re.compile("[\0-\x08\ud800-\udfff]")


def cleaned(text: str) -> str:
    """A text without these characters, without halves of characters, and with one kind of line end."""
    if _is_marked(text):
        text = _ANY.sub("\ufffd", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def undivided(text: str) -> str:
    """A text with the signs that divide no arguments of a template as what they are."""
    return text.replace(PIPE, "|").replace(EQUALS, "=")


def _is_marked(text: str) -> bool:
    """Whether it has any of them. Looking for each is many times faster than looking for all of them at once."""
    if any(mark in text for mark in _ALL):
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
