"""What is made once and kept: a file that is there wholly or not at all, whoever is killed while making it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from detent.sources.wiki.dump.damage import CacheUnwritable

_HALF = ".half"
_LONGEST_NAME = 120


def name(kind: str, path: Path, *others: Path) -> str:
    """What is made of a file, with the help of others, is called. When one of them changes, it has another name."""
    stamps = [f"{found.st_size}-{found.st_mtime_ns}" for found in (each.stat() for each in (path, *others))]
    return "-".join([path.name[-_LONGEST_NAME:], *stamps]) + f".{kind}"


@contextmanager
def made(target: Path, source: Path) -> Iterator[Path]:
    """A file to write, which takes the target's name when all has gone well. Two who make the same do not meet."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        half, lock = _begun(target)
        try:
            yield half
            os.fsync(lock)  # a power cut must not leave an empty file under the name of a whole one
            half.replace(target)
        finally:
            with suppress(FileNotFoundError):
                half.unlink()
            os.close(lock)
    except OSError as error:
        raise CacheUnwritable(target.parent, source, error.strerror or error) from None


def _begun(target: Path) -> tuple[Path, int]:
    """A new file, held by a lock for as long as its maker lives. One that was swept away before it was locked is made
    again."""
    while True:
        descriptor, written = tempfile.mkstemp(dir=target.parent, prefix=f"{target.name}.", suffix=_HALF)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if Path(written).exists():
                return Path(written), descriptor
        os.close(descriptor)


def _sweep(target: Path) -> None:
    """Remove what those have left who were killed while they made the same. A file that is locked is being made."""
    for half in target.parent.iterdir():
        if not (half.name.startswith(f"{target.name}.") and half.name.endswith(_HALF)):
            continue
        with suppress(FileNotFoundError), half.open("rb") as file, suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            half.unlink()
