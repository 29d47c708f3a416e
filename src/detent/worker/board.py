"""The board: a small piece of shared memory on which a worker writes what it holds and what it is running.

Its keeper reads it from another process, so that leases are renewed, and handlers over their time limit are
given up, whatever the worker is doing: blocking its event loop, holding the interpreter's lock, or dead.
Writing costs about a microsecond, and what was written survives the writer.

Neither side locks the other out, so each word has one writer, and a row counts from the moment its token is
there: the token is written last and erased first.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_LEASES = 4096
MOST_ITEMS = 65536

Held = tuple[int, int]
"""A token, and an item that is held under it."""

# The memory is words of eight bytes: how many rows of leases and of items were ever used, how many steps the worker has
# completed, then the rows.
# A lease's row: a token of the worker's, and, once the keeper could not renew it, the same token again.
# An item's row: a token, an item, and the time by which its handler must have ended, as a floating number.
_USED_LEASES, _USED_ITEMS, _COMPLETED = 0, 1, 2
_LEASES, _LEASE = 3, 2
_ITEMS, _ITEM = _LEASES + MOST_LEASES * _LEASE, 3
_ITEM_ROW = struct.Struct("qqd")
_WORD = 8
_SIZE = (_ITEMS + MOST_ITEMS * _ITEM) * _WORD


@dataclass(frozen=True, slots=True)
class Running:
    """An item that a handler has begun with, and that is not settled yet.

    `deadline` is on the machine's monotonic clock; it is infinite once the handler has ended.
    """

    token: int
    item: int
    deadline: float


class Board:
    """Shared between one writer, the worker with its threads, and one reader, its keeper."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, _SIZE)
        self._words = memoryview(self._memory).cast("q")
        self._times = memoryview(self._memory).cast("d")
        self._lock = threading.Lock()
        self._leases: dict[int, int] = {}
        self._items: dict[Held, int] = {}
        self._free_leases: list[int] = []
        self._free_items: list[int] = []

    def has_room(self, items: int, leases: int = 1) -> bool:
        """Tell whether there is room for this many more leases, with this many items held in total."""
        return len(self._leases) + leases <= MOST_LEASES and items <= MOST_ITEMS

    def hold(self, token: int) -> None:
        """A lease was taken, and is to be renewed."""
        with self._lock:
            row = self._leases[token] = self._row(self._free_leases, _USED_LEASES, _LEASES, _LEASE)
            self._words[row] = token

    def drop(self, token: int) -> None:
        """A lease is settled, and need not be renewed any more."""
        with self._lock:
            row = self._leases.pop(token)
            self._words[row] = 0
            self._free_leases.append(row)

    def begin(self, held: Iterable[Held], deadline: float) -> None:
        """A handler begins with these items."""
        words, times, rows = self._words, self._times, self._items
        with self._lock:
            for name in held:
                row = rows.get(name)
                if row is None:
                    row = rows[name] = self._row(self._free_items, _USED_ITEMS, _ITEMS, _ITEM)
                words[row + 1] = name[1]
                times[row + 2] = deadline
                words[row] = name[0]

    def finish(self, held: Iterable[Held]) -> None:
        """The handler has ended, or was given up; what it said of these items is not written yet."""
        times, rows = self._times, self._items
        with self._lock:
            for name in held:
                if name in rows:
                    times[rows[name] + 2] = math.inf

    def end(self, held: Iterable[Held]) -> None:
        """These items are settled."""
        words, rows, free = self._words, self._items, self._free_items
        with self._lock:
            for name in held:
                row = rows.pop(name, None)
                if row is not None:
                    words[row] = 0
                    free.append(row)

    @property
    def completed(self) -> int:
        """The keeper's view: how many steps of items the worker has completed."""
        return self._words[_COMPLETED]

    def complete(self, count: int) -> None:
        """So many steps of items were completed in all."""
        self._words[_COMPLETED] = count

    def lost(self) -> set[int]:
        """The tokens that the keeper could not renew."""
        return {token for token, row in self._leases.items() if self._words[row + 1] == token}

    def held(self) -> list[int]:
        """The keeper's view: the tokens that the worker wants renewed."""
        return [token for _, token in self._held()]

    def running(self) -> list[Running]:
        """The keeper's view: the items in handlers' hands."""
        end = _ITEMS + self._words[_USED_ITEMS] * _ITEM
        rows = _ITEM_ROW.iter_unpack(self._memory[_ITEMS * _WORD : end * _WORD])
        return [Running(*row) for row in rows if row[0]]

    def mark_lost(self, tokens: set[int]) -> None:
        """The keeper tells the worker that these leases are gone."""
        for row, token in list(self._held()):
            if token in tokens:
                self._words[row + 1] = token

    def close(self) -> None:
        """Give the memory back. What is closed reads as empty: a keeper may be just about to look at it."""
        self._leases.clear()
        self._items.clear()
        self._words.release()
        self._times.release()
        self._memory.close()
        self._memory = mmap.mmap(-1, _LEASES * _WORD)
        self._words = memoryview(self._memory).cast("q")

    def _held(self) -> Iterator[tuple[int, int]]:
        for row in range(_LEASES, _LEASES + self._words[_USED_LEASES] * _LEASE, _LEASE):
            token = self._words[row]
            if token:
                yield row, token

    def _row(self, free: list[int], used: int, first: int, size: int) -> int:
        """A row that was given back, or else the next one. So few are ever used, and the keeper reads only those."""
        if free:
            return free.pop()
        number = self._words[used]
        self._words[used] = number + 1
        return first + number * size


def make_descriptor() -> int:
    """A piece of memory for a board, which goes when the last process that has it ends."""
    descriptor = os.memfd_create("detent-board")
    os.truncate(descriptor, _SIZE)
    return descriptor
