"""The standing of each page of a file, without its text: learned for all pages in one pass, and kept.

If pages are compressed by the hundred, requesting all of them out of order would unpack each stream a hundred
times. There is a line for each page with its title, its revision, its redirect target, and whether it lacks a
text; and a catalogue of the lines.
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

_LACK = Absent("It has no text.")

Stream = tuple[int, Iterable[Dumped]]
"""A place in a file, and the pages that are read there."""


class Standings:
    """The standings of a file's pages."""

    def __init__(self, lines: mmap.mmap, places: Catalogue) -> None:
        self._lines, self._catalogue = lines, places

    def find(self, titles: Sequence[str]) -> dict[str, Dumped]:
        """Return the known pages among these, with their standing only."""
        found: dict[str, Dumped] = {}
        for title, places in zip(titles, self._catalogue.places(titles), strict=True):
            pages = (self._page(place) for place in places)
            page = next((page for page in pages if page is not None and page.title == title), None)
            if page is not None:
                found[title] = page
        return found

    def _page(self, place: int) -> Dumped | None:
        """Return the page of a line; None for a damaged line."""
        try:
            title, revision, redirect, lacks = json.loads(self._lines[place : self._lines.find(b"\n", place)])
        except (ValueError, TypeError):
            return None
        return Dumped(title, 0, 0, redirect, revision, "", "wikitext", "", 0, lack=_LACK if lacks else None)


def load(path: Path) -> Standings | None:
    """Return the standings kept for a file; None if there are none, or only a part."""
    places = catalogue.load(_table(path))
    try:
        with path.open("rb") as file:
            lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    return None if places is None else Standings(lines, places)


def learn(path: Path, source: Path, streams: Iterable[Stream], places: Catalogue) -> Standings | None:
    """Read all pages that can be found, and keep their standing, unless another process has done so."""
    with artifacts.alone(path, source):
        known = load(path)
        if known is None:
            catalogue.make(_table(path), source, _written(path, source, streams, places))
    return known or load(path)


def _table(path: Path) -> Path:
    return path.with_name(f"{path.name}.npy")


def _written(path: Path, source: Path, streams: Iterable[Stream], places: Catalogue) -> Iterator[Pages]:
    """Write the lines, and yield their places."""
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
    """Return the lines of the readable pages."""
    lines: dict[str, bytes] = {}
    try:
        for page in pages:
            lacks = page.lack is not None or page.model != "wikitext"
            lines[page.title] = _line([page.title, page.revision, page.redirect, int(lacks)])
    except (DumpDamaged, DumpRefused):
        pass  # whoever requests one of the others gets its error
    return lines


def _line(values: Sequence[object]) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
