"""Word files (.docx): a part for each section, as the styles of headings make them.

Such a file is a ZIP archive of XML files. Those that are needed are unpacked, up to a limit, and read as a stream. XML
that declares a document type, with which entities come, is refused: Word writes none.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from lxml import etree

from detent.documents.outline import Outline
from detent.documents.parsed import Parsed, Unparsable

MOST_ENTRIES = 10_000
MOST_BYTES = 100_000_000
"""Bytes that are unpacked of a file, in all."""

_SMALL = 1_000_000
_HIGHEST_RATIO = 200
"""The largest ratio of an XML file to its packed size, if it is not small. Real ones are about ten times larger."""

_MOST_ELEMENTS, _LONGEST_VALUE, _MOST_COLUMNS = 200_000, 10_000, 1_000
_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_NOTES = ("footnote", "endnote")


class _Archive:
    """The files in the archive, of which only so much is unpacked."""

    def __init__(self, data: bytes) -> None:
        if data.startswith(b"\xd0\xcf\x11\xe0"):
            raise Unparsable("It is encrypted, or in the format of Word before 2007.")
        if data.count(b"PK\x01\x02") > MOST_ENTRIES:  # before zipfile makes an object of each
            raise Unparsable(f"It has more than {MOST_ENTRIES:,} files in it.")
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except Exception as error:  # zipfile raises almost anything when the archive is malformed
            raise Unparsable("It is no Word file, or it was cut off: it is no ZIP archive.") from error
        self._left = MOST_BYTES

    def read(self, name: str) -> bytes:
        """The content of a file; empty if it is not there."""
        try:
            entry = self._zip.getinfo(name)
        except KeyError:
            return b""
        self._check(entry)
        try:
            with self._zip.open(entry) as file:
                content = file.read(self._left + 1)
        except Exception as error:  # as above
            raise Unparsable(f"{name} in it cannot be unpacked: {error}.") from error
        self._left -= len(content)
        if self._left < 0:
            raise Unparsable(f"It is larger than {MOST_BYTES:,} bytes when it is unpacked.")
        return content

    def _check(self, entry: zipfile.ZipInfo) -> None:
        if entry.flag_bits & 1:
            raise Unparsable("It is encrypted.")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unparsable(f"{entry.filename} in it is packed in a way that Word does not use.")
        if entry.file_size > self._left:
            raise Unparsable(f"It is larger than {MOST_BYTES:,} bytes when it is unpacked.")
        if entry.file_size > max(_SMALL, _HIGHEST_RATIO * entry.compress_size):
            raise Unparsable(f"{entry.filename} in it is {entry.file_size:,} bytes packed in {entry.compress_size:,}.")


class _Target:
    """The target of the XML parser. Names are taken without their namespaces, which differ between editions of Word."""

    def doctype(self, *_: object) -> None:
        raise Unparsable("An XML file in it declares a document type, which Word files do not.")

    def close(self) -> None:
        pass


@dataclass
class _Element:
    name: str
    attributes: dict[str, str]
    text: str = ""


class _Elements(_Target):
    """The elements of a small XML file, one after the other."""

    def __init__(self) -> None:
        self.found: list[_Element] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self.found) >= _MOST_ELEMENTS:
            raise Unparsable(f"An XML file in it has more than {_MOST_ELEMENTS:,} elements.")
        self.found.append(_Element(_local(tag), {_local(name): value for name, value in attributes.items()}))

    def data(self, text: str) -> None:
        if len(self.found[-1].text) < _LONGEST_VALUE:
            self.found[-1].text += text


@dataclass(slots=True)
class _Paragraph:
    place: int = 0
    style: str = ""
    outline: int | None = None
    indent: int | None = None
    """The level in a list."""
    pieces: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()


@dataclass(slots=True)
class _Table(_Paragraph):
    row: list[list[str]] = field(default_factory=list)

    def end_row(self) -> None:
        if any(self.row):
            self.pieces.append(" | ".join(" ".join(cell) for cell in self.row) + "\n")
        self.row = []

    def add(self, paragraph: _Paragraph) -> None:
        self.row[-1].extend(paragraph.text.split())
        self.links.extend(paragraph.links)
        self.notes.extend(paragraph.notes)


class _Paragraphs(_Target):
    """Gives the paragraphs of a document that have text to `receive`, a table as one paragraph. Of a file of notes it
    keeps the text of each."""

    _LEFT_OUT = frozenset({"Fallback", "del", "moveFrom"})
    _SIGNS: Mapping[str, str] = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}

    def __init__(self, receive: Callable[[_Paragraph], None]) -> None:
        self.notes: dict[str, str] = {}
        self._receive = receive
        self._note: str | None = None
        self._left_out = self._place = 0
        self._in_text = self._in_properties = False
        self._open: list[_Paragraph] = []
        self._tables: list[_Table] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = _local(tag)
        if self._left_out or name in self._LEFT_OUT:
            self._left_out += 1
        elif name == "p":
            self._open.append(_Paragraph())
            self._in_properties = self._in_text = False
        elif name == "tbl":
            self._tables.append(_Table())
        elif name == "tc":
            if self._tables and len(self._tables[-1].row) < _MOST_COLUMNS:
                self._tables[-1].row.append([])
        elif name in _NOTES:
            self._note = _attribute(attributes, "id")
        elif self._open:
            self._begin(name, attributes, self._open[-1])

    def end(self, tag: str) -> None:
        name = _local(tag)
        if self._left_out:
            self._left_out -= 1
        elif name == "p":
            self._put(self._open.pop())
        elif name == "tr" and self._tables:
            self._tables[-1].end_row()
        elif name == "tbl":
            self._put(self._tables.pop())
        elif name in _NOTES:
            self._note = None
        elif name == "pPr":
            self._in_properties = False
        elif name == "t":
            self._in_text = False

    def data(self, text: str) -> None:
        if self._in_text and self._open and not self._left_out:
            self._open[-1].pieces.append(text)

    def _begin(self, name: str, attributes: Mapping[str, str], paragraph: _Paragraph) -> None:
        if name == "pPr":
            self._in_properties = True
        elif self._in_properties:
            self._begin_property(name, _attribute(attributes, "val"), paragraph)
        elif name == "t":
            self._in_text = True
        elif name in self._SIGNS:
            paragraph.pieces.append(self._SIGNS[name])
        elif name == "hyperlink":
            paragraph.links.append(_attribute(attributes, "id"))
        elif name.removesuffix("Reference") in _NOTES:
            paragraph.notes.append((name.removesuffix("Reference"), _attribute(attributes, "id")))

    def _begin_property(self, name: str, value: str, paragraph: _Paragraph) -> None:
        if name == "pStyle":
            paragraph.style = value
        elif name == "outlineLvl":
            paragraph.outline = _digit(value)
        elif name == "numPr":
            paragraph.indent = 0
        elif name == "ilvl":
            paragraph.indent = _digit(value) or 0
        elif name == "numId" and value == "0":  # it takes the paragraph out of its list
            paragraph.indent = -1

    def _put(self, paragraph: _Paragraph) -> None:
        if self._tables and self._tables[-1].row:
            self._tables[-1].add(paragraph)
            return
        self._place += 1
        paragraph.place = self._place
        if self._note is not None:
            self.notes[self._note] = f"{self.notes.get(self._note, '')} {paragraph.text}".strip()
        elif paragraph.text:
            self._receive(paragraph)


class _Styles:
    """The meaning of paragraph styles: the level of headings, and the styles that make items of a list."""

    def __init__(self, elements: list[_Element]) -> None:
        self._about: dict[str, dict[str, str]] = {}
        about: dict[str, str] = {}
        for element in elements:
            if element.name == "style":
                about = self._about.setdefault(element.attributes.get("styleId", ""), {})
            elif element.name in {"name", "basedOn", "outlineLvl"}:
                about.setdefault(element.name, element.attributes.get("val", ""))
            elif element.name == "numPr":
                about["list"] = "yes"

    def level(self, paragraph: _Paragraph) -> int:
        """The level of the heading that the paragraph is, 0 if it is none."""
        if paragraph.outline is not None:
            return (paragraph.outline + 1) % 10  # the last level of the outline is plain text
        for about in self._line(paragraph.style):
            if (outline := _digit(about.get("outlineLvl", ""))) is not None:
                return (outline + 1) % 10
            if match := _HEADING.fullmatch(about.get("name", "")):
                return int(match[1])
        match = _HEADING.fullmatch(paragraph.style) if paragraph.style not in self._about else None
        return int(match[1]) if match else 0

    def is_item(self, paragraph: _Paragraph) -> bool:
        if paragraph.indent is not None:
            return paragraph.indent >= 0
        return any("list" in about for about in self._line(paragraph.style))

    def _line(self, style: str) -> Iterator[dict[str, str]]:
        """The style, that which it is based on, and so on."""
        for _ in range(20):
            about = self._about.get(style)
            if about is None:
                return
            yield about
            style = about.get("basedOn", "")


class _Sections:
    """Makes the outline of the paragraphs. The notes of a section stand at its end."""

    def __init__(self, styles: _Styles, targets: Mapping[str, str], notes: Mapping[tuple[str, str], str]) -> None:
        self.outline = Outline("Section")
        self.place = 0
        self._styles, self._targets, self._notes = styles, targets, notes
        self._items: list[str] = []
        self._called: dict[tuple[str, str], None] = {}

    def receive(self, paragraph: _Paragraph) -> None:
        level = self._styles.level(paragraph)
        if level:
            self.end()
            self.outline.open(level, " ".join(paragraph.text.split()), paragraph.place)
        elif self._styles.is_item(paragraph):
            self._items.append(f"{'  ' * (paragraph.indent or 0)}- {paragraph.text}")
        else:
            self._end_list()
            self.outline.write(paragraph.text)
        self.place = paragraph.place
        self._called.update(dict.fromkeys(paragraph.notes))
        for link in dict.fromkeys(paragraph.links):
            self.outline.link("link", self._targets.get(link, ""), paragraph.place)

    def end(self) -> None:
        """The section ends here."""
        self._end_list()
        if notes := "\n".join(filter(None, map(self._notes.get, self._called))):
            self.outline.write(notes)
        self._called.clear()

    def _end_list(self) -> None:
        if self._items:
            self.outline.write("\n".join(self._items))
            self._items.clear()


def parse(data: bytes, name: str) -> Parsed:
    """Read a Word file."""
    archive = _Archive(data)
    problems: list[str] = []
    package = _relations(archive, "", problems)
    main = next((target for kind, target in package.values() if kind == "officeDocument"), "word/document.xml")
    content = archive.read(main)
    if not content:
        raise Unparsable("It is no Word file: it has no document in it.")
    relations = _relations(archive, main, problems)
    of_kind = dict(relations.values())
    styles = _Styles(_elements(archive, of_kind.get("styles", ""), problems))
    targets = {key: target for key, (kind, target) in relations.items() if kind == "hyperlink"}
    sections = _Sections(styles, targets, _notes(archive, of_kind, problems))
    _feed(content, _Paragraphs(sections.receive), main, problems)
    sections.end()
    unread = problems[-1:]
    title, properties = _about(_elements(archive, dict(package.values()).get("core-properties", ""), problems))
    parsed = sections.outline.parsed("docx", sections.place, title=title, properties=properties, problems=problems)
    if unread and not (parsed.parts or parsed.text):
        raise Unparsable(unread[0])
    return parsed


def _relations(archive: _Archive, source: str, problems: list[str]) -> dict[str, tuple[str, str]]:
    """The relations of a file in the archive, by their ids there: the kind, and the path or the address."""
    found: dict[str, tuple[str, str]] = {}
    folder, base = posixpath.split(source)
    for element in _elements(archive, posixpath.join(folder, "_rels", f"{base}.rels"), problems):
        about, target = element.attributes, element.attributes.get("Target", "")
        if target and about.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        if target:
            found[about.get("Id", "")] = (about.get("Type", "").rpartition("/")[2], target)
    return found


def _elements(archive: _Archive, path: str, problems: list[str]) -> list[_Element]:
    _feed_beside(archive, elements := _Elements(), path, problems)
    return elements.found


def _notes(archive: _Archive, of_kind: Mapping[str, str], problems: list[str]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for kind in _NOTES:
        target = _Paragraphs(lambda _: None)
        _feed_beside(archive, target, of_kind.get(f"{kind}s", ""), problems)
        found.update({(kind, key): text for key, text in target.notes.items()})
    return found


def _feed_beside(archive: _Archive, target: _Target, path: str, problems: list[str]) -> None:
    """Read an XML file that the document can do without."""
    try:
        if content := archive.read(path):
            _feed(content, target, path, problems)
    except Unparsable as error:
        problems.append(str(error))


def _feed(content: bytes, target: _Target, path: str, problems: list[str]) -> None:
    """Read an XML file up to its end, or to where it is malformed."""
    parser = etree.XMLParser(target=target, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        problems.append(f"{path} in it is malformed at line {line}, column {column}; what comes before was read.")


def _about(elements: list[_Element]) -> tuple[str, dict[str, Any]]:
    """The title, and who made the file when, as it says itself."""
    said = {element.name: " ".join(element.text.split()) for element in elements}
    named = {"author": said.get("creator"), "created": said.get("created")}
    return said.get("title", ""), {name: value for name, value in named.items() if value}


def _digit(text: str) -> int | None:
    return int(text) if len(text) == 1 and text in "0123456789" else None


def _attribute(attributes: Mapping[str, str], name: str) -> str:
    return next((value for key, value in attributes.items() if _local(key) == name), "")


def _local(name: str) -> str:
    return name.rpartition("}")[2]
