"""The place in a text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Sequence

from detent.knowledge.query import Query
from detent.store import arrays
from detent.store.database import Database

MOST = 50
"""How many items' snippets are made at once."""

WINDOW = 20_000
REACH = 1_000_000
"""Characters of a text of which the snippet is made; and how far into a long text that place is looked for."""

SHORT = 200
"""Characters of a text's beginning that are shown where nothing of it matches."""

_MARKS = "\ue000\ue001"
"""Characters that no text has; the caller's own marks take their place when the snippet is made."""

_OPTIONS = (
    f'StartSel="{_MARKS[0]}", StopSel="{_MARKS[1]}", MaxFragments=2, MaxWords=24, MinWords=8, FragmentDelimiter=" … "'
)
_CHARACTERS = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_OF_CHARACTERS = ", ShortWord=0, MaxWords=60, MinWords=20"
"""Where a character is a word, more of them are shown, however short they are."""


async def snippets(
    database: Database, items: Sequence[int], query: Query, *, start: str = "", stop: str = ""
) -> dict[int, str]:
    """A short piece of each item's text, what was looked for between `start` and `stop`; or the text's beginning."""
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
    """The text's beginning, up to the end of a word if there is one near."""
    if len(text) <= SHORT:
        return text
    cut = text[:SHORT]
    head, space, _ = cut.rpartition(" ")
    return f"{head if space and len(head) > SHORT // 2 else cut} …"
