"""The two forms of a file in which a page can be found without reading the pages before it.

A multistream has a hundred pages per stream, and is read a stream at a time. Plain XML is read from the first byte
of a page on. Every other file is converted to plain XML, once.
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
    """True if reading a place yields more than one page."""

    def pieces(self) -> Iterator[bytes]:
        """Yield the XML of the whole file."""
        ...

    def lines(self) -> Iterator[Lines] | None:
        """Return the lines of the file's index, if it has one."""
        ...

    def catalogue(self) -> Catalogue:
        """Return the places of all titles. The table is built on first use."""
        ...

    def standings(self, places: Catalogue, *, many: bool) -> Standings | None:
        """Return the standings of all pages in the catalogue, if they are known, or worth learning because many
        are requested."""
        ...

    def read(self, place: int) -> Iterator[Dumped]:
        """Yield the pages at a place. Damaged content raises its error after the pages before the damage."""
        ...


def form_of(path: Path, cache: Path, info: SiteInfo, listing: Path | None = None) -> Form:
    """Return the form of a file."""
    if _is_multistream(path):
        return Multistream(path, cache, info, listing or index.beside(path))
    if listing is not None:
        raise IndexMismatched(listing, path, "the dump is no multistream")
    return Plain(path, cache, info)


def _is_multistream(path: Path) -> bool:
    """True if the first stream ends before the first page, and the next one begins with it. The streams of other
    programs, which compress many at a time, end anywhere."""
    if unpacking.packing(path) is not Packing.BZ2 or (second := unpacking.following(path, 0)) is None:
        return False
    if b"<page>" in next(unpacking.stream(path, 0), b""):
        return False
    return next(unpacking.stream(path, second), b"").lstrip().startswith(_PAGES)


class Plain:
    """Plain XML, either the file itself or its uncompressed copy in the cache."""

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
        return None  # reading a page reads no more than that page

    def read(self, place: int) -> Iterator[Dumped]:
        reader = Reader(self._path, f" that begins at byte {place:,}", fragment=True, info=self._info)
        for page in reader.pages(unpacking.plain(self._unpacked(), place, _FIRST_PIECE)):
            yield page
            return

    @cached_property
    def _target(self) -> Path:
        """The path of the file's uncompressed copy."""
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
    """Streams of bz2, with or without the index of the pages in each."""

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
        """Yield the lines of an index; when they end, the index is known to be complete and to belong to this dump."""
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
        """Check that a page is where the index says. In another dump, the first or the last one is not."""
        title = written.decode()
        try:
            found = any(page.title == title for page in self.read(place))
        except (DumpDamaged, DumpRefused):
            found = False
        if not found:
            reason = f"{title!r} is not in the stream at byte {place:,}, where it should be"
            raise IndexMismatched(listing, self._path, reason)


def _pass(pieces: Iterator[bytes]) -> None:
    """Read and discard."""
    for _ in pieces:
        continue
