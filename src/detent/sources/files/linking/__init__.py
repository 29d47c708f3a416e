"""Linking: from what a parser found in one file to what the file and its parts refer to.

A reference goes to the key that its target would have, whether or not there is such a node yet. It is decided from this
file, its path, and what `Roots` knows of the folder, so that the graph does not depend on the order in which files are
read. Where a name may mean one of a few files, each of them gets a reference, and those that are no node stay without
effect. What cannot be decided gets none.

`documents` follows links, one module for each family of `languages` follows imports, `scopes` finds names in the file
itself, `consuming` brings names and scopes together, and all of them write into `Gathered`.
"""

from __future__ import annotations

from detent.documents.parsed import Parsed
from detent.sources.files.linking import documents
from detent.sources.files.linking.consuming import consume
from detent.sources.files.linking.gathering import Gathered, Linked
from detent.sources.files.linking.roots import Roots

__all__ = ["VERSION", "Linked", "Roots", "links"]

VERSION = 5
"""Another number whenever other references are made of the same file."""


def links(path: str, parsed: Parsed, roots: Roots) -> Linked:
    """What a file and its parts refer to. `path` is the file's, from the root of the source."""
    from detent.sources.files.linking.languages import LANGUAGES

    gathered = Gathered(path)
    documents.link(gathered, parsed, roots)
    if (link := LANGUAGES.get(parsed.kind)) is not None:
        consume(gathered, parsed, link(gathered, parsed, roots))
    return gathered.linked
