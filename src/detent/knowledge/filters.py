"""What a search is restricted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Filters:
    """Only results that meet all of these. Each is met by the passage or by a node that it belongs to.

    `properties` are compared as a whole with those of the node; `since` and `until` with its property `date`, as
    text, so that a year or a month will do as well as a day; `until` includes what begins with it. `prefix` is that
    of the key: a folder of files.
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
        """Whether there is more to meet than the source."""
        return bool(
            self.labels
            or self.categories
            or self.properties
            or self.since is not None
            or self.until is not None
            or self.prefix is not None
        )
