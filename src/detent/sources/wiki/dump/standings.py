"""How each page of a file stands, without its text: all of them learned in one pass, and kept.

Where pages are unpacked by the hundred, to ask for all in another order than their own would be to unpack each stream a
hundred times. There is a line for each page, which says what it is called, its revision, where it leads, and whether it
lacks a text; and a catalogue of the lines.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from detent.sources.wiki.dump import artifacts, catalogue
from detent.sources.wiki.dump.catalogue import Catalogue, Pages
from detent.sources.wiki.dump.damage import DumpDamaged, DumpRefused
from detent.sources.wiki.dump.page import Dumped
from detent.sources.wiki.pages import Absent

_LACK = Absent("There is no text of it.")

Stream = tuple[int, Iterable[Dumped]]
"""A place in a file, and the pages that are read there."""


class Standings:
    """What was learned of a file."""

    def __init__(self, lines: mmap.mmap, places: Catalogue) -> None:
        self._lines, self._catalogue = lines, places

    def find(self, titles: Sequence[str]) -> dict[str, Dumped]:
        """Those of these pages that are known, with nothing but how they stand."""
        found: dict[str, Dumped] = {}
        for title, places in zip(titles, self._catalogue.places(titles), strict=True):
            pages = (self._page(place) for place in places)
            page = next((page for page in pages if page is not None and page.title == title), None)
            if page is not None:
                found[title] = page
        return found

    def _page(self, place: int) -> Dumped | None:
        """What a line says. One that is spoiled says nothing."""
        try:
            title, revision, redirect, lacks = json.loads(self._lines[place : self._lines.find(b"\n", place)])
        except (ValueError, TypeError):
            return None
        return Dumped(title, 0, 0, redirect, revision, "", "wikitext", "", 0, lack=_LACK if lacks else None)


def load(path: Path) -> Standings | None:
    """What is kept of a file; None if that is nothing, or not whole."""
    places = catalogue.load(_table(path))
    try:
        with path.open("rb") as file:
            lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    return None if places is None else Standings(lines, places)


def learn(path: Path, source: Path, streams: Iterable[Stream], places: Catalogue) -> Standings | None:
    """Read all pages that can be found, and keep how they stand, unless another one has done so."""
    with artifacts.alone(path, source):
        known = load(path)
        if known is None:
            catalogue.make(_table(path), source, _written(path, source, streams, places))
    return known or load(path)


def _table(path: Path) -> Path:
    return path.with_name(f"{path.name}.npy")


def _written(path: Path, source: Path, streams: Iterable[Stream], places: Catalogue) -> Iterator[Pages]:
    """Write the lines, and tell where they are."""
    with artifacts.made(path, source) as half, half.open("wb") as file:
        file.write(b"\n")  # an empty file cannot be mapped
        for place, pages in streams:
            lines = _lines(pages)
            titles = [title for title, at in zip(lines, places.places([*lines]), strict=True) if place in at]
            starts: list[int] = []
            for title in titles:
                starts.append(file.tell())
                file.write(lines[title])
            yield [catalogue.encoded(title) for title in titles], starts


def _lines(pages: Iterable[Dumped]) -> dict[str, bytes]:
    """The lines of those pages that can be read."""
    lines: dict[str, bytes] = {}
    try:
        for page in pages:
            lacks = page.lack is not None or page.model != "wikitext"
            lines[page.title] = _line([page.title, page.revision, page.redirect, int(lacks)])
    except (DumpDamaged, DumpRefused):
        pass  # who asks for one of the others is told so
    return lines


def _line(values: Sequence[object]) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
