"""The passage of a text that shows why the text was found."""

from __future__ import annotations

import re
from collections.abc import Sequence

from detent.knowledge.query import Query
from detent.store import arrays
from detent.store.database import Database

MOST = 50
"""Largest number of items whose snippets are made at once."""

WINDOW = 20_000
REACH = 1_000_000
"""Number of characters of a text that are used for a snippet, and the range in a long text that is searched for it."""

SHORT = 200
"""Characters from a text's beginning that are shown if nothing in it matches."""

_MARKS = "\ue000\ue001"
"""Characters that no text contains; the caller's own marks replace them in the snippet."""

_OPTIONS = (
    f'StartSel="{_MARKS[0]}", StopSel="{_MARKS[1]}", MaxFragments=2, MaxWords=24, MinWords=8, FragmentDelimiter=" … "'
)
_CHARACTERS = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_OF_CHARACTERS = ", ShortWord=0, MaxWords=60, MinWords=20"
"""In languages where a character is a word, more words are shown, however short they are."""


async def snippets(
    database: Database, items: Sequence[int], query: Query, *, start: str = "", stop: str = ""
) -> dict[int, str]:
    """Return a short piece of each item's text, with matches between `start` and `stop`; without a match, the
    text's beginning."""
    wanted = {
        "items": arrays.integers(items[:MOST]),
        "wanted": " or ".join(f'"{text}"' for text in query.sought),
        "words": arrays.texts(word.lower() for text in query.sought for word in text.split()),
        "marks": _MARKS,
        "options": _OPTIONS + _OF_CHARACTERS * any(map(_CHARACTERS.search, query.sought)),
        "window": WINDOW,
        "reach": REACH,
    }
    rows = await database.fetch("text_snippets", wanted)
    return {row.item_id: _snippet(row.snippet, row.beginning, start, stop) for row in rows}


def _snippet(marked: str, beginning: str, start: str, stop: str) -> str:
    if _MARKS[0] not in marked:
        return _shortened(" ".join(beginning.split()))
    together = " ".join(marked.split()).replace(_MARKS[1] + _MARKS[0], "")
    return together.replace(_MARKS[0], start).replace(_MARKS[1], stop)


def _shortened(text: str) -> str:
    """Return the text's beginning, cut at the end of a word if one is near."""
    if len(text) <= SHORT:
        return text
    cut = text[:SHORT]
    head, space, _ = cut.rpartition(" ")
    return f"{head if space and len(head) > SHORT // 2 else cut} …"
