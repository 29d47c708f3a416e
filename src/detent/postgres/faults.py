"""Faults between PostgreSQL and the machine, translated into Detent's errors."""

import errno
import os
from pathlib import Path

from detent.errors import DiskFull, EmbeddedServerError, FolderUnusable, ServerFailed
from detent.postgres import log

_TOO_LITTLE_BYTES = 1024 * 1024
_NO_SPACE = ("No space left on device", "Disk quota exceeded", "File too large", "Check free disk space")


def of_system(error: OSError, folder: Path) -> EmbeddedServerError:
    """Return the error for a call that the system refused."""
    where = error.filename or folder
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(where)
    return FolderUnusable(where, os.strerror(error.errno) if error.errno else str(error))


def of_server(doing: str, said: str, data: Path, log_path: Path) -> EmbeddedServerError:
    """Return the error for a program of PostgreSQL that ended; a full disk may have swallowed its message."""
    if any(words in said for words in _NO_SPACE) or _is_full(data):
        return DiskFull(data)
    words = log.last_words(said).rstrip(".") or "it said nothing"
    return ServerFailed(f"PostgreSQL did not {doing} in {data}: {words}. Its log is {log_path}.")


def _is_full(data: Path) -> bool:
    room = os.statvfs(data if data.exists() else data.parent)
    return room.f_bavail * room.f_frsize < _TOO_LITTLE_BYTES
