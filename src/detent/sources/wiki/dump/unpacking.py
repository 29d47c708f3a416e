"""The bytes of a file, unpacked in pieces: plain, gz, or bz2, whatever its name says.

Several streams of bz2, one behind the other, are one file. Each begins with ten bytes that are known, so that the next
ones are found and unpacked in threads while the first is read. Nothing is unpacked further than it is asked for:
a few bytes may stand for gigabytes.
"""

from __future__ import annotations

import bz2
import os
import re
import zlib
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from io import FileIO
from itertools import chain
from pathlib import Path

from detent.sources.wiki.dump.damage import DumpDamaged, DumpMissing

PIECE = 262_144
"""Bytes of the largest piece."""

_LONGEST_HELD = 16_777_216
"""Bytes of a stream, packed or not, that are held in memory before they are asked for."""

_THREADS = min(4, os.cpu_count() or 1)
_BEGINNING = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_BEGINNING_LENGTH = 10
_CUT = "it ends before its end"


class Packing(Enum):
    """How the bytes of a file are packed."""

    PLAIN = "xml"
    GZ = "gz"
    BZ2 = "bz2"


def packing(path: Path) -> Packing:
    """How a file is packed, by its first bytes."""
    with opened(path) as file:
        first = file.read(3)
    if first == b"BZh":
        return Packing.BZ2
    return Packing.GZ if first.startswith(b"\x1f\x8b") else Packing.PLAIN


@contextmanager
def opened(path: Path) -> Iterator[FileIO]:
    """The file, or an error that says that it cannot be had."""
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        raise DumpMissing(path, f"The dump {path} cannot be opened: {error.strerror}.") from None
    with file:
        yield file


def pieces(path: Path) -> Iterator[bytes]:
    """The whole file, unpacked while the pieces before are used."""
    packed = packing(path)
    if packed is Packing.BZ2:
        return chain.from_iterable(stream.pieces for stream in streams(path))
    return _ahead(_gunzipped(path)) if packed is Packing.GZ else plain(path)


def beginning(path: Path) -> Iterator[bytes]:
    """The first pieces of a file, for who does not want them all: nothing is unpacked ahead."""
    packed = packing(path)
    if packed is Packing.BZ2:
        return _in_turn(path)
    return _gunzipped(path) if packed is Packing.GZ else plain(path)


def plain(path: Path, offset: int = 0, first: int = PIECE) -> Iterator[bytes]:
    """A file as it is, from a byte on. The first piece may be a small one; each is twice as long as the one before."""
    with opened(path) as file:
        file.seek(offset)
        size = first
        while piece := file.read(size):
            yield piece
            size = min(2 * size, PIECE)


