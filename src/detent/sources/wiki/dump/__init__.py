"""Dumps: the files to which MediaWiki exports all its pages, and which Wikipedia publishes.

A `Dump` is one file or a folder of `parts`. Each file is compressed in some way, which `unpacking` undoes piece by
piece, and is XML, which `markup` turns into pages. To find a page without reading those before it, a part takes
one of two `forms`, and has a `catalogue` of titles and places, which is built once and kept; so are the
`standings` of all pages, if many are requested. Nothing here holds more of a dump than a few streams, whatever its
size; and of a damaged file, the part before the damage is read.
"""

from detent.sources.wiki.dump.damage import (
    CacheUnwritable,
    DumpDamaged,
    DumpMissing,
    DumpRefused,
    DumpUnreadable,
    IndexMismatched,
    NoDump,
)
from detent.sources.wiki.dump.dump import Dump
from detent.sources.wiki.dump.page import Dumped, Listed

__all__ = [
    "CacheUnwritable",
    "Dump",
    "DumpDamaged",
    "DumpMissing",
    "DumpRefused",
    "DumpUnreadable",
    "Dumped",
    "IndexMismatched",
    "Listed",
    "NoDump",
]
