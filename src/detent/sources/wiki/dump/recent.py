"""What was read last, for those who come next: pages that are asked for one after the other often are neighbours."""

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
"""Bytes that are kept in all: some dozen streams. Redirects lead from one to others, and back."""

_PAGE_BYTES = 1_000
"""What a page takes beside its text, about."""

Key = tuple[Path, int]


@dataclass(frozen=True)
class Extract:
    """The pages that stand at a place by their titles, and what is wrong after them. `bytes` is what they take."""

    pages: dict[str, Dumped]
    damage: str
    bytes: int

    @classmethod
    def of(cls, read: Iterable[Dumped], wanted: Collection[str]) -> Self:
        """All that is read, if it is not too much; else those that are wanted."""
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
    """The last few extracts. Threads may share them."""

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
        """Keep an extract for as long as it is one of the last. One that is not whole is of no use to others."""
        if extract.bytes > MOST_BYTES:
            return
        with self._lock:
            self._extracts[key] = extract
            while self._bytes() > MOST_BYTES:
                self._extracts.popitem(last=False)

    def _bytes(self) -> int:
        return sum(extract.bytes for extract in self._extracts.values())
