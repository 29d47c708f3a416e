"""The XML of a dump, parsed as a stream, so that no more than one page is in memory.

The versions of the format hardly differ in the parts read here, so the version is not checked. Anything that
MediaWiki does not write is refused before it does harm: document types, which bring entities; deeply nested
elements; tags and values without end. Only the text of a page may be long; a page whose text is too long is
returned without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlsplit
from xml.parsers import expat

from detent.lifecycle import Trouble
from detent.sources.wiki.dump.damage import DumpDamaged, DumpRefused, DumpUnreadable, NoDump
from detent.sources.wiki.dump.page import Dumped
from detent.sources.wiki.pages import Absent
from detent.sources.wiki.prefixes import WIKIMEDIA
from detent.sources.wiki.settings import is_wikimedia
from detent.wikitext.addresses import pattern
from detent.wikitext.site import CANONICAL, Site, case_sensitive

LONGEST_TEXT = 100_000_000
"""Characters of a page's text. MediaWiki itself limits a text to about two million bytes."""

_LONGEST_VALUE = 65_536
_LONGEST_TAG = 4_194_304
_DEEPEST = 32
_ROOT = "mediawiki"
_ANY_SITE = Site()
_OPENED = b"<mediawiki>"
_ENCODINGS = {"utf-8", "utf8", "us-ascii", "ascii"}
_VALUES = {
    "siteinfo": {"dbname", "base", "case"},
    "namespaces": {"namespace"},
    "page": {"title", "ns", "id"},
    "revision": {"id", "timestamp", "model", "text"},
}
"""The elements that are kept, by their parent. A revision has an id, and so do its author and its other contents,
which also have a model and a text."""

_LINK = r"\s*+:?\s*+\[\[([^\[\]|\n]*+)(?:\|[^\[\]\n]*+)?+\]\]"
_REDIRECT = re.compile(rf"\s*+#REDIRECT{_LINK}", re.IGNORECASE)
_REDIRECT_BY_ANY_WORD = re.compile(rf"\s*+#[^\[\n]{{1,60}}+{_LINK}")
"""MediaWiki requires the link directly after the word. A dump does not contain the wiki's own redirect words, but
it marks the pages that they redirect."""

_NUMBER = re.compile(r"\s*-?[0-9]{1,18}\s*")


@dataclass
class SiteInfo:
    """The head of a dump, which describes its wiki. `whole` is True once it has been read to its end."""

    database: str = ""
    base: str = ""
    language: str = ""
    case: str = "first-letter"
    namespaces: dict[int, str] = field(default_factory=dict)
    cases: dict[int, str] = field(default_factory=dict)
    whole: bool = False

    def site(self) -> Site:
        names = {**CANONICAL, **self.namespaces}
        others = WIKIMEDIA if is_wikimedia(urlsplit(self.base).hostname or "") else frozenset()
        kept = case_sensitive(self.case, self.cases)
        return Site(names, {}, others, kept, language=self.language, addresses=pattern(self.base))

    def namespace(self, title: str) -> int:
        """Return the namespace of a title in the wiki's own spelling."""
        name, colon, _ = title.partition(":")
        return self._numbers.get(name, 0) if colon else 0

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {name: number for number, name in (self.namespaces or CANONICAL).items() if name}


class _Revision(NamedTuple):
    """A revision in a dump, and the reason why its text is missing."""

    values: Mapping[str, str]
    lack: Absent | None


