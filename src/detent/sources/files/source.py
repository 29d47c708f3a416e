"""The files source, as it is declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detent.lifecycle import NODE, PASSAGE
from detent.sources.files.discovering import discover
from detent.sources.files.folder import DIRECTORY, FILE, IMAGE, Folder
from detent.sources.files.handling import Handling
from detent.sources.files.settings import FolderSettings
from detent.sources.files.watching import watch
from detent.sources.source import Handler, Source

ENTRIES = (FILE, IMAGE, DIRECTORY)
PARTS = ("MarkdownSection", "Section", "Scope", "Page", "Passage", "Library", "Address")

_AT_ONCE = 2
"""Parsing is Python's own work, and files are near: more threads would only wait for each other. With two, a large file
does not hold up the small ones."""


def make(name: str, settings: Mapping[str, Any]) -> Source:
    """A folder as a source: every entry is an item that is parsed and linked, and brings its parts with it."""
    given = FolderSettings.of(settings)
    handling = Handling(given)
    handlers = [
        Handler(state, function, reads="node", concurrency=_AT_ONCE, computes=True)
        for state, function in (("parsing", handling.parse), ("linking", handling.link))
    ]
    lifecycles = {**dict.fromkeys(ENTRIES, NODE), **dict.fromkeys(PARTS, PASSAGE)}
    return Source(
        name,
        lifecycles,
        handlers,
        lambda: discover(Folder(given)),
        given.language,
        complete=ENTRIES,
        watch=lambda: watch(given.root),
    )
