"""Keys of parts, unique within the whole that the parts belong to."""

from __future__ import annotations


class Unique:
    """Makes keys unique: the second `a` becomes its alternative name, or `a~2`."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def key(self, wanted: str, otherwise: str = "") -> str:
        times = self._seen.get(wanted, 0) + 1
        self._seen[wanted] = times
        if times == 1:
            return wanted
        return self.key(otherwise or f"{wanted}~{times}")
