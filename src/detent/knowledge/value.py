"""Values with a JSON form, which the command line, REST, MCP and tests share."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID


class Value:
    """A dataclass with a JSON form: its fields by name."""

    def as_data(self) -> dict[str, Any]:
        """Return the value for JSON: times as ISO 8601 in UTC, durations in seconds."""
        return {each.name: as_data(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]  # it is one


def as_data(value: Any) -> Any:
    """The JSON form of a value, or of what a field of one may be."""
    form = value
    match value:
        case None | bool() | int() | float() | str():
            pass
        case Value():
            form = value.as_data()
        case datetime():
            form = value.astimezone(UTC).isoformat()
        case timedelta():
            form = value.total_seconds()
        case Path() | UUID():
            form = str(value)
        case Mapping():
            form = {str(name): as_data(each) for name, each in value.items()}
        case Set():
            form = sorted(map(as_data, value))
        case list() | tuple():
            form = [as_data(each) for each in value]
        case _:
            raise TypeError(f"{value!r} has no JSON form.")
    return form
