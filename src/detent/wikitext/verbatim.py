"""Comments, and tags whose content is not wikitext: code, formulas, music.

They are taken out first, because nothing in them is markup and no markup reaches into them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable

from detent.wikitext.marks import BREAK, KEPT, KEPT_END, NOTHING

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_REST_OF_LINE = re.compile(r"[ \t]*\n")
_NOWIKI = re.compile(r"<nowiki>((?:[^<]++|<(?!/nowiki>))*+)(</nowiki>|\Z)", re.IGNORECASE)
"""An unclosed tag reaches to the end of the text, so that the search for its end runs once."""


def decoded(text: str) -> str:
    """Return a text with its entities as characters. An entity without a semicolon is text."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    return html.unescape(entity[0])


def _block(content: str) -> str:
    return f"\n{content.strip(chr(10))}\n"


def _preformatted(content: str) -> str:
    """Return the lines of a block without markup, even where the block repeats that it has none."""
    if "<" in content:
        content = _NOWIKI.sub(lambda nowiki: nowiki[1] if nowiki[2] else nowiki[0], content)
    return decoded(_block(content))


def _left_out(content: str) -> str:
    return ""


_INCLUDED, _NOT_INCLUDED = "includeonly", "noinclude"

_SHOWN: dict[str, Callable[[str], str]] = {
    "nowiki": decoded,
    "pre": _preformatted,
    **dict.fromkeys(("source", "syntaxhighlight"), _block),
    **dict.fromkeys(("math", "chem", "ce"), str.strip),
    **dict.fromkeys(("categorytree", "dynamicpagelist", "gallery", "graph", "hiero", "imagemap", _INCLUDED), _left_out),
    **dict.fromkeys(("inputbox", "mapframe", "maplink", "score", "section", "templatedata", "timeline"), _left_out),
    **dict.fromkeys(("templatestyles", _NOT_INCLUDED), _left_out),
}
"""The tags, and the visible part of their content."""


def _openings(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"<(?:!--|((?i:{'|'.join(names)}))(?=[\s/>])([^<>]*)>)")


_OPENING = _openings(name for name in _SHOWN if name != _NOT_INCLUDED)
_OPENING_IN_TEMPLATE = _openings(name for name in _SHOWN if name != _INCLUDED)
_CLOSINGS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _SHOWN}


def set_aside(text: str, *, template: bool = False) -> tuple[str, list[str]]:
    """Return the text without comments and with a placeholder for each of these tags, and the output for each
    placeholder.

    `template`: the text is a template, read as part of the pages that use it.
    """
    opening = _OPENING_IN_TEMPLATE if template else _OPENING
    found = opening.search(text)
    if found is None:
        return text, []
    taken = _Taken(text)
    while found is not None:
        if found[1] is None:
            taken.comment(found)
        else:
            taken.tag(found, found[1].lower())
        found = opening.search(text, taken.end)
    return taken.rest(), taken.shown


class _Taken:
    """The output up to position `end`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces: list[str] = []
        self._unclosed: set[str] = set()
        """Tags with no closing tag further on: searching again from each of them would take too long."""
        self._blank = True
        """Only comments and spaces on the line so far."""
        self.shown: list[str] = []
        self.end = 0

    def rest(self) -> str:
        self._pieces.append(self._text[self.end :])
        return "".join(self._pieces)

    def comment(self, found: re.Match[str]) -> None:
        """Leave out a comment, with its line if nothing else is on it. An unclosed comment reaches to the end."""
        text, start = self._text, found.start()
        before = text[start - 1 : start] or "\n"
        closing = text.find("-->", found.end())
        end = len(text) if closing < 0 else closing + 3
        self._take(start)
        line = _REST_OF_LINE.match(text, end) if self._blank else None
        if line is not None:
            end = line.end()
        elif (after := text[end : end + 1]) and after in "={" and before in ("\n", after):
            self._pieces.append(NOTHING)
        self.end = end

    def tag(self, found: re.Match[str], name: str) -> None:
        """Set aside the content of a tag. An unclosed tag is text, except one that hides its content from other
        pages: that reaches to the end."""
        end = found.end()
        if found[2].endswith("/"):
            self._take(found.start())
            self._pieces.append(NOTHING)
        elif name in self._unclosed or (closing := _CLOSINGS[name].search(self._text, end)) is None:
            self._unclosed.add(name)
            self._take(found.start() if name == _NOT_INCLUDED else end)
            end = len(self._text) if name == _NOT_INCLUDED else end
        else:
            self._take(found.start())
            self._pieces.append(f"{KEPT}{len(self.shown)}{KEPT_END}")
            self.shown.append(_SHOWN[name](self._text[end : closing.start()]).replace("\n", BREAK))
            end = closing.end()
        self._blank = False
        self.end = end

    def _take(self, end: int) -> None:
        piece = self._text[self.end : end]
        self._pieces.append(piece)
        _, line, tail = piece.rpartition("\n")
        self._blank = (self._blank or bool(line)) and not tail.strip(" \t")
