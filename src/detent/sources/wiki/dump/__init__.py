"""Dumps: the files that a MediaWiki writes of all its pages, and that Wikipedia publishes.

A `Dump` is one file or a folder of `parts`. Each is packed in some way, which `unpacking` undoes piece by piece, and is
XML, of which `markup` makes pages. To find a page without reading those before it, a part takes one of two `forms`, and
has a `catalogue` of titles and places, which is made once and kept; so are the `standings` of all pages, where many are
asked for. Nothing here holds more of a dump than a few streams of it, whatever its size; and of what is damaged, that
which stands before the damage is told.
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
