"""Linking: from what a parser found in one file to what the file and its parts refer to.

A reference goes to the key that its target would have, whether or not there is such a node yet. It is decided from this
file, its path, and what `Roots` knows of the folder, so that the graph does not depend on the order in which files are
read. Where a name may mean one of a few files, each of them gets a reference, and those that are no node stay without
effect. What cannot be decided gets none.

`documents` follows links, one module for each of `languages` follows imports, `scopes` finds names in the file itself,
`consuming` brings names and scopes together, and all of them write into `Gathered`.
"""

from __future__ import annotations

from detent.documents.code.languages import by_name, name_of
from detent.documents.formats import format_of
from detent.documents.parsed import Parsed
from detent.sources.files.linking import documents
from detent.sources.files.linking.consuming import consume, nowhere
from detent.sources.files.linking.gathering import Gathered, Linked
from detent.sources.files.linking.languages import link_of, root_of
from detent.sources.files.linking.paths import ending_of
from detent.sources.files.linking.roots import Roots

__all__ = ["VERSION", "Linked", "Roots", "fingerprint", "links"]

VERSION = 5
"""Another number whenever other references are made of the same file."""


def links(path: str, parsed: Parsed, roots: Roots) -> Linked:
    """Find what a file and its parts refer to. `path` is the file's, from the root of the source."""
    gathered = Gathered(path)
    documents.link(gathered, parsed, roots)
    if (language := by_name(parsed.kind)) is not None:
        link = link_of(language.name)
        consume(gathered, parsed, language, link(gathered, parsed, roots) if link else nowhere)
    return gathered.linked


def fingerprint(path: str, roots: Roots) -> str:
    """A short text that is another one when the file at this path may have other links for what is in other files."""
    is_document = format_of(path).name in documents.KINDS
    find = documents.root if is_document else root_of(name_of(ending_of(path)))
    return find(roots, path).fingerprint if find is not None else ""
