"""Paths from the root of a source, with "/". The root's own path is "", as that of a folder which others are in."""

from __future__ import annotations

import re

_UNUSABLE = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST = 2000


def folder_of(path: str) -> str:
    """The folder in which a file or folder is."""
    return path.rpartition("/")[0]


def stem_of(path: str) -> str:
    """The name of a file without its ending."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def ending_of(path: str) -> str:
    """The ending of a file's name, in small letters and without the dot; "" if it has none."""
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot else ""


def joined(folder: str, written: str) -> str | None:
    """The path to which a relative path leads from a folder; None if that is out of the root."""
    steps = [step for step in folder.split("/") if step not in {"", "."}]
    for step in written.split("/"):
        if step == "..":
            if not steps:
                return None
            steps.pop()
        elif step not in {"", "."}:
            steps.append(step)
    return "/".join(steps)


def is_key(key: str) -> bool:
    """Tell whether a node may have this key."""
    if not key or len(key) > _LONGEST or _UNUSABLE.search(key):
        return False
    try:
        return len(key.encode()) <= _LONGEST
    except UnicodeEncodeError:
        return False