class Reader:
    """Parses XML into pages.

    Messages call the input `file`, and say `start` for the place where it begins there. A `fragment` begins within
    a dump, as a stream of a multistream does, and takes its wiki from `info`.
    """

    def __init__(self, file: object, start: str = "", *, fragment: bool = False, info: SiteInfo | None = None) -> None:
        self.info = info or SiteInfo()
        self._file, self._start, self._fragment = file, start, fragment
        self._path: list[str] = [""]
        self._begun = fragment
        self._leaf = ""
        self._attributes: dict[str, str] = {}
        self._pieces: list[str] = []
        self._size = 0
        self._page: dict[str, str] = {}
        self._revision: dict[str, str] = {}
        self._lack: Absent | None = None
        self._latest = _Revision({}, None)
        self._read: list[tuple[int, Dumped]] = []
        self._offset = 0
        self._last = ""
        self._fed = 0
        self._parser = self._made_parser()
        if fragment:
            self._parser.Parse(_OPENED, False)

    def _made_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.buffer_size = 65_536
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._hear
        parser.XmlDeclHandler = self._declare
        parser.StartDoctypeDeclHandler = self._refuse_document_type
        return parser

    def pages(self, pieces: Iterable[bytes]) -> Iterator[Dumped]:
        """Yield the pages in order. Broken XML raises its error after the pages before it."""
        return (page for _, page in self.places(pieces))

    def places(self, pieces: Iterable[bytes]) -> Iterator[tuple[int, Dumped]]:
        """Yield the pages, each with its offset from the start."""
        for piece in pieces:
            trouble = self._feed(piece)
            yield from self._taken()
            if trouble is not None:
                raise trouble
        self._finish()

    def head(self, pieces: Iterable[bytes]) -> SiteInfo:
        """Parse the content before the first page, and no more."""
        for piece in pieces:
            trouble = self._feed(piece)
            if self.info.whole:
                return self.info
            if trouble is not None:
                raise trouble
        self._finish()
        return self.info

    def _feed(self, piece: bytes) -> DumpUnreadable | None:
        self._fed += len(piece)
        try:
            self._parser.Parse(piece, False)
        except expat.ExpatError as error:
            return self._damaged(expat.ErrorString(error.code))
        except DumpUnreadable as error:
            return error
        if self._fed - self._position() > _LONGEST_TAG:
            return self._refused("a tag does not end")
        return None

    def _taken(self) -> list[tuple[int, Dumped]]:
        taken, self._read = self._read, []
        return taken

    def _finish(self) -> None:
        """Check that nothing is open at the end. A fragment has the element around all pages opened and closed
        outside."""
        if self._fragment and len(self._path) <= 2:
            return
        try:
            self._parser.Parse(b"", True)
        except expat.ExpatError:
            raise self._damaged("it ends before its end") from None

    def _damaged(self, reason: str) -> DumpUnreadable:
        return DumpDamaged(self._file, self._place(), reason) if self._begun else NoDump(self._file, f"<{_ROOT}>")

    def _position(self) -> int:
        return self._parser.CurrentByteIndex - (len(_OPENED) if self._fragment else 0)

    def _place(self) -> str:
        """Describe the reader's position for a message."""
        after = f", after the page {self._last!r}" if self._last else ""
        return f"byte {max(0, self._position()):,} of the XML{self._start}{after}"

    def _refused(self, reason: str) -> DumpRefused:
        return DumpRefused(self._file, self._place(), reason)

    def _refuse_document_type(self, *_: object) -> None:
        raise self._refused("it declares a document type, which can define entities")

    def _declare(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            raise self._refused(f"it is written in {encoding}, not in UTF-8")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        path = self._path
        parent = path[-1]
        if self._leaf:
            raise self._refused(f"there is an element <{name}> within <{self._leaf}>")
        if len(path) > _DEEPEST:
            raise self._refused(f"its elements are more than {_DEEPEST} levels deep")
        path.append(name)
        if name in _VALUES.get(parent, ()):
            self._leaf, self._attributes = name, attributes
        elif name == "page" and parent == _ROOT:
            self._begin_page()
        elif name == "revision" and parent == "page":
            self._revision, self._lack = {}, None
        elif name == "redirect" and parent == "page":
            self._page["redirect"] = attributes.get("title", "")
        elif len(path) == 2:
            self._begin_document(name, attributes)

    def _begin_document(self, name: str, attributes: Mapping[str, str]) -> None:
        if name != _ROOT:
            raise self._refused(f"it is no dump of a MediaWiki, which begins with <{_ROOT}>, but with <{name}>")
        self._begun = True
        self.info.language = attributes.get("xml:lang", self.info.language)

    def _begin_page(self) -> None:
        self.info.whole = True
        self._page, self._latest = {}, _Revision({}, None)
        self._offset = self._position()

    def _hear(self, characters: str) -> None:
        if not self._leaf:
            return
        self._size += len(characters)
        if self._size <= _LONGEST_VALUE or (self._leaf == "text" and self._size <= LONGEST_TEXT):
            self._pieces.append(characters)
        elif self._leaf == "text":
            self._pieces.clear()
        else:
            raise self._refused(f"its <{self._leaf}> is longer than {_LONGEST_VALUE:,} characters")

    def _end(self, name: str) -> None:
        self._path.pop()
        if self._leaf:
            self._keep(name, "".join(self._pieces))
            self._leaf, self._size = "", 0
            self._pieces.clear()
        elif name == "revision" and self._path[-1] == "page":
            self._end_revision()
        elif name == "page" and self._path[-1] == _ROOT:
            page = self._dumped()
            self._read.append((self._offset, page))
            self._last = page.title
        elif name == "siteinfo":
            self.info.whole = True

    def _end_revision(self) -> None:
        """End a revision. Of several, the latest counts: an old one that was imported later comes last."""
        if self._revision.get("timestamp", "") >= self._latest.values.get("timestamp", ""):
            self._latest = _Revision(self._revision, self._lack)

    def _keep(self, name: str, value: str) -> None:
        parent = self._path[-1]
        if parent == "revision":
            self._revision[name] = value
            if name == "text":
                self._lack = self._missing_text(value)
                self._revision["bytes"] = self._attributes.get("bytes", "")
        elif parent == "page":
            self._page[name] = value
        elif parent == "namespaces":
            number = self._number(self._attributes.get("key"), name)
            self.info.namespaces[number] = value
            self.info.cases[number] = self._attributes.get("case", "")
        elif name == "dbname":
            self.info.database = value
        elif name == "base":
            self.info.base = value
        else:
            self.info.case = value

    def _missing_text(self, text: str) -> Absent | None:
        title = self._page.get("title", "")
        if "deleted" in self._attributes:
            return Absent(f"The text of {title!r} was deleted from the wiki.")
        if self._size > LONGEST_TEXT:
            reason = f"The text of {title!r} has {self._size:,} characters; it is read up to {LONGEST_TEXT:,}."
            return Absent(reason, Trouble.REJECTED)
        if not text and self._attributes.get("bytes", "0") != "0":
            return Absent(f"The dump lists {title!r}, but does not have its text.")
        return None

    def _number(self, value: str | None, name: str) -> int:
        if value is None or _NUMBER.fullmatch(value):
            return int(value or "0")
        raise DumpDamaged(self._file, self._place(), f"<{name}> should be a number and is {value[:50]!r}")

    def _dumped(self) -> Dumped:
        title, revision = self._page.get("title", ""), self._latest.values
        text = revision.get("text", "")
        if not title:
            raise DumpDamaged(self._file, self._place(), "a page has no title")
        redirect, fragment = _target(self._page.get("redirect"), text)
        space = self._page.get("ns")
        return Dumped(
            title,
            self.info.namespace(title) if space is None else self._number(space, "ns"),
            self._number(self._page.get("id"), "id"),
            redirect,
            self._number(revision.get("id"), "id"),
            revision.get("timestamp", ""),
            revision.get("model", "wikitext"),
            text,
            _length(text, revision.get("bytes", "")),
            fragment,
            self._latest.lack,
        )


def _length(text: str, told: str) -> int:
    """Return the length of a text in bytes: the wiki's own count, if there is one."""
    return int(told) if _NUMBER.fullmatch(told) else len(text.encode())


def _target(told: str | None, text: str) -> tuple[str | None, str]:
    """Return the title and the section that a page redirects to.

    `told` is the title in the dump: None if the page is no redirect, or if an old dump does not mark redirects; ''
    in dumps that mark redirects without their target.
    """
    link = (_REDIRECT if told is None else _REDIRECT_BY_ANY_WORD).match(text)
    if link is None:
        return told or None, ""
    title, hash_sign, fragment = link[1].partition("#")
    named = _ANY_SITE.title(f"A#{fragment}") if hash_sign else None
    return told or title.strip(), named.fragment if named else ""
