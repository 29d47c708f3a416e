"""The account that PostgreSQL runs under: the user's own, or another one for root, whom PostgreSQL refuses."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from detent.errors import ServerFailed

UNPRIVILEGED = ("postgres", "nobody")


@dataclass(frozen=True)
class Account:
    """A user and group of the machine."""

    uid: int
    gid: int

    @classmethod
    def current(cls) -> Self:
        """Return the account of this process."""
        return cls(os.geteuid(), os.getegid())

    @classmethod
    def owning(cls, path: Path) -> Self:
        """Return the account that owns a file or folder."""
        found = path.stat()
        return cls(found.st_uid, found.st_gid)

    @classmethod
    def unprivileged(cls) -> Self:
        """Return the account that serves root's databases."""
        for name in UNPRIVILEGED:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            return cls(entry.pw_uid, entry.pw_gid)
        raise ServerFailed(
            "PostgreSQL does not run as root, and this machine has no account `postgres` or `nobody`. "
            "Add one of them, or run Detent as an ordinary user."
        )

    @property
    def is_current(self) -> bool:
        """True if this process runs under the account."""
        return self.uid == os.geteuid()

    @property
    def name(self) -> str:
        """The account's name, or its number where the machine knows no name."""
        return self.known_name or str(self.uid)

    @property
    def known_name(self) -> str | None:
        """The account's name, or None if the machine knows none."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return None

    def may_reach(self, path: Path) -> bool:
        """True if every folder on the path lets the account through."""
        real = path.resolve()
        return self.uid == 0 or all(self._allowed(folder, stat.S_IXOTH) for folder in real.parents)

    def may_read(self, path: Path) -> bool:
        """True if the account may reach and read a file or list a folder."""
        return self.may_reach(path) and self._allowed(path.resolve(), stat.S_IROTH)

    def _allowed(self, path: Path, right: int) -> bool:
        found = path.stat()
        if found.st_uid == self.uid:
            return bool(found.st_mode & right << 6)
        if found.st_gid == self.gid:
            return bool(found.st_mode & right << 3)
        return bool(found.st_mode & right)


def serving(folder: Path) -> Account:
    """Return the account for a new database: for root, the folder's owner, so that the owner can use it too."""
    current = Account.current()
    if current.uid != 0:
        return current
    owner = Account.owning(folder)
    return owner if owner.uid != 0 else Account.unprivileged()
