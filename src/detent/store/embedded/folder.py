"""Making things in a project's folder. What root makes in someone's project is theirs to use."""

import os
from pathlib import Path


def make_folder(path: Path, mode: int) -> None:
    """Makes a folder that belongs to the owner of the one around it, unless it is there."""
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        return
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _give(number, path.parent)
    finally:
        os.close(number)


def open_file(path: Path, flags: int = 0) -> int:
    """Opens a file for reading and writing, and makes it if it is missing. Links are not followed."""
    flags |= os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        number = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags)
    _give(number, path.parent)
    return number


def _give(number: int, around: Path) -> None:
    owner = around.stat()
    if os.geteuid() == 0 != owner.st_uid:
        os.fchown(number, owner.st_uid, owner.st_gid)