def _ahead(coming: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces, of which the next one is made in a thread while one is used."""
    # Without `with`: who leaves this half read may be the garbage collector, at a moment when nothing may wait for a
    # thread. The threads of a pool that is gone end by themselves.
    pool = ThreadPoolExecutor(1)
    future = pool.submit(next, coming, b"")
    while piece := future.result():
        future = pool.submit(next, coming, b"")
        yield piece


def _gunzipped(path: Path) -> Iterator[bytes]:
    with opened(path) as file:
        data = file.read(PIECE)
        while data:
            data = yield from _member(path, file, data)
            data = (data or file.read(PIECE)).lstrip(b"\0")  # what tapes fill their blocks with


def _member(path: Path, file: FileIO, data: bytes) -> Generator[bytes, None, bytes]:
    """One of the members that a gz file may have. What was read behind it is given back."""
    unpacker = zlib.decompressobj(wbits=31)
    while not unpacker.eof:
        try:
            piece = unpacker.decompress(data, PIECE)
        except zlib.error as error:
            place = f"byte {file.tell() - len(data):,}"
            raise DumpDamaged(path, place, f"it cannot be unpacked ({error})") from None
        if piece:
            yield piece
        elif not data:
            raise DumpDamaged(path, f"byte {file.tell():,}", _CUT)
        data = unpacker.unconsumed_tail or (b"" if unpacker.eof else file.read(PIECE))
    return unpacker.unused_data


@dataclass(frozen=True)
class Stream:
    """A stream of bz2: the byte of the file that it begins with, and what is in it."""

    offset: int
    pieces: Iterator[bytes]


def streams(path: Path) -> Iterator[Stream]:
    """The streams of a bz2 file in order. Each has to be read to its end before the next one is asked for."""
    pool = ThreadPoolExecutor(_THREADS)  # its threads end by themselves when nobody goes on here: see _ahead
    with opened(path) as file:
        waiting: deque[tuple[int, Future[_Unpacking]]] = deque()
        start = 0
        while start < os.fstat(file.fileno()).st_size or waiting:
            while len(waiting) <= _THREADS and (end := _next(file, start)) is not None:
                waiting.append((start, pool.submit(_unpacked, path, start, end)))
                start = end
            if waiting:
                offset, future = waiting.popleft()
                yield Stream(offset, future.result().rest())
            else:
                unpacking = _Unpacking(path, start)
                yield Stream(start, _ahead(unpacking.rest()))
                start = unpacking.end


def stream(path: Path, offset: int) -> Iterator[bytes]:
    """The stream of bz2 that begins with this byte."""
    return _Unpacking(path, offset).rest()


def following(path: Path, offset: int) -> int | None:
    """Where the next stream begins behind the one that begins with this byte; None if that is the last one, or so long
    that it was not looked for."""
    with opened(path) as file:
        end = _next(file, offset)
        return end if end is not None and end < os.fstat(file.fileno()).st_size else None


def _in_turn(path: Path) -> Iterator[bytes]:
    """The streams of a bz2 file, of which none is unpacked before the one before was read."""
    start, size = 0, path.stat().st_size
    while start < size:
        unpacking = _Unpacking(path, start)
        yield from unpacking.rest()
        start = unpacking.end


def _next(file: FileIO, start: int) -> int | None:
    """Where the stream ends that begins here: where the next one begins, or the file ends. None if it is too long to be
    held, or if there is none."""
    place = start
    while place - start < _LONGEST_HELD:
        data = os.pread(file.fileno(), PIECE, place)
        if found := _BEGINNING.search(data, 1 if place == start else 0):
            return place + found.start()
        if len(data) < PIECE:
            return place + len(data) if data else None
        place += PIECE - _BEGINNING_LENGTH + 1
    return None


def _unpacked(path: Path, start: int, end: int) -> _Unpacking:
    """A stream of which as much is unpacked as may be held."""
    unpacking = _Unpacking(path, start, end)
    unpacking.hold()
    return unpacking


class _Unpacking:
    """A stream of bz2 that is being unpacked. `end` is the byte that it ends before, as far as that is known."""

    def __init__(self, path: Path, start: int, end: int | None = None) -> None:
        self.end = start if end is None else end
        self._path, self._start = path, start
        self._unpacker = bz2.BZ2Decompressor()
        self._held: deque[bytes] = deque()
        self._damage: DumpDamaged | None = None
        self._coming = self._pieces(start, end)

    def hold(self) -> None:
        """Unpack now what may be held. What is wrong with the rest is told when that is asked for."""
        size = 0
        try:
            while size < _LONGEST_HELD and (piece := next(self._coming, b"")):
                self._held.append(piece)
                size += len(piece)
        except DumpDamaged as error:
            self._damage = error

    def rest(self) -> Iterator[bytes]:
        """What is held, and then the rest."""
        while self._held:
            yield self._held.popleft()
        if self._damage is not None:
            raise self._damage
        yield from self._coming

    def _pieces(self, start: int, end: int | None) -> Iterator[bytes]:
        with opened(self._path) as file:
            file.seek(start)
            while not self._unpacker.eof:
                data = b""
                if self._unpacker.needs_input:
                    data = file.read(PIECE if end is None else min(PIECE, end - file.tell()))
                    if not data:
                        raise DumpDamaged(self._path, f"byte {file.tell():,}", _CUT)
                piece = self._decompressed(data)
                if piece:
                    yield piece
            self.end = file.tell() - len(self._unpacker.unused_data)
        if end is not None and self.end != end:
            raise DumpDamaged(self._path, f"byte {self.end:,}", "something that is no bz2 stands behind a stream")

    def _decompressed(self, data: bytes) -> bytes:
        try:
            return self._unpacker.decompress(data, PIECE)
        except OSError:
            place = f"byte {self._start:,}, where a stream of bz2 begins"
            raise DumpDamaged(self._path, place, "it cannot be unpacked") from None
