"""Creating files and folders in a project. What root creates in a user's project belongs to that user."""

import os
from pathlib import Path


def make_project_folder(path: Path) -> bool:
    """Create the `.detent` folder of a project if it is missing; return True if it was. Git ignores its contents."""
    made = make_folder(path, 0o711)
    if made:
        with os.fdopen(open_file(path / ".gitignore"), "w", encoding="utf-8") as file:
            file.write("*\n")
    return made


def make_folder(path: Path, mode: int) -> bool:
    """Create a folder owned by the owner of its parent if it is missing; return True if it was."""
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
    """Open a file for reading and writing, and create it if it is missing. Links are not followed."""
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
