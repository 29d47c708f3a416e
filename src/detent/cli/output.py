"""Output: numbers and times for people, JSON documents for programs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def document(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=_as_json))


def number(count: int) -> str:
    return f"{count:,}"


def counted(count: int, noun: str) -> str:
    """`1 item`, `1,003 items`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def moment(at: datetime) -> str:
    """A local time for a person."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def ago(at: datetime, now: datetime | None = None) -> str:
    return f"{duration((now or datetime.now(UTC)) - at)} ago"


def duration(length: timedelta | float) -> str:
    """`0.12 s`, `14 s`, `3 min 20 s`, `2 h 5 min`, `4 d`."""
    seconds = max(0.0, length.total_seconds() if isinstance(length, timedelta) else length)
    if seconds < 10:
        return f"{seconds:.2g} s" if seconds >= 0.001 else "0 s"
    left = round(seconds)
    parts: list[str] = []
    for size, unit in (*_UNITS, (1, "s")):
        if left >= size and len(parts) < 2:
            parts.append(f"{left // size} {unit}")
            left %= size
        elif parts:
            break
    return " ".join(parts)


def size(count: int) -> str:
    """`8.1 MB`."""
    amount, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"


def stamp(at: datetime | None) -> str | None:
    """A time for a program, in UTC."""
    return at.astimezone(UTC).isoformat() if at else None


def _as_json(value: Any) -> object:
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r} has no place in a JSON document.")
