"""Making things in a project's folder. What root makes in someone's project is theirs to use."""

import os
from pathlib import Path


def make_project_folder(path: Path) -> bool:
    """Makes the `.detent` folder of a project, unless it is there; returns whether it did. Git never takes what is
    in it."""
    made = make_folder(path, 0o711)
    if made:
        with os.fdopen(open_file(path / ".gitignore"), "w", encoding="utf-8") as file:
            file.write("*\n")
    return made


def make_folder(path: Path, mode: int) -> bool:
    """Makes a folder that belongs to the owner of the one around it, unless it is there; returns whether it did."""
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        return False
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _give(number, path.parent)
    finally:
        os.close(number)
    return True


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
