"""Reading one file: all of it as it was at one moment, or why not."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from detent.knowledge import Failed, Retry, Skipped
from detent.lifecycle import Trouble
from detent.sources.files.folder import Folder

_AGAIN_SECONDS = 1.0
_GONE = "The file is no longer there."


@dataclass(frozen=True, slots=True)
class Content:
    """A file's bytes and its size; of one that is too large only the size."""

    data: bytes | None
    size: int


def read(folder: Folder, path: str, most_bytes: int) -> Content | Failed | Retry | Skipped:
    """Read a file. One that is being written to is read later."""
    entry = folder.entry(path)
    if entry.status is None and not os.path.lexists(folder.at(path)):
        return Failed(_GONE, Trouble.NOT_FOUND)
    if entry.reason:
        return Skipped(entry.reason)
    try:
        return _read(folder, path, most_bytes)
    except FileNotFoundError:
        return Failed(_GONE, Trouble.NOT_FOUND)
    except PermissionError:
        return Failed("The file may not be read.", Trouble.FORBIDDEN)
    except OSError as error:
        return Retry(f"The file cannot be read: {error.strerror or error}.", Trouble.RESOURCES)


def _read(folder: Folder, path: str, most_bytes: int) -> Content | Retry | Skipped:
    # Without O_NONBLOCK, a pipe that took the file's place since it was looked at would be waited for.
    with os.fdopen(os.open(folder.at(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        before = os.fstat(file.fileno())
        if not folder.has(file.fileno()):
            return Skipped("It leads out of the folder.")
        if not stat.S_ISREG(before.st_mode):
            return Skipped("It is no ordinary file.")
        if before.st_size > most_bytes:
            return Content(None, before.st_size)
        data = file.read(most_bytes + 1)
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(data) != after.st_size:
        return Retry("The file was written to while it was read.", Trouble.RESOURCES, retry_after=_AGAIN_SECONDS)
    return Content(data, len(data))
