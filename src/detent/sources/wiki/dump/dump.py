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
"""The files of a dump with their indexes, and what is another one when one of them is."""

Look = Callable[[DumpFile, Collection[str]], dict[str, Dumped | Absent]]


class Dump:
    """The pages of a wiki in the files that it was dumped to.

    `path` is a file as MediaWiki writes it, plain or packed as gz or bz2, or a folder of such parts. `index` is that of
    a multistream, which is found by itself where it lies beside it. `cache` is a folder for what is made once, when
    titles are looked for first: 16 bytes for each page; and of a file that is packed and no multistream, what it is
    unpacked, which is four to eight times as much. It may be emptied at any time. The files may be replaced at any
    time, too: each question is answered by those that are there.
    """

    def __init__(self, path: Path, cache: Path, index: Path | None = None) -> None:
        self._path, self._cache, self._index = path, cache, index
        self._last: _Opened | None = None

    def site(self) -> Site:
        """How the wiki spells titles. A dump tells neither of other names of namespaces nor of other wikis."""
        return self._opened().site

    def database(self) -> str:
        """The name that the wiki has for itself, such as `enwiki`; "" if the dump does not tell."""
        return self._opened().one_wiki()[0].info.database

    def titles(self) -> Iterator[Listed]:
        """All pages in the order of the dump. Where there is an index, nothing else is read."""
        return chain.from_iterable(part.listed() for part in self._opened().one_wiki())

    def pages(self) -> Iterator[Dumped]:
        """All pages in the order of the dump, one at a time. Where it is damaged, the error comes after the pages that
        stand before that."""
        return chain.from_iterable(part.pages() for part in self._opened().one_wiki())

    def find(self, titles: Sequence[str]) -> dict[str, Answer]:
        """An answer to each title, wherever it stands in the dump. What stands together is read once, and redirects are
        followed to their end."""
        with self._unchanged() as opened:
            return finding.answers(titles, opened.site, opened.find)

    def load(self, titles: Sequence[str]) -> dict[str, Answer]:
        """The same answers, but of a page that another title leads to, only its own title is sure to be right. Who
        loads many has all of the dump read once to know them, as for `standing`."""
        with self._unchanged() as opened:
            return finding.answers(titles, opened.site, opened.find, opened.leading)

    def standing(self, titles: Sequence[str]) -> dict[str, Answer]:
        """The same answers, of which no more than titles, revisions and reasons to be absent is sure to be right. Who
        asks for many, in whatever order, has all of the dump read once, and what was learned is kept: some dozen bytes
        for each page."""
        with self._unchanged() as opened:
            return finding.answers(titles, opened.site, opened.standing)

    def in_order(self, titles: Sequence[str]) -> list[str]:
        """These titles, each once, in the order in which their pages stand in the dump; those that it has not, last.
        Who asks for many a few at a time reads in this order what stands together once."""
        with self._unchanged() as opened:
            spelled = {title: found.text if (found := opened.site.title(title)) else title for title in titles}
            places = opened.places(list(spelled.values()))
        nowhere = (len(opened.parts), 0)
        return sorted(spelled, key=lambda title: places.get(spelled[title], nowhere))

    def tidy(self, others: Iterable[Dump]) -> None:
        """Remove what was made of this dump and is of no use to these others."""
        near = [other for other in others if other._cache.resolve() == self._cache.resolve()]
        artifacts.tidy(self._cache, self._files(), [file for other in near for file in other._files()])

    def _files(self) -> list[Path]:
        """Its files; of a dump that is away, the one that it may have been."""
        try:
            return parts.files(self._path)
        except DumpMissing:
            return [self._path]

    @contextmanager
    def _unchanged(self) -> Iterator[_Opened]:
        """The dump as it is now. What is read of one that is replaced meanwhile is told neither of the old nor of the
        new one."""
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
        """The files, looked for when something is asked: that they are away concerns nobody else. They are opened anew
        when they are others than before."""
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
    """The parts of a dump, for as long as its files are the same."""

    def __init__(self, path: Path, stamps: Stamps, parts: Sequence[DumpFile]) -> None:
        self.stamps, self.parts = stamps, parts
        self._path = path

    @cached_property
    def site(self) -> Site:
        return self.one_wiki()[0].info.site()

    def one_wiki(self) -> Sequence[DumpFile]:
        """The parts, if they are of the same wiki."""
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
        """The same pages as `standing`, with what is wrong with them."""
        found = self.standing(titles)
        lacking = [title for title, page in found.items() if isinstance(page, Dumped) and page.lack is not None]
        return found | self.find(lacking)

    def places(self, titles: Sequence[str]) -> dict[str, tuple[int, int]]:
        """In which part, and where in it, those of these titles stand that may be in the dump."""
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
