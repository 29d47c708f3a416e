"""Keys of parts: unique in what they are parts of."""

from __future__ import annotations


class Unique:
    """Makes keys unique: the second `a` is what else it may be called, or `a~2`."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def key(self, wanted: str, otherwise: str = "") -> str:
        times = self._seen.get(wanted, 0) + 1
        self._seen[wanted] = times
        if times == 1:
            return wanted
        return self.key(otherwise or f"{wanted}~{times}")
