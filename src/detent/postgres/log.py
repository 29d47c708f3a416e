"""The server's log, `.detent/server.log`: bounded, and the source of the error message when the server does not
start."""

import os
import re
from pathlib import Path

from detent.postgres.folder import open_file

LIMIT_BYTES = 8 * 1024 * 1024

_FATAL = re.compile(r"(?:FATAL|PANIC):\s+(.+)")
_COMPLAINT = re.compile(r"(?:ERROR|error):\s+(.+)")
_TO_CLIENTS = "the database system is "  # …starting up, shutting down: said to a client that came too early


def open_log(path: Path) -> int:
    """Open the log for the server to append to."""
    return open_file(path, os.O_APPEND)


def bound(path: Path) -> None:
    """Keep the end of a log that has grown long as `server.log.1`, and empty the log under a running server."""
    if size_bytes(path) <= LIMIT_BYTES:
        return
    older, log = path.with_name(f"{path.name}.1"), open_log(path)
    try:
        older.unlink(missing_ok=True)
        with os.fdopen(open_file(older), "wb") as file:
            file.write(os.pread(log, LIMIT_BYTES, os.fstat(log).st_size - LIMIT_BYTES))
        os.ftruncate(log, 0)
    finally:
        os.close(log)


def size_bytes(path: Path) -> int:
    """Return the length of the log, which is the position where the next start begins."""
    return path.stat().st_size if path.exists() else 0


def since(path: Path, start: int) -> str:
    """Return the text after a position."""
    with path.open("rb") as file:
        file.seek(start)
        return file.read(LIMIT_BYTES).decode(errors="replace")


def last_words(said: str) -> str:
    """Return the last fatal message of a program, or its first error, or its last line."""
    fatal = [words for words in _FATAL.findall(said) if not words.startswith(_TO_CLIENTS)]
    return (fatal[-1:] or _COMPLAINT.findall(said)[:1] or said.strip().splitlines()[-1:] or [""])[0].strip()
