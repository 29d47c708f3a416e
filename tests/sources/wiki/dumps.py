"""Writes dumps as MediaWiki does, of pages that a test names.

    path = dumps.write(tmp_path, [DumpedPage("Owl", "A bird."), DumpedPage("Owls", redirect="Owl")])

`form` is "multistream" (its index packed beside it), "multistream-text" (its index a text file), "multistream-bare"
(without an index), "bz2", "gz", "xml", or "folder" (multistreams of a few pages each, with their indexes).
"""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from detent.sources.wiki.dump import Dump
from detent.sources.wiki.pages import Page

FORMS = ("multistream", "multistream-text", "multistream-bare", "bz2", "gz", "xml", "folder")

NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    4: "Almanac",
    6: "File",
    8: "MediaWiki",
    10: "Template",
    14: "Category",
    828: "Module",
}

_FIRST_ID, _FIRST_REVISION = 11, 5001


@dataclass(frozen=True)
class DumpedPage:
    """A page to be dumped. `redirect` is what it leads to, maybe with a section after a `#`; its text then says so, if
    none is given. Numbers that are not given are those of its place. `before` are the texts of older revisions."""

    title: str
    text: str = ""
    namespace: int = 0
    redirect: str | None = None
    id: int | None = None
    revision: int | None = None
    edited: str = "2024-02-29T12:00:00Z"
    model: str = "wikitext"
    before: tuple[str, ...] = ()
    deleted: bool = False


@dataclass(frozen=True)
class Wiki:
    """What the head of a dump says."""

    name: str = "owlwiki"
    language: str = "en"
    case: str = "first-letter"
    namespaces: Mapping[int, str] = field(default_factory=lambda: dict(NAMESPACES))
    schema: str = "0.11"
    base: str = "http://owl.example/wiki/Main_Page"


def write(
    folder: Path, pages: Sequence[DumpedPage], form: str = "multistream", *, wiki: Wiki | None = None, per: int = 100
) -> Path:
    """A dump in a folder; the path is that of the file, or of the folder of parts. `per` are the pages of a stream."""
    wiki = wiki or Wiki()
    numbered = [_numbered(page, place) for place, page in enumerate(pages)]
    stem = f"{wiki.name}-20240301-pages-articles"
    if form == "folder":
        return _write_folder(folder / f"{stem}-parts", numbered, wiki, per)
    if form.startswith("multistream"):
        return _write_multistream(folder / f"{stem}-multistream.xml.bz2", numbered, wiki, per, form)
    document = xml(numbered, wiki)
    path = folder / (f"{stem}.xml" if form == "xml" else f"{stem}.xml.{form}")
    if form == "gz":
        document = gzip.compress(document)
    elif form == "bz2":
        document = bz2.compress(document)
    path.write_bytes(document)
    return path


def xml(pages: Sequence[DumpedPage], wiki: Wiki | None = None) -> bytes:
    """A whole dump as plain XML."""
    wiki = wiki or Wiki()
    written = "".join(page_xml(_numbered(page, place), wiki.schema) for place, page in enumerate(pages))
    return (head(wiki) + written + _TAIL).encode()


def head(wiki: Wiki) -> str:
    """What stands before the first page."""
    spaces = "\n".join(
        f'      <namespace key="{number}" case="{wiki.case}">{escape(name)}</namespace>'
        if name
        else f'      <namespace key="{number}" case="{wiki.case}" />'
        for number, name in wiki.namespaces.items()
    )
    address = f"http://www.mediawiki.org/xml/export-{wiki.schema}/"
    return (
        f'<mediawiki xmlns="{address}" version="{wiki.schema}" xml:lang="{wiki.language}">\n'
        f"  <siteinfo>\n    <sitename>The Owl</sitename>\n    <dbname>{wiki.name}</dbname>\n"
        f"    <base>{wiki.base}</base>\n    <generator>a test</generator>\n"
        f"    <case>{wiki.case}</case>\n    <namespaces>\n{spaces}\n    </namespaces>\n  </siteinfo>\n"
    )


