"""What a format is to whoever exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Record = Mapping[str, Any]


class Writer(Protocol):
    """Takes nodes and edges, some at a time."""

    def nodes(self, records: Sequence[Record]) -> None: ...

    def edges(self, records: Sequence[Record]) -> None: ...

    def close(self) -> None:
        """Write what is still to be written; without it, what was written is not whole."""
