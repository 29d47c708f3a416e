"""The XML that a wiki writes of all its pages, packed as Wikipedia publishes it."""

from __future__ import annotations

import bz2
import re
from pathlib import Path

FORMS = ("multistream", "xml")

_PAGE = re.compile(rb"  <page>\n.*?</page>\n", re.DOTALL)
_TITLE = re.compile(rb"<title>(.*?)</title>.*?<id>(\d+)</id>", re.DOTALL)
_PER_STREAM = 100


def pack(xml: bytes, folder: Path, form: str) -> Path:
    """A dump in a folder: as it is, or a hundred pages to a stream with an index beside it."""
    if form == "xml":
        path = folder / "owlwiki-20260101-pages-articles.xml"
        path.write_bytes(xml)
        return path
    pages = list(_PAGE.finditer(xml))
    packed = bytearray(bz2.compress(xml[: pages[0].start()]))
    lines = bytearray()
    for start in range(0, len(pages), _PER_STREAM):
        together = [page[0] for page in pages[start : start + _PER_STREAM]]
        lines += b"".join(_line(len(packed), page) for page in together)
        packed += bz2.compress(b"".join(together))
    packed += bz2.compress(xml[pages[-1].end() :])
    (folder / "owlwiki-20260101-pages-articles-multistream-index.txt.bz2").write_bytes(bz2.compress(lines))
    path = folder / "owlwiki-20260101-pages-articles-multistream.xml.bz2"
    path.write_bytes(packed)
    return path


def _line(offset: int, page: bytes) -> bytes:
    found = _TITLE.search(page)
    assert found is not None
    return b"%d:%s:%s\n" % (offset, found[2], found[1])
