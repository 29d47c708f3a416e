"""The files of a dump: one, or the parts of a large wiki in a folder."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from detent.lifecycle import Trouble
from detent.sources.wiki.dump import catalogue, forms, unpacking
from detent.sources.wiki.dump.catalogue import Catalogue
from detent.sources.wiki.dump.damage import DumpDamaged, DumpMissing, DumpRefused, DumpUnreadable
from detent.sources.wiki.dump.forms import Form
from detent.sources.wiki.dump.markup import Reader, SiteInfo
from detent.sources.wiki.dump.page import Dumped, Listed
from detent.sources.wiki.dump.recent import Extract, Recent
from detent.sources.wiki.dump.standings import Standings
from detent.sources.wiki.pages import Absent

_FILE = re.compile(r".*\.xml(?:-p\d+p\d+)?(?:\.(?:gz|bz2))?", re.DOTALL)
_RANGE = re.compile(r"-p\d+p\d+")
_DIGITS = re.compile(r"(\d+)")
_DAY = re.compile(r"-(\d{8}|latest)(?=[-.])")
Preferences = tuple[Callable[[str], bool], ...]

_CONTENTS: Preferences = (
    lambda name: "-pages-articles" in name,
    lambda name: "-pages-meta-current" in name,
    lambda name: "-pages-meta-history" in name,
)
_FORMS: Preferences = (lambda name: "multistream" in name, lambda name: _RANGE.search(name) is None)
"""Preferred files of a folder, if there are any: a wiki is published in several complete forms, and beside files
without texts."""

PAGES_FOR_ONE = 1_000
"""Once the standing of one in this many pages was requested, all pages are read for it. By then a tenth of the
streams, of a hundred pages each, were unpacked for one of their pages."""


def files(path: Path) -> list[Path]:
    """Return the files of a dump in order."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DumpMissing(path)
    found = {each.name: each for each in path.iterdir() if _FILE.fullmatch(each.name) and each.is_file()}
    names = _preferred(set(found), _CONTENTS)
    _require_one_day(path, names)
    names = _preferred(names, _FORMS)
    once: dict[str, str] = {}
    for name in sorted(names):  # plain before compressed
        once.setdefault(name.removesuffix(".bz2").removesuffix(".gz"), name)
    if not once:
        raise DumpMissing(
            path, f"There is no dump in the folder {path}: no file there ends in .xml, .xml.gz, .xml.bz2."
        )
    return [found[name] for name in sorted(once.values(), key=_in_numbers)]


def _preferred(names: set[str], preferences: Preferences) -> set[str]:
    for preferred in preferences:
        names = set(filter(preferred, names)) or names
    return names


def _require_one_day(folder: Path, names: Collection[str]) -> None:
    """Refuse dumps of several days: of the latest, some parts may not have arrived yet, and their pages would
    count as missing."""
    days: defaultdict[str, set[str]] = defaultdict(set)
    for day in filter(None, map(_DAY.search, names)):
        days[day.string[: day.start()]].add(day[1])
    for wiki, several in sorted(days.items()):
        if len(several) > 1:
            told = f"The folder {folder} has dumps of {wiki} of several days: {', '.join(sorted(several))}."
            raise DumpMissing(folder, f"{told} Keep the files of one day there, or name a folder with only those.")


def _in_numbers(name: str) -> list[tuple[int, str]]:
    """Return the sort key of a name, which puts p2 before p10."""
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in _DIGITS.split(name)]


class DumpFile:
    """A file of a dump, for as long as it stays the same."""

    def __init__(self, path: Path, cache: Path, listing: Path | None, recent: Recent) -> None:
        self.path = path
        self._cache, self._index, self._recent = cache, listing, recent
        self._damage: DumpUnreadable | None = None
        self._standings: Standings | None = None
        self._asked = 0

    @cached_property
    def info(self) -> SiteInfo:
        return Reader(self.path).head(unpacking.beginning(self.path))

    @cached_property
    def _form(self) -> Form:
        return forms.form_of(self.path, self._cache, self.info, self._index)

    @cached_property
    def _catalogue(self) -> Catalogue:
        """Return the places of all titles. A damaged file is not read again to find that out."""
        if self._damage is not None:
            raise self._damage.with_traceback(None)
        try:
            return self._form.catalogue()
        except (DumpDamaged, DumpRefused) as error:
            self._damage = error
            raise

    def pages(self) -> Iterator[Dumped]:
        return Reader(self.path).pages(self._form.pieces())

    def listed(self) -> Iterator[Listed]:
        told = self._form.lines()
        if told is None:
            for page in self.pages():
                yield Listed(page.title, page.namespace, page.id, page.redirect is not None)
            return
        for lines in told:
            for page_id, written in zip(lines.ids, lines.titles, strict=True):
                title = written.decode()
                yield Listed(title, self.info.namespace(title), page_id)

    def places(self, titles: Sequence[str]) -> dict[str, int]:
        """Return the places of the titles that may be in this file."""
        found = zip(titles, self._catalogue.places(titles), strict=True)
        return {title: places[0] for title, places in found if places}

    def find(self, titles: Collection[str]) -> dict[str, Dumped | Absent]:
        """Return the pages with these titles in this file, or the reason why one cannot be read."""
        sought = list(titles)
        at: defaultdict[int, list[str]] = defaultdict(list)
        for title, places in zip(sought, self._catalogue.places(sought), strict=True):
            for place in places:
                at[place].append(title)
        found: dict[str, Dumped | Absent] = {}
        for place in sorted(at):
            extract = self._extract(place, at[place])
            for title in at[place]:
                answer = self._in_extract(title, extract, place)
                if answer is not None and not isinstance(found.get(title), Dumped):
                    found[title] = answer
        return found

    def standing(self, titles: Collection[str]) -> dict[str, Dumped | Absent]:
        """Return the same pages, possibly without their texts. Pages that were not learned are read."""
        if self._standings is None:
            self._asked += len(titles)
            many = self._asked * PAGES_FOR_ONE >= len(self._catalogue)
            self._standings = self._form.standings(self._catalogue, many=many)
        known = {} if self._standings is None else self._standings.find(list(titles))
        return known | self.find([title for title in titles if title not in known])

    def _extract(self, place: int, wanted: Collection[str]) -> Extract:
        kept = self._recent.get((self.path, place))
        if kept is not None:
            return kept
        extract = Extract.of(self._form.read(place), wanted)
        if self._form.neighbours:
            self._recent.keep((self.path, place), extract)
        return extract

    def _in_extract(self, title: str, extract: Extract, place: int) -> Dumped | Absent | None:
        """Return the page with this title; None if another one with the same digest is in its place."""
        if title in extract.pages:
            return extract.pages[title]
        if extract.damage:
            return Absent(extract.damage, Trouble.MALFORMED)
        digests = catalogue.digests(map(catalogue.encoded, (title, *extract.pages)))
        if digests[0] in digests[1:]:
            return None
        reason = (
            f"{title!r} is not at byte {place:,} of the dump {self.path}, where it should be: the dump was changed, "
        )
        return Absent(reason + "or its index belongs to another one. Download both again.", Trouble.MALFORMED)
