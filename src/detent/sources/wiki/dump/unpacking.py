"""The bytes of a file, uncompressed in pieces: plain, gz, or bz2, whatever its name says.

Consecutive streams of bz2 form one file. Each begins with ten known bytes, so the next ones are found and unpacked
in threads while the first is read. Nothing is unpacked further than requested: a few bytes may expand to
gigabytes.
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
"""Largest size of a piece in bytes."""

_LONGEST_HELD = 16_777_216
"""Bytes of a stream, compressed or not, that are held in memory before they are requested."""

_THREADS = min(4, os.cpu_count() or 1)
_BEGINNING = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_BEGINNING_LENGTH = 10
_CUT = "it ends before its end"


class Packing(Enum):
    """The compression of a file."""

    PLAIN = "xml"
    GZ = "gz"
    BZ2 = "bz2"


def packing(path: Path) -> Packing:
    """Return the compression of a file, by its first bytes."""
    with opened(path) as file:
        first = file.read(3)
    if first == b"BZh":
        return Packing.BZ2
    return Packing.GZ if first.startswith(b"\x1f\x8b") else Packing.PLAIN


@contextmanager
def opened(path: Path) -> Iterator[FileIO]:
    """Open the file, or raise an error that says why it cannot be opened."""
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        raise DumpMissing(path, f"The dump {path} cannot be opened: {error.strerror}.") from None
    with file:
        yield file


def pieces(path: Path) -> Iterator[bytes]:
    """Yield the whole file, unpacked while earlier pieces are used."""
    packed = packing(path)
    if packed is Packing.BZ2:
        return chain.from_iterable(stream.pieces for stream in streams(path))
    return _ahead(_gunzipped(path)) if packed is Packing.GZ else plain(path)


def beginning(path: Path) -> Iterator[bytes]:
    """Yield the first pieces of a file, for a caller that does not need all: nothing is unpacked ahead."""
    packed = packing(path)
    if packed is Packing.BZ2:
        return _in_turn(path)
    return _gunzipped(path) if packed is Packing.GZ else plain(path)


def plain(path: Path, offset: int = 0, first: int = PIECE) -> Iterator[bytes]:
    """Yield a file as it is, from an offset on. The first piece may be small; each is twice as long as the one
    before."""
    with opened(path) as file:
        file.seek(offset)
        size = first
        while piece := file.read(size):
            yield piece
            size = min(2 * size, PIECE)


def _ahead(coming: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same pieces; a thread prepares the next one while one is used."""
    # Without `with`: a half-read generator may be closed by the garbage collector, at a moment when nothing may
    # wait for a thread. The threads of an abandoned pool end by themselves.
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
            data = (data or file.read(PIECE)).lstrip(b"\0")  # padding of tape blocks


def _member(path: Path, file: FileIO, data: bytes) -> Generator[bytes, None, bytes]:
    """Yield one of the members that a gz file may have. Returns the bytes read beyond it."""
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
    """A stream of bz2: its offset in the file, and its content."""

    offset: int
    pieces: Iterator[bytes]


def streams(path: Path) -> Iterator[Stream]:
    """Yield the streams of a bz2 file in order. Each must be read to its end before the next one is requested."""
    pool = ThreadPoolExecutor(_THREADS)  # its threads end by themselves if the generator is abandoned: see _ahead
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
    """Yield the content of the stream of bz2 at this offset."""
    return _Unpacking(path, offset).rest()


def following(path: Path, offset: int) -> int | None:
    """Return the offset of the stream after the one at this offset; None if that is the last one, or so long that
    the search gave up."""
    with opened(path) as file:
        end = _next(file, offset)
        return end if end is not None and end < os.fstat(file.fileno()).st_size else None


def _in_turn(path: Path) -> Iterator[bytes]:
    """Yield the streams of a bz2 file one by one, each unpacked only after the previous one was read."""
    start, size = 0, path.stat().st_size
    while start < size:
        unpacking = _Unpacking(path, start)
        yield from unpacking.rest()
        start = unpacking.end


def _next(file: FileIO, start: int) -> int | None:
    """Return the end of the stream at this offset: the beginning of the next one, or the end of the file. None if
    it is too long to be held, or if there is none."""
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
    """Return a stream, unpacked as far as may be held."""
    unpacking = _Unpacking(path, start, end)
    unpacking.hold()
    return unpacking


class _Unpacking:
    """A stream of bz2 that is being unpacked. `end` is the offset of its end, if known."""

    def __init__(self, path: Path, start: int, end: int | None = None) -> None:
        self.end = start if end is None else end
        self._path, self._start = path, start
        self._unpacker = bz2.BZ2Decompressor()
        self._held: deque[bytes] = deque()
        self._damage: DumpDamaged | None = None
        self._coming = self._pieces(start, end)

    def hold(self) -> None:
        """Unpack as much as may be held. Damage in the rest is reported when that is requested."""
        size = 0
        try:
            while size < _LONGEST_HELD and (piece := next(self._coming, b"")):
                self._held.append(piece)
                size += len(piece)
        except DumpDamaged as error:
            self._damage = error

    def rest(self) -> Iterator[bytes]:
        """Yield the held part, and then the rest."""
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
            raise DumpDamaged(self._path, f"byte {self.end:,}", "data that is not bz2 follows a stream")

    def _decompressed(self, data: bytes) -> bytes:
        try:
            return self._unpacker.decompress(data, PIECE)
        except OSError:
            place = f"byte {self._start:,}, where a stream of bz2 begins"
            raise DumpDamaged(self._path, place, "it cannot be unpacked") from None
