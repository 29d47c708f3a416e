"""Arrays in PostgreSQL's text form.

Adding and settling send thousands of values at a time, and the driver's own conversion of a list looks at each
value several times; these functions write the same text in one pass, or two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def integers(values: Iterable[int | None]) -> str:
    return "{" + ",".join(map(str, values)).replace("None", "NULL") + "}"


def texts(values: Iterable[str | None]) -> str:
    listed = list(values)
    return _plain(listed) or "{" + ",".join("NULL" if each is None else _quoted(each) for each in listed) + "}"


def _plain(values: list[str | None]) -> str | None:
    """Return the array if nothing in it needs escaping: most are like this, and this way is five times as fast."""
    try:
        joined = '","'.join(values)  # type: ignore[arg-type]  # one that is none is the exception
    except TypeError:
        return None
    if not values or "\\" in joined or joined.count('"') != 2 * (len(values) - 1):
        return None
    return '{"' + joined + '"}'


def documents(values: Iterable[Mapping[str, Any]]) -> str:
    """Return an array of JSON documents, most of which are empty, or equal to the one before."""
    written: list[str] = []
    before = None
    for value in values:
        if value is not before:
            before, text = value, _quoted(json.dumps(dict(value))) if value else '"{}"'
        written.append(text)
    return "{" + ",".join(written) + "}"


def _quoted(value: str) -> str:
    if "\\" in value or '"' in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'
