"""The base of all verbs: one open database, its settings and its project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from detent.errors import InvalidLimit

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.sources import Source


class Verbs:
    """An open database. The verbs of one noun are a class that inherits this one."""

    def __init__(self, opened: Connected, sources: Sequence[Source] = ()) -> None:
        self.opened = opened
        self.store = opened.store
        self.settings = opened.settings
        self.project = opened.project
        self.sources = list(sources)
        """The sources that the program declared itself."""


def require_limit(limit: int) -> None:
    """Refuse to ask for less than one item."""
    if limit < 1:
        raise InvalidLimit(limit)