_TAIL = "</mediawiki>\n"


def page_xml(page: DumpedPage, schema: str = "0.11") -> str:
    """A page as it stands in a dump."""
    target = "" if page.redirect is None else f"    <redirect title={quoteattr(page.redirect.partition('#')[0])} />\n"
    texts = [*page.before, page.text]
    last = page.revision or 0
    revisions = "".join(
        _revision_xml(page, text, last - len(texts) + 1 + place, schema) for place, text in enumerate(texts)
    )
    return (
        f"  <page>\n    <title>{escape(page.title)}</title>\n    <ns>{page.namespace}</ns>\n    <id>{page.id}</id>\n"
        f"{target}{revisions}  </page>\n"
    )


def _revision_xml(page: DumpedPage, text: str, number: int, schema: str) -> str:
    author = "<username>Ann</username>\n        <id>7</id>"
    origin = f"      <origin>{number}</origin>\n" if schema == "0.11" else ""
    size = len(text.encode())
    if page.deleted:
        written = f'<text bytes="{size}" deleted="deleted" />'
    elif text:
        written = f'<text bytes="{size}" xml:space="preserve">{escape(text)}</text>'
    else:
        written = '<text bytes="0" />'
    return (
        f"    <revision>\n      <id>{number}</id>\n      <parentid>3</parentid>\n"
        f"      <timestamp>{page.edited}</timestamp>\n"
        f"      <contributor>\n        {author}\n      </contributor>\n      <comment>better</comment>\n{origin}"
        f"      <model>{page.model}</model>\n      <format>text/x-wiki</format>\n      {written}\n"
        f"      <sha1>phoiac9h4m842xq45sp7s6u21eteeq1</sha1>\n    </revision>\n"
    )


def _numbered(page: DumpedPage, place: int) -> DumpedPage:
    return replace(
        page,
        id=_FIRST_ID + place if page.id is None else page.id,
        revision=_FIRST_REVISION + 10 * place if page.revision is None else page.revision,
        text=f"#REDIRECT [[{page.redirect}]]" if page.redirect is not None and not page.text else page.text,
    )


def _write_folder(folder: Path, pages: Sequence[DumpedPage], wiki: Wiki, per: int) -> Path:
    folder.mkdir()
    third = max(1, -(-len(pages) // 3))
    for number, start in enumerate(range(0, len(pages), third), 1):
        part = pages[start : start + third]
        name = f"{wiki.name}-20240301-pages-articles-multistream{number}.xml-p{part[0].id}p{part[-1].id}.bz2"
        _write_multistream(folder / name, part, wiki, per, "multistream")
    return folder


def _write_multistream(path: Path, pages: Sequence[DumpedPage], wiki: Wiki, per: int, form: str) -> Path:
    packed = bytearray(bz2.compress(head(wiki).encode()))
    lines: list[str] = []
    for start in range(0, len(pages), per):
        together = pages[start : start + per]
        lines += (f"{len(packed)}:{page.id}:{escape(page.title, {chr(34): '&quot;'})}\n" for page in together)
        packed += bz2.compress("".join(page_xml(page, wiki.schema) for page in together).encode())
    path.write_bytes(packed + bz2.compress(_TAIL.encode()))
    name = re.sub(r"multistream(\d*)\.xml", r"multistream-index\1.txt", path.name).removesuffix(".bz2")
    index = "".join(lines).encode()
    if form == "multistream":
        path.with_name(f"{name}.bz2").write_bytes(bz2.compress(index))
    elif form == "multistream-text":
        path.with_name(name).write_bytes(index)
    return path


def text_of(dump: Dump, title: str) -> str:
    """The text of a page that is in a dump."""
    answer = dump.find([title])[title]
    assert isinstance(answer, Page)
    return answer.text
