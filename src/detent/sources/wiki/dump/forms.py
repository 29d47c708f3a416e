"""The two forms of a file in which a page can be found without reading what stands before it.

A multistream has a hundred pages to a stream, and is read a stream at a time. In plain XML a page is read from its
first byte on. Every other file becomes plain XML, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Protocol

from detent.sources.wiki.dump import artifacts, catalogue, index, standings, unpacking
from detent.sources.wiki.dump.catalogue import Catalogue, Pages
from detent.sources.wiki.dump.damage import DumpDamaged, DumpRefused, IndexMismatched
from detent.sources.wiki.dump.index import Lines
from detent.sources.wiki.dump.markup import Reader, SiteInfo
from detent.sources.wiki.dump.page import Dumped
from detent.sources.wiki.dump.standings import Standings
from detent.sources.wiki.dump.unpacking import Packing

_BATCH = 1000
_FIRST_PIECE = 16_384
_PAGES = (b"<page>", b"</mediawiki>")


class Form(Protocol):
    """A file in which pages can be found."""

    neighbours: bool
    """Whether more than one page is read at a place."""

    def pieces(self) -> Iterator[bytes]:
        """The XML of the whole file."""
        ...

    def lines(self) -> Iterator[Lines] | None:
        """What an index tells of the file, if it has one."""
        ...

    def catalogue(self) -> Catalogue:
        """Where each title stands. It is made when it is asked for first."""
        ...

    def standings(self, places: Catalogue, *, many: bool) -> Standings | None:
        """How all pages in the catalogue stand, if it is known, or worth to be learned because many are asked for."""
        ...

    def read(self, place: int) -> Iterator[Dumped]:
        """What stands at a place. Where it is damaged, the error comes after what stands before that."""
        ...


def form_of(path: Path, cache: Path, info: SiteInfo, listing: Path | None = None) -> Form:
    """The form in which pages are found in a file."""
    if _is_multistream(path):
        return Multistream(path, cache, info, listing or index.beside(path))
    if listing is not None:
        raise IndexMismatched(listing, path, "the dump is no multistream")
    return Plain(path, cache, info)


def _is_multistream(path: Path) -> bool:
    """Whether the first stream ends before the first page, and the next one begins with it. Streams that some other
    program made, many at a time, end anywhere."""
    if unpacking.packing(path) is not Packing.BZ2 or (second := unpacking.following(path, 0)) is None:
        return False
    if b"<page>" in next(unpacking.stream(path, 0), b""):
        return False
    return next(unpacking.stream(path, second), b"").lstrip().startswith(_PAGES)


class Plain:
    """Plain XML, be it the file itself or what was unpacked of it into the cache."""

    neighbours = False

    def __init__(self, path: Path, cache: Path, info: SiteInfo) -> None:
        self._path, self._cache, self._info = path, cache, info

    def pieces(self) -> Iterator[bytes]:
        return unpacking.pieces(self._target if self._target.exists() else self._path)

    def lines(self) -> None:
        return None

    def catalogue(self) -> Catalogue:
        place = self._cache / artifacts.name("pages.npy", self._path)
        return catalogue.kept(place, self._path, self._pages)

    def standings(self, places: Catalogue, *, many: bool) -> None:
        return None  # nothing is read for a page but the page

    def read(self, place: int) -> Iterator[Dumped]:
        reader = Reader(self._path, f" that begins at byte {place:,}", fragment=True, info=self._info)
        for page in reader.pages(unpacking.plain(self._unpacked(), place, _FIRST_PIECE)):
            yield page
            return

    @cached_property
    def _target(self) -> Path:
        """Where the file is as plain XML, when it was unpacked."""
        if unpacking.packing(self._path) is Packing.PLAIN:
            return self._path
        return self._cache / artifacts.name("xml", self._path)

    def _unpacked(self) -> Path:
        if not self._target.exists():
            with artifacts.alone(self._target, self._path):
                if not self._target.exists():
                    self._unpack()
        return self._target

    def _unpack(self) -> None:
        with artifacts.made(self._target, self._path) as half, half.open("wb") as file:
            for piece in unpacking.pieces(self._path):
                file.write(piece)

    def _pages(self) -> Iterator[Pages]:
        titles: list[bytes] = []
        places: list[int] = []
        for place, page in Reader(self._path).places(unpacking.plain(self._unpacked())):
            titles.append(catalogue.encoded(page.title))
            places.append(place)
            if len(titles) == _BATCH:
                yield titles, places
                titles, places = [], []
        yield titles, places


class Multistream:
    """Streams of bz2, with the index that tells what is in which of them, or without."""

    neighbours = True

    def __init__(self, path: Path, cache: Path, info: SiteInfo, listing: Path | None) -> None:
        self._path, self._cache, self._info, self._index = path, cache, info, listing

    def pieces(self) -> Iterator[bytes]:
        return unpacking.pieces(self._path)

    def lines(self) -> Iterator[Lines] | None:
        return None if self._index is None else self._checked(self._index)

    def catalogue(self) -> Catalogue:
        return catalogue.kept(self._kept("streams.npy"), self._path, self._pages)

    def standings(self, places: Catalogue, *, many: bool) -> Standings | None:
        path = self._kept("standings")
        known = standings.load(path)
        if known is not None or not many:
            return known
        streams = ((place, self.read(place)) for place in places.every_place())
        return standings.learn(path, self._path, streams, places)

    def read(self, place: int) -> Iterator[Dumped]:
        return self._read(place, unpacking.stream(self._path, place))

    def _kept(self, kind: str) -> Path:
        known = [self._path] if self._index is None else [self._path, self._index]
        return self._cache / artifacts.name(kind, *known)

    def _read(self, place: int, pieces: Iterator[bytes]) -> Iterator[Dumped]:
        start = f" in the stream that begins at byte {place:,}"
        return Reader(self._path, start, fragment=True, info=self._info).pages(pieces)

    def _pages(self) -> Iterator[Pages]:
        lines = self.lines()
        if lines is not None:
            yield from ((each.titles, each.offsets) for each in lines)
            return
        for stream in unpacking.streams(self._path):
            if stream.offset == 0:
                _pass(stream.pieces)
                continue
            titles = [catalogue.encoded(page.title) for page in self._read(stream.offset, stream.pieces)]
            yield titles, [stream.offset] * len(titles)

    def _checked(self, listing: Path) -> Iterator[Lines]:
        """The lines of an index, after which it is known that it is the one of this dump, and whole."""
        size = self._path.stat().st_size
        last: tuple[bytes, int] | None = None
        for lines in index.lines(listing):
            if not lines.titles:
                continue
            if (furthest := max(lines.offsets)) >= size:
                reason = f"it tells of a stream at byte {furthest:,}, and the dump has {size:,} bytes"
                raise IndexMismatched(listing, self._path, reason)
            if last is None:
                self._check(listing, lines.titles[0], lines.offsets[0])
            last = lines.titles[-1], lines.offsets[-1]
            yield lines
        if last is None:
            raise IndexMismatched(listing, self._path, "it is empty")
        self._check(listing, *last)
        after = unpacking.following(self._path, last[1])
        if after is not None and any(self.read(after)):
            raise IndexMismatched(listing, self._path, f"it ends before the stream at byte {after:,}, which has pages")

    def _check(self, listing: Path, written: bytes, place: int) -> None:
        """That a page stands where the index says. In another dump, the first or the last one does not."""
        title = written.decode()
        try:
            found = any(page.title == title for page in self.read(place))
        except (DumpDamaged, DumpRefused):
            found = False
        if not found:
            reason = f"{title!r} is not in the stream at byte {place:,}, where it should be"
            raise IndexMismatched(listing, self._path, reason)


def _pass(pieces: Iterator[bytes]) -> None:
    """Read what is of no interest here."""
    for _ in pieces:
        continue
