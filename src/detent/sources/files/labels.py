"""The labels of a folder's entries."""

from __future__ import annotations

from detent.documents.formats import format_of
from detent.sources.files.folder import Entry

FILE, IMAGE, DIRECTORY = "File", "ImageFile", "Directory"


def label_of(entry: Entry) -> str:
    if entry.is_folder:
        return DIRECTORY
    return IMAGE if format_of(entry.path).name == "image" else FILE
