"""What is made once and kept: a file that is there wholly or not at all, whoever is killed while making it."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from detent.sources.wiki.dump.damage import CacheUnwritable

_HALF = ".half"
_LONGEST_NAME = 120
_MADE = re.compile(r"(.+?)-[0-9]+-[0-9]+(?:-[0-9]+-[0-9]+)*\.(?:xml|[a-z]+\.npy)")


def name(kind: str, path: Path, *others: Path) -> str:
    """What is made of a file, with the help of others, is called. When one of them changes, it has another name."""
    return "-".join([_beginning(path), *map(stamp, others)]) + f".{kind}"


def tidy(cache: Path, dropped: Iterable[Path], others: Iterable[Path]) -> None:
    """Remove what was made of some files, but not of these others as they are now; of one that is away, nobody knows
    how it is. What is being made stays."""
    mine = {_shortened(path) for path in dropped}
    kept = tuple(_beginning(path) if path.is_file() else f"{_shortened(path)}-" for path in others)
    for each in cache.iterdir() if cache.is_dir() else ():
        made = _MADE.fullmatch(each.name)
        if made and made[1] in mine and not each.name.startswith(kept):
            each.unlink(missing_ok=True)


def _beginning(path: Path) -> str:
    return f"{_shortened(path)}-{stamp(path)}"


def _shortened(path: Path) -> str:
    return path.name[-_LONGEST_NAME:]


def stamp(path: Path) -> str:
    """What tells a file from one that takes its place."""
    found = path.stat()
    return f"{found.st_size}-{found.st_mtime_ns}"


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
