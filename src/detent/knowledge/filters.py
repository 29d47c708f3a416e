"""Filters of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Filters:
    """Conditions that every result must meet.

    Each condition is met by the passage or by a node that it belongs to. `properties` are compared with the node's
    properties as whole values. `since` and `until` are compared with the property `date` as text, so a year or a
    month works as well as a day; `until` includes every date that begins with it. `prefix` is a prefix of the key:
    a folder of files.
    """

    sources: Sequence[str] = ()
    labels: Sequence[str] = ()
    categories: Sequence[str] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    since: str | None = None
    until: str | None = None
    prefix: str | None = None

    @property
    def narrows(self) -> bool:
        """True if there is any condition besides the source."""
        return bool(
            self.labels
            or self.categories
            or self.properties
            or self.since is not None
            or self.until is not None
            or self.prefix is not None
        )
