"""Files that are made once and kept: a file exists completely or not at all, even if its maker is killed.

If several processes need it, one makes it, and the others wait. Locks ensure that, and end with their holders. On
a file system without locks, each process makes its own, and the last one is kept.
"""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from detent.sources.wiki.dump.damage import CacheUnwritable

_HALF, _LOCK = ".half", ".lock"
_LONGEST_NAME = 120
_MADE = re.compile(r"(.+?)-[0-9]+-[0-9]+(?:-[0-9]+-[0-9]+)*\.(?:xml|standings|[a-z]+\.npy)(\.lock|\..+\.half)?")


def name(kind: str, path: Path, *others: Path) -> str:
    """Return the name of a file derived from a file and some others. When one of them changes, the name changes."""
    return "-".join([_beginning(path), *map(stamp, others)]) + f".{kind}"


def tidy(cache: Path, dropped: Iterable[Path], others: Iterable[Path]) -> None:
    """Remove the files derived from some files, but not those derived from the present versions of others; if one
    of those is missing, its files stay. Files in the making stay, and remains of killed makers are removed."""
    mine = {_shortened(path) for path in dropped}
    kept = tuple(_beginning(path) if path.is_file() else f"{_shortened(path)}-" for path in others)
    for each in cache.iterdir() if cache.is_dir() else ():
        made = _MADE.fullmatch(each.name)
        if made and made[1] in mine and not each.name.startswith(kept):
            _remove_unlocked(each) if made[2] else each.unlink(missing_ok=True)


def _beginning(path: Path) -> str:
    return f"{_shortened(path)}-{stamp(path)}"


def _shortened(path: Path) -> str:
    return path.name[-_LONGEST_NAME:]


def stamp(path: Path) -> str:
    """Return a stamp that tells a file from one that replaces it."""
    found = path.stat()
    return f"{found.st_size}-{found.st_mtime_ns}"


@contextmanager
def alone(target: Path, source: Path) -> Iterator[None]:
    """Hold a target exclusively. The new holder checks whether another process has made it."""
    path = target.with_name(f"{target.name}{_LOCK}")
    while True:
        with _opened(path, source) as file:
            if _locked(file, fcntl.LOCK_EX) and not _is_at(path, file):
                continue  # its last holder removed it
            try:
                yield
            finally:
                with suppress(OSError):
                    path.unlink()
            return


@contextmanager
def made(target: Path, source: Path) -> Iterator[Path]:
    """Open a file for writing; it gets the target's name on success. Concurrent makers of one target write to
    different files."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        half, lock = _begun(target)
        try:
            yield half
            os.fsync(lock)  # a power cut must not leave an empty file under the target's name
            half.replace(target)
        finally:
            with suppress(FileNotFoundError):
                half.unlink()
            os.close(lock)
    except OSError as error:
        raise CacheUnwritable(target.parent, source, error.strerror or error) from None


def _begun(target: Path) -> tuple[Path, int]:
    """Create a new file, locked for as long as its maker lives. A file that was swept before it was locked is
    created again."""
    while True:
        descriptor, written = tempfile.mkstemp(dir=target.parent, prefix=f"{target.name}.", suffix=_HALF)
        with suppress(BlockingIOError):
            _locked(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if Path(written).exists():
                return Path(written), descriptor
        os.close(descriptor)


def _sweep(target: Path) -> None:
    """Remove the remains of killed makers of the same target. A locked file is in the making."""
    for half in target.parent.iterdir():
        if half.name.startswith(f"{target.name}.") and half.name.endswith(_HALF):
            _remove_unlocked(half)


def _remove_unlocked(path: Path) -> None:
    with suppress(FileNotFoundError), path.open("rb") as file, suppress(BlockingIOError):
        if _locked(file, fcntl.LOCK_EX | fcntl.LOCK_NB):
            path.unlink()


def _opened(path: Path, source: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab")
    except OSError as error:
        raise CacheUnwritable(path.parent, source, error.strerror or error) from None


def _locked(file: BinaryIO | int, operation: int) -> bool:
    """Lock a file; return False on a file system without locks. BlockingIOError: another process holds it."""
    try:
        fcntl.flock(file, operation)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
