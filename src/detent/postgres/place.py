"""The place of a project's database: in `.detent`, or outside if the server's account cannot reach that.

`.detent/place` points to a home outside, which contains `project.json`: the folder it belongs to. A project may be
moved, with its data inside or outside. A copy of a project whose data lies outside is recognised by the folder's
number in the file system, and refused.
"""

import errno
import hashlib
import json
import os
import shutil
import stat
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from detent.errors import CopiedProject, DataDamaged, DataOfAnotherUser, SocketFolderUnsafe
from detent.postgres import account as accounts
from detent.postgres import home as machine
from detent.postgres.account import Account
from detent.postgres.shutdown import postmaster

PORT = 5432
_SOCKET = f".s.PGSQL.{PORT}"
_LONGEST_SOCKET_BYTES = 107
_IN_THE_WAY = (errno.EEXIST, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM)
_SHORT_ROOT = Path("/", "tmp")  # not the user's runtime folder: that one is removed at logout


@dataclass(frozen=True)
class Place:
    """A project's folder, the home of its data and socket, and the account that serves them."""

    folder: Path
    home: Path
    account: Account

    @property
    def data(self) -> Path:
        """PostgreSQL's data folder."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.folder / "server.log"

    @property
    def socket_folder(self) -> Path:
        """The folder where the server listens. A short one is named by the folder's number, which survives a move."""
        folder = self.home / "socket"
        if _can_name_socket(folder):
            return folder
        found = self.folder.stat()
        name = hashlib.sha256(f"{found.st_dev}:{found.st_ino}".encode()).hexdigest()[:16]
        return _SHORT_ROOT / f"detent-{name}"


def socket_in(folder: Path) -> Path:
    """Return the path of the socket in its folder."""
    return folder / _SOCKET


def lock_path(folder: Path, name: str) -> Path:
    """Return the path of one of a project's lock files."""
    return folder / "locks" / f"{name}.lock"


def find(folder: Path) -> Place | None:
    """Return the place of a project's database, if it has one. Changes nothing."""
    home = _pointed_home(folder)
    if home is not None:
        _refuse_copy(folder, home)
    place = Place(folder, home or folder, Account.current())
    if not place.data.exists():
        return None
    owner = Account.owning(place.data)
    if place.account.uid not in (0, owner.uid):
        raise DataOfAnotherUser(place.data, owner.name)
    return replace(place, account=owner)


def settle(folder: Path) -> Place:
    """Return the place of a project's database, and choose it if it has none. Never called while its server runs."""
    home = _pointed_home(folder)
    if home is None:
        account = _account_for(folder, folder / "data")
        if account.is_current or account.may_reach(folder / "data"):
            return Place(folder, folder, account)
        home = _new_home(folder, account)
    else:
        _refuse_copy(folder, home)
        _claim(folder, home)
    if (folder / "data").exists() and not (home / "data").exists():
        _move(folder / "data", home / "data")
    return Place(folder, home, _account_for(folder, home / "data"))


def private_folder(path: Path, account: Account) -> None:
    """Create a private folder of the account, or verify that an existing one is private."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _IN_THE_WAY and _is_of_others(path, account):
            raise SocketFolderUnsafe(path) from error
        raise
    try:
        owner = os.fstat(number).st_uid
        if owner not in (account.uid, os.geteuid()):
            raise SocketFolderUnsafe(path)
        if owner != account.uid:
            os.fchown(number, account.uid, account.gid)
        os.fchmod(number, 0o700)
    finally:
        os.close(number)


def is_private(path: Path, account: Account) -> bool:
    """True if the path is a folder, not a link to one, that only the account may change."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == account.uid and not found.st_mode & 0o022


def _is_of_others(path: Path, account: Account) -> bool:
    """True if the path is a link, or belongs to another user."""
    found = path.lstat()
    return stat.S_ISLNK(found.st_mode) or found.st_uid not in (account.uid, os.geteuid())


def _account_for(folder: Path, data: Path) -> Account:
    account = accounts.serving(folder)
    if not data.exists():
        return account
    owner, current = Account.owning(data), Account.current()
    if current.uid == 0 == Account.owning(folder).uid:
        if owner.uid != 0:
            return owner
        _give(data, account)  # root copied the project
    elif owner.uid != account.uid:  # root neither serves nor hands over what belongs to another user
        raise DataOfAnotherUser(data, owner.name)
    return account


def _can_name_socket(folder: Path) -> bool:
    try:
        path = str(socket_in(folder)).encode()
    except UnicodeEncodeError:
        return False
    return len(path) <= _LONGEST_SOCKET_BYTES and b"," not in path  # a comma separates hosts and folders


def _pointed_home(folder: Path) -> Path | None:
    try:
        return Path((folder / "place").read_text(encoding="utf-8").rstrip("\n"))
    except FileNotFoundError:
        return None


def _new_home(folder: Path, account: Account) -> Path:
    home = machine.prepare(uuid.uuid4().hex[:16], account)
    _claim(folder, home)
    _write(folder / "place", f"{home}\n")
    return home


def _claim(folder: Path, home: Path) -> None:
    found = folder.stat()
    claim = {"folder": str(folder), "device": found.st_dev, "inode": found.st_ino}
    _write(home / "project.json", json.dumps(claim))


def _refuse_copy(folder: Path, home: Path) -> None:
    pointer = folder / "place"
    try:
        claim = json.loads((home / "project.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataDamaged(home, f"the folder that {pointer} names") from error
    except PermissionError as error:
        raise DataOfAnotherUser(home, Account.owning(home).name) from error
    found, original = folder.stat(), Path(claim["folder"])
    if (found.st_dev, found.st_ino) == (claim["device"], claim["inode"]):
        return
    lives = original != folder and _pointed_home(original) == home
    if lives or postmaster(home / "data") is not None:
        raise CopiedProject(folder, original, home, pointer)


def _write(path: Path, content: str) -> None:
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    with unfinished.open("x", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def _move(data: Path, to: Path) -> None:
    """Move data outside when the account can no longer reach it inside: the project was moved, or made private."""
    try:
        data.rename(to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        owner, unfinished = Account.owning(data), to.with_name("data.new-moved")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(data, unfinished, symlinks=True)
        _give(unfinished, owner)
        os.sync()
        unfinished.rename(to)
        shutil.rmtree(data)


def _give(tree: Path, account: Account) -> None:
    for folder, _, files in os.walk(tree):
        for path in (folder, *(os.path.join(folder, name) for name in files)):  # noqa: PTH118 - thousands of files
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
