"""A dump as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

from detent.sources.wiki.dump import finding, keeping, parts
from detent.sources.wiki.dump.damage import DumpMissing, DumpUnreadable
from detent.sources.wiki.dump.page import Dumped, Listed
from detent.sources.wiki.dump.parts import Part
from detent.sources.wiki.dump.recent import Recent
from detent.sources.wiki.pages import Absent, Answer
from detent.sources.wiki.site import Site


class Dump:
    """The pages of a wiki in the files that it was dumped to.

    `path` is a file as MediaWiki writes it, plain or packed as gz or bz2, or a folder of such parts. `index` is that of
    a multistream, which is found by itself where it lies beside it. `cache` is a folder for what is made once, when
    titles are looked for first: 16 bytes for each page; and of a file that is packed and no multistream, what it is
    unpacked, which is four to eight times as much. It may be emptied at any time.
    """

    def __init__(self, path: Path, cache: Path, index: Path | None = None) -> None:
        self._path, self._cache, self._index = path, cache, index

    def site(self) -> Site:
        """How the wiki spells titles. A dump tells neither of other names of namespaces nor of other wikis."""
        return self._site

    def titles(self) -> Iterator[Listed]:
        """All pages in the order of the dump. Where there is an index, nothing else is read."""
        return chain.from_iterable(part.listed() for part in self._one_wiki())

    def pages(self) -> Iterator[Dumped]:
        """All pages in the order of the dump, one at a time. Where it is damaged, the error comes after the pages that
        stand before that."""
        return chain.from_iterable(part.pages() for part in self._one_wiki())

    def find(self, titles: Sequence[str]) -> dict[str, Answer]:
        """An answer to each title, wherever it stands in the dump. What stands together is read once, and redirects are
        followed to their end."""
        return finding.answers(titles, self.site(), self._fetch)

    def tidy(self, others: Iterable[Dump]) -> None:
        """Remove what was made of this dump and is of no use to these others."""
        near = [other for other in others if other._cache.resolve() == self._cache.resolve()]
        keeping.tidy(self._cache, self._files(), [file for other in near for file in other._files()])

    def _files(self) -> list[Path]:
        """Its files; of a dump that is away, the one that it may have been."""
        try:
            return parts.files(self._path)
        except DumpMissing:
            return [self._path]

    def _fetch(self, titles: Collection[str]) -> dict[str, Dumped | Absent]:
        found: dict[str, Dumped | Absent] = {}
        for part in self._one_wiki():
            missing = [title for title in titles if title not in found]
            if missing:
                found |= part.find(missing)
        return found

    @cached_property
    def _parts(self) -> list[Part]:
        """The files, looked for when something is asked: that they are away concerns nobody else."""
        found, index = parts.files(self._path), self._index
        if index is not None and not index.is_file():
            raise DumpMissing(index, f"There is no index {index}. Correct the path, or leave it out.")
        if index is not None and len(found) > 1:
            raise DumpUnreadable(
                f"The dump {self._path} has {len(found)} parts, and {index} can be the index of only one. Leave it "
                "out: the index of each part is found beside it."
            )
        recent = Recent()
        return [Part(each, self._cache, index, recent) for each in found]

    @cached_property
    def _site(self) -> Site:
        return self._one_wiki()[0].info.site()

    def _one_wiki(self) -> list[Part]:
        """The parts, if they are of the same wiki."""
        names = sorted({part.info.database for part in self._parts} - {""})
        if len(names) > 1:
            raise DumpUnreadable(
                f"The folder {self._path} has dumps of more than one wiki: {', '.join(names)}. Name one of the files."
            )
        return self._parts
