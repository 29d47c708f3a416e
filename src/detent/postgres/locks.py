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

from detent.postgres.folder import open_file

_opening = threading.RLock()


class Lock:
    """One open lock file. Closing it releases the lock, unless a process started with it holds it too."""

    def __init__(self, path: Path) -> None:
        """Open the file, and create it if it is missing."""
        self.path = path
        self.parts = 0
        """Number of this process's shares in it, where it is shared."""
        self._number: int | None = None
        with _opening:
            self._number = open_file(path)
            _all.add(self)

    def share(self) -> None:
        """Wait until nobody holds the lock exclusively, and hold it shared."""
        fcntl.flock(self.fileno(), fcntl.LOCK_SH)

    def take(self) -> None:
        """Wait until nobody holds the lock, and hold it exclusively."""
        fcntl.flock(self.fileno(), fcntl.LOCK_EX)

    def try_take(self) -> bool:
        """Hold the lock exclusively if nobody holds it; return True on success."""
        try:
            fcntl.flock(self.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def fileno(self) -> int:
        """Return the open file's number, for a process that is to hold the lock as well."""
        if self._number is None:
            raise ValueError(f"The lock {self.path} is closed.")
        return self._number

    def identity(self) -> tuple[int, int]:
        """Return the file's identity, which does not depend on its name."""
        found = os.fstat(self.fileno())
        return found.st_dev, found.st_ino

    @property
    def closed(self) -> bool:
        return self._number is None

    def close(self) -> None:
        """Release the lock; closing it again does no harm."""
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


class Share:
    """A share in a lock that others hold too.

    All shares of a process are one open file, which is closed with the last of them.
    """

    def __init__(self, path: Path) -> None:
        """Wait until nobody holds the lock exclusively, and hold it shared."""
        self._lock: Lock | None = None
        lock = Lock(path)
        lock.share()
        with _opening:
            self._lock = _shared.setdefault(lock.identity(), lock)
            self._lock.parts += 1
        if self._lock is not lock:
            lock.close()

    def close(self) -> None:
        """Give up this share; closing it again does no harm."""
        with _opening:
            lock, self._lock = self._lock, None
            if lock is None or lock.closed:  # closed: this is a forked child's copy of its parent's share
                return
            lock.parts -= 1
            if lock.parts == 0:
                del _shared[lock.identity()]
                lock.close()

    def __del__(self) -> None:
        self.close()


def noted_process(path: Path) -> int | None:
    """Return the process that a lock file names, if it still has the file open."""
    try:
        pid = int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return pid if _has_open(pid, path) else None


def holders(path: Path) -> tuple[int, ...]:
    """Return the processes that hold a lock shared, as far as the kernel shows them to this user."""
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
_shared: dict[tuple[int, int], Lock] = {}


def _forget_in_child() -> None:
    _shared.clear()
    for lock in list(_all):
        with contextlib.suppress(OSError):
            lock.close()
    _opening.release()


os.register_at_fork(before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_forget_in_child)
