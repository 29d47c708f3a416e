"""Cache of the places read last: pages that are requested one after the other are often neighbours."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Self

from detent.sources.wiki.dump.damage import DumpDamaged, DumpRefused
from detent.sources.wiki.dump.page import Dumped

MOST_BYTES = 33_554_432
"""Total size of the cache in bytes: some dozen streams. Redirects lead from one to another, and back."""

_PAGE_BYTES = 1_000
"""Approximate bytes per page besides its text."""

Key = tuple[Path, int]


@dataclass(frozen=True)
class Extract:
    """The pages at a place by title, and the damage after them. `bytes` is their size."""

    pages: dict[str, Dumped]
    damage: str
    bytes: int

    @classmethod
    def of(cls, read: Iterable[Dumped], wanted: Collection[str]) -> Self:
        """Return everything that is read, if it is not too large; otherwise only the wanted pages."""
        pages: dict[str, Dumped] = {}
        size, damage = 0, ""
        try:
            for page in read:
                size += page.length + _PAGE_BYTES
                if size <= MOST_BYTES or page.title in wanted:
                    pages[page.title] = page
        except (DumpDamaged, DumpRefused) as error:
            damage = str(error)
        return cls(pages, damage, size)


class Recent:
    """The last few extracts. Safe for concurrent threads."""

    def __init__(self) -> None:
        self._extracts: OrderedDict[Key, Extract] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> Extract | None:
        with self._lock:
            extract = self._extracts.get(key)
            if extract is not None:
                self._extracts.move_to_end(key)
            return extract

    def keep(self, key: Key, extract: Extract) -> None:
        """Cache an extract while it is among the last. An incomplete one is useless to others, and is not kept."""
        if extract.bytes > MOST_BYTES:
            return
        with self._lock:
            self._extracts[key] = extract
            while self._bytes() > MOST_BYTES:
                self._extracts.popitem(last=False)

    def _bytes(self) -> int:
        return sum(extract.bytes for extract in self._extracts.values())
