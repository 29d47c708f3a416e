"""The interface of a format to the exporter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Record = Mapping[str, Any]


class Writer(Protocol):
    """Takes nodes and edges in portions."""

    def nodes(self, records: Sequence[Record]) -> None: ...

    def edges(self, records: Sequence[Record]) -> None: ...

    def close(self) -> None:
        """Write what is still buffered; without this call the output is incomplete."""
