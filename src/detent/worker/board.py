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
from collections.abc import Iterator
from dataclasses import dataclass

MOST_LEASES = 4096
MOST_ITEMS = 65536

_NUMBER = struct.Struct("q")
_LEASE = struct.Struct("qq")
"""A token of the worker's, and beside it, once the keeper could not renew it, the same token again."""
_ITEM = struct.Struct("qqd")
"""A token, an item, and the time by which its handler must have ended."""
_ITEM_BODY = struct.Struct("qd")
_DEADLINE = struct.Struct("d")
_USED_LEASES, _USED_ITEMS = 0, 8
_LEASES = 16
_ITEMS = _LEASES + MOST_LEASES * _LEASE.size
_SIZE = _ITEMS + MOST_ITEMS * _ITEM.size


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
        self._lock = threading.Lock()
        self._leases: dict[int, int] = {}
        self._items: dict[tuple[int, int], int] = {}
        self._free_leases: list[int] = []
        self._free_items: list[int] = []

    def has_room(self, items: int) -> bool:
        """Whether one more lease of this many items can be written down."""
        return len(self._leases) < MOST_LEASES and len(self._items) + items <= MOST_ITEMS

    def hold(self, token: int) -> None:
        """A lease was taken, and is to be renewed."""
        with self._lock:
            slot = self._leases[token] = self._slot(self._free_leases, _USED_LEASES)
            _NUMBER.pack_into(self._memory, _lease_at(slot), token)

    def drop(self, token: int) -> None:
        """A lease is settled, and need not be renewed any more."""
        with self._lock:
            slot = self._leases.pop(token)
            _NUMBER.pack_into(self._memory, _lease_at(slot), 0)
            self._free_leases.append(slot)

    def begin(self, token: int, item: int, deadline: float) -> None:
        """A handler begins with this item."""
        with self._lock:
            slot = self._items.get((token, item))
            if slot is None:
                slot = self._items[token, item] = self._slot(self._free_items, _USED_ITEMS)
            _ITEM_BODY.pack_into(self._memory, _item_at(slot) + _NUMBER.size, item, deadline)
            _NUMBER.pack_into(self._memory, _item_at(slot), token)

    def finish(self, token: int, item: int) -> None:
        """The handler has ended, or was given up; what it said is not written yet."""
        with self._lock:
            slot = self._items.get((token, item))
            if slot is not None:
                _DEADLINE.pack_into(self._memory, _item_at(slot) + _ITEM.size - _DEADLINE.size, math.inf)

    def end(self, token: int, item: int) -> None:
        """The item is settled."""
        with self._lock:
            slot = self._items.pop((token, item), None)
            if slot is not None:
                _NUMBER.pack_into(self._memory, _item_at(slot), 0)
                self._free_items.append(slot)

    def lost(self) -> set[int]:
        """The tokens that the keeper could not renew."""
        return {token for token, slot in self._leases.items() if self._lost_at(slot) == token}

    def held(self) -> list[int]:
        """The keeper's view: the tokens that the worker wants renewed."""
        return [token for _, token in self._held()]

    def running(self) -> list[Running]:
        """The keeper's view: the items in handlers' hands."""
        end = _item_at(self._used(_USED_ITEMS))
        rows = _ITEM.iter_unpack(self._memory[_ITEMS:end])
        return [Running(*row) for row in rows if row[0]]

    def mark_lost(self, tokens: set[int]) -> None:
        """The keeper tells the worker that these leases are gone."""
        for slot, token in list(self._held()):
            if token in tokens:
                _NUMBER.pack_into(self._memory, _lease_at(slot) + _NUMBER.size, token)

    def close(self) -> None:
        self._memory.close()

    def _held(self) -> Iterator[tuple[int, int]]:
        end = _lease_at(self._used(_USED_LEASES))
        rows = _LEASE.iter_unpack(self._memory[_LEASES:end])
        return ((slot, token) for slot, (token, _) in enumerate(rows) if token)

    def _lost_at(self, slot: int) -> int:
        return int(_NUMBER.unpack_from(self._memory, _lease_at(slot) + _NUMBER.size)[0])

    def _used(self, where: int) -> int:
        return int(_NUMBER.unpack_from(self._memory, where)[0])

    def _slot(self, free: list[int], where: int) -> int:
        """A slot that was given back, or else the next one. So few are ever used, and the keeper reads only those."""
        if free:
            return free.pop()
        slot = self._used(where)
        _NUMBER.pack_into(self._memory, where, slot + 1)
        return slot


def make_descriptor() -> int:
    """A piece of memory for a board, which goes when the last process that has it ends."""
    descriptor = os.memfd_create("detent-board")
    os.truncate(descriptor, _SIZE)
    return descriptor


def _lease_at(slot: int) -> int:
    return _LEASES + slot * _LEASE.size


def _item_at(slot: int) -> int:
    return _ITEMS + slot * _ITEM.size
