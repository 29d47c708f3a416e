"""Text that a page hides by its style: sort keys, notes for editors, data for programs."""

from __future__ import annotations

import re

from detent.wikitext.marks import NOTHING, SECTION

_NAMES = "span|div|p|small|table|tr|td|th|ul|ol|li|dl|dd|sup|sub|b|i|em|strong|abbr|cite|font|center|blockquote"
_TAG = re.compile(rf"<(/?)({_NAMES})(?![\w-])([^<>{SECTION}]*+)>", re.IGNORECASE)
_STYLE = re.compile(r"\bdisplay\s*+:\s*+none\b", re.IGNORECASE)


def hides(attributes: str) -> bool:
    return _STYLE.search(attributes) is not None


def without_hidden(text: str) -> str:
    """Return a text without hidden elements and their content.

    An element that is never closed, or that contains a heading, hides nothing.
    """
    lower = text.lower()
    if "none" not in lower or "display" not in lower:
        return text
    pieces: list[str] = []
    seen = begun = depth = 0
    name = ""
    for tag in _TAG.finditer(text):
        if not depth:
            if not tag[1] and not tag[3].endswith("/") and hides(tag[3]):
                name, begun, depth = tag[2].lower(), tag.start(), 1
        elif tag[2].lower() == name and not tag[3].endswith("/"):
            depth += -1 if tag[1] else 1
            if not depth and SECTION not in text[begun : tag.end()]:
                pieces += text[seen:begun], NOTHING
                seen = tag.end()
    return "".join([*pieces, text[seen:]])
