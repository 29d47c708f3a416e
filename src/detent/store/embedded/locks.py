"""Lock files in `.detent/locks/`, held with `flock`, which the kernel releases however a process ends.

| file          | held by                          | means                                        |
|---------------|----------------------------------|----------------------------------------------|
| `users.lock`  | every attachment, shared         | someone uses the server                      |
|               | the warden, exclusive            | nobody does, and the server is being stopped |
| `start.lock`  | whoever starts or stops it       | one at a time                                |
| `server.lock` | PostgreSQL and all its processes | some process of the server is alive          |
| `warden.lock` | the warden                       | a warden is watching                         |
| `holder.lock` | the holder of `detent db start`  | the server stays up without a user           |

A process that takes two of them takes `users` before `start`, and `start` before the rest.

A lock belongs to the open file, which a fork shares with its parent. A forked child therefore closes its
copies at once: it neither keeps the server up nor releases what its parent holds. The locks need a local
file system.
"""

import contextlib
import fcntl
import os
import threading
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

from detent.store.embedded.folder import open_file

_opening = threading.RLock()


class Lock:
    """One open lock file. Closing it lets go, unless a process that was started with it holds it too."""

    def __init__(self, path: Path) -> None:
        """Opens the file, and makes it if it is missing."""
        self.path = path
        self._number: int | None = None
        with _opening:
            self._number = open_file(path)
            _all.add(self)

    def share(self) -> None:
        """Waits until nobody holds the lock alone, and holds it beside others."""
        fcntl.flock(self.fileno(), fcntl.LOCK_SH)

    def take(self) -> None:
        """Waits until nobody holds the lock, and holds it alone."""
        fcntl.flock(self.fileno(), fcntl.LOCK_EX)

    def try_take(self) -> bool:
        """Holds the lock alone if nobody holds it, and says whether it does."""
        try:
            fcntl.flock(self.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def fileno(self) -> int:
        """The open file's number, for a process that is to hold the lock as well."""
        if self._number is None:
            raise ValueError(f"The lock {self.path} is closed.")
        return self._number

    def close(self) -> None:
        """Lets go; once is enough, more does no harm."""
        number, self._number = self._number, None
        if number is not None:
            os.close(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def noted_process(path: Path) -> int | None:
    """The process that a lock file names, if it is still the one that has the file open."""
    try:
        pid = int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return pid if _has_open(pid, path) else None


def holders(path: Path) -> tuple[int, ...]:
    """The processes that hold a lock beside others, as far as the kernel shows them to this user."""
    try:
        number = path.stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return ()
    found = [line.split() for line in lines if " FLOCK " in line and " READ " in line and "->" not in line]
    pids = {int(words[4]) for words in found if int(words[5].rpartition(":")[2]) == number}
    return tuple(sorted(pid for pid in pids if _has_open(pid, path)))


def _has_open(pid: int, path: Path) -> bool:
    try:
        return any(_is_same(path, each) for each in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


_all: weakref.WeakSet[Lock] = weakref.WeakSet()


def _forget_in_child() -> None:
    for lock in list(_all):
        with contextlib.suppress(OSError):
            lock.close()
    _opening.release()


os.register_at_fork(before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_forget_in_child)
