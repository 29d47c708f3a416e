"""Discovery: what is in the folder, named with a stamp of each entry that tells cheaply whether it may have changed.

A stamp is made of what the file system says, of the versions of parser and linking, and of what links depend on in
other files, so that nothing is read of what is as it was. A file that was written a moment ago may be written again
without its stamp being another one, as far as clocks are fine; its stamp is one that will not come again, so that it is
looked at once more.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence

from detent.documents import formats
from detent.documents.formats import format_of
from detent.knowledge import NewItem
from detent.sources.files.folder import Entry, Folder
from detent.sources.files.linking import VERSION, Roots, fingerprint

_FRESH_SECONDS = 2.0
_ROOTS = "roots:"


def discover(folder: Folder) -> Iterator[NewItem]:
    """Everything in the folder that is not ignored."""
    roots = Roots(folder)
    for entry, inside in folder.walk():
        yield NewItem(entry.key, entry.label, content_hash=_stamp(folder, entry, inside, roots, time.time()))


def _stamp(folder: Folder, entry: Entry, inside: Sequence[Entry], roots: Roots, now: float) -> str:
    """A text that changes when the entry may have changed."""
    status = entry.status
    if entry.reason or status is None:
        return f"left out: {entry.reason}"
    if entry.is_folder:
        listing = f"{folder.name(entry.path)}\0" + "\0".join(f"{each.label}/{each.key}" for each in inside)
        return hashlib.sha256(listing.encode()).hexdigest()[:32]
    kind = format_of(entry.path)
    versions = f"{kind.name}{kind.version}-{VERSION}" + (f"-{formats.MEDIA.version}" if kind is formats.PLAIN else "")
    told = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {versions} {folder.reading}"
    fresh = f" fresh at {now:.6f}" if abs(now - status.st_mtime) < _FRESH_SECONDS else ""
    return f"{told} {_ROOTS}{fingerprint(entry.path, roots)}{fresh}"


def fingerprint_in(stamp: str) -> str:
    """The part of a file's stamp that tells what its links depend on elsewhere."""
    return stamp.partition(_ROOTS)[2].partition(" ")[0]
