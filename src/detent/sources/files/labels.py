"""The labels of a folder's entries."""

from __future__ import annotations

from detent.sources.files.folder import Entry
from detent.sources.files.parsing.kinds import kind_of

FILE, IMAGE, DIRECTORY = "File", "ImageFile", "Directory"


def label_of(entry: Entry) -> str:
    if entry.is_folder:
        return DIRECTORY
    return IMAGE if kind_of(entry.path).name == "image" else FILE
