"""Arrays as PostgreSQL reads them. Adding and settling send thousands of values at a time, and the driver's own way
of writing a list looks at each value several times; these write the same text in one pass, or two."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def integers(values: Iterable[int | None]) -> str:
    return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"


def texts(values: Iterable[str | None]) -> str:
    return "{" + ",".join("NULL" if value is None else _quoted(value) for value in values) + "}"


def documents(values: Iterable[Mapping[str, Any]]) -> str:
    """JSON documents, most of which say nothing."""
    return "{" + ",".join(_quoted(json.dumps(dict(value))) if value else '"{}"' for value in values) + "}"


def _quoted(value: str) -> str:
    if "\\" in value or '"' in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'
