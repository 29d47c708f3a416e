"""A dump as a whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path

from detent.sources.wiki.dump import artifacts, finding, index, parts
from detent.sources.wiki.dump.damage import DumpMissing, DumpUnreadable
from detent.sources.wiki.dump.page import Dumped, Listed
from detent.sources.wiki.dump.parts import DumpFile
from detent.sources.wiki.dump.recent import Recent
from detent.sources.wiki.pages import Absent, Answer
from detent.wikitext.site import Site

Stamps = dict[Path, str]
"""The files of a dump with their indexes, and their stamps, which change when the files do."""

Look = Callable[[DumpFile, Collection[str]], dict[str, Dumped | Absent]]


class Dump:
    """The pages of a wiki in the files of its dump.

    `path` is a file as MediaWiki writes it, plain or compressed as gz or bz2, or a folder of such parts. `index`
    is the index of a multistream dump, which is found automatically beside it. `cache` is a folder for derived
    files that the first search for titles builds: 16 bytes per page; and for a compressed file that is no
    multistream, its uncompressed text, which is four to eight times as large. The cache may be emptied at any
    time. The dump's files may be replaced at any time, too: each question is answered from the present ones.
    """

    def __init__(self, path: Path, cache: Path, index: Path | None = None) -> None:
        self._path, self._cache, self._index = path, cache, index
        self._last: _Opened | None = None

    def site(self) -> Site:
        """The wiki's rules for titles. A dump contains neither alternative names of namespaces nor other wikis."""
        return self._opened().site

    def database(self) -> str:
        """The wiki's own name, such as `enwiki`; "" if the dump does not contain it."""
        return self._opened().one_wiki()[0].info.database

    def titles(self) -> Iterator[Listed]:
        """Yield all pages in the order of the dump. If there is an index, only the index is read."""
        return chain.from_iterable(part.listed() for part in self._opened().one_wiki())

    def pages(self) -> Iterator[Dumped]:
        """Yield all pages in the order of the dump, one at a time. A damaged dump raises its error after the pages
        before the damage."""
        return chain.from_iterable(part.pages() for part in self._opened().one_wiki())

    def find(self, titles: Sequence[str]) -> dict[str, Answer]:
        """Return an answer for each title, wherever it is in the dump. Neighbouring pages are read together, and
        redirects are followed to their end."""
        with self._unchanged() as opened:
            return finding.answers(titles, opened.site, opened.find)

    def load(self, titles: Sequence[str]) -> dict[str, Answer]:
        """Return answers like `find`, but for the target of a redirect only its title is certain.

        For many titles, the whole dump is read once to learn the targets, as in `standing`.
        """
        with self._unchanged() as opened:
            return finding.answers(titles, opened.site, opened.find, opened.leading)

    def standing(self, titles: Sequence[str]) -> dict[str, Answer]:
        """Return answers like `find`, of which only titles, revisions and reasons for absence are certain.

        For many titles, in whatever order, the whole dump is read once, and the result is kept: some dozen bytes
        per page.
        """
        with self._unchanged() as opened:
            return finding.answers(titles, opened.site, opened.standing)

    def in_order(self, titles: Sequence[str]) -> list[str]:
        """Return these titles, each once, in the order of their pages in the dump; titles that it lacks come last.

        Requesting pages a few at a time in this order reads neighbouring pages once.
        """
        with self._unchanged() as opened:
            spelled = {title: found.text if (found := opened.site.title(title)) else title for title in titles}
            places = opened.places(list(spelled.values()))
        nowhere = (len(opened.parts), 0)
        return sorted(spelled, key=lambda title: places.get(spelled[title], nowhere))

    def tidy(self, others: Iterable[Dump]) -> None:
        """Remove this dump's derived files that these others do not use."""
        near = [other for other in others if other._cache.resolve() == self._cache.resolve()]
        artifacts.tidy(self._cache, self._files(), [file for other in near for file in other._files()])

    def _files(self) -> list[Path]:
        """Return its files; for a missing dump, the path it would have."""
        try:
            return parts.files(self._path)
        except DumpMissing:
            return [self._path]

    @contextmanager
    def _unchanged(self) -> Iterator[_Opened]:
        """Open the dump as it is now. If it is replaced meanwhile, nothing of the old or the new one is returned."""
        opened = self._opened()
        try:
            yield opened
        except DumpUnreadable:
            self._require(opened.stamps)
            raise
        self._require(opened.stamps)

    def _require(self, stamps: Stamps) -> None:
        if self._stamps() != stamps:
            raise DumpMissing(self._path, f"The dump {self._path} was replaced while it was read. Read it again.")

    def _opened(self) -> _Opened:
        """Return the open files, found when a question is asked: a missing dump raises its error only there.
        Replaced files are opened again."""
        stamps, last = self._stamps(), self._last
        if last is None or last.stamps != stamps:
            recent = Recent()
            opened = [DumpFile(each, self._cache, self._index, recent) for each in parts.files(self._path)]
            self._last = last = _Opened(self._path, stamps, opened)
        return last

    def _stamps(self) -> Stamps:
        found, named = parts.files(self._path), self._index
        if named is not None and not named.is_file():
            raise DumpMissing(named, f"There is no index {named}. Correct the path, or leave it out.")
        if named is not None and len(found) > 1:
            raise DumpUnreadable(
                f"The dump {self._path} has {len(found)} parts, and {named} can be the index of only one. Leave it "
                "out: the index of each part is found beside it."
            )
        indexes = [named] if named is not None else [beside for each in found if (beside := index.beside(each))]
        try:
            return {each: artifacts.stamp(each) for each in [*found, *indexes]}
        except FileNotFoundError as error:
            raise DumpMissing(error.filename) from None


class _Opened:
    """The parts of a dump, for as long as its files stay the same."""

    def __init__(self, path: Path, stamps: Stamps, parts: Sequence[DumpFile]) -> None:
        self.stamps, self.parts = stamps, parts
        self._path = path

    @cached_property
    def site(self) -> Site:
        return self.one_wiki()[0].info.site()

    def one_wiki(self) -> Sequence[DumpFile]:
        """The parts, if they belong to the same wiki."""
        names = sorted({part.info.database for part in self.parts} - {""})
        if len(names) > 1:
            raise DumpUnreadable(
                f"The folder {self._path} has dumps of more than one wiki: {', '.join(names)}. Name one of the files."
            )
        return self.parts

    def find(self, titles: Collection[str]) -> dict[str, Dumped | Absent]:
        return self._in_parts(titles, DumpFile.find)

    def standing(self, titles: Collection[str]) -> dict[str, Dumped | Absent]:
        return self._in_parts(titles, DumpFile.standing)

    def leading(self, titles: Collection[str]) -> dict[str, Dumped | Absent]:
        """Return the same pages as `standing`, or their faults."""
        found = self.standing(titles)
        lacking = [title for title, page in found.items() if isinstance(page, Dumped) and page.lack is not None]
        return found | self.find(lacking)

    def places(self, titles: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return the part and the place in it of each of these titles that may be in the dump."""
        at: dict[str, tuple[int, int]] = {}
        for number, part in enumerate(self.one_wiki()):
            missing = [title for title in titles if title not in at]
            if missing:
                at |= {title: (number, place) for title, place in part.places(missing).items()}
        return at

    def _in_parts(self, titles: Collection[str], look: Look) -> dict[str, Dumped | Absent]:
        found: dict[str, Dumped | Absent] = {}
        for part in self.one_wiki():
            missing = [title for title in titles if title not in found]
            if missing:
                found |= look(part, missing)
        return found
