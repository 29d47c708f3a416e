"""Arrays as PostgreSQL reads them. Adding and settling send thousands of values at a time, and the driver's own way
of writing a list looks at each value several times; these write the same text in one pass, or two."""

from __future__ import annotations

from collections.abc import Iterable


def integers(values: Iterable[int]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def texts(values: Iterable[str | None]) -> str:
    return "{" + ",".join("NULL" if value is None else _quoted(value) for value in values) + "}"


def _quoted(value: str) -> str:
    if "\\" in value or '"' in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'
