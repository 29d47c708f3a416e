"""A folder as the files source sees it: what is in it, what is left out and why, and which keys its entries have.

What `.gitignore` and `.detentignore` say is heeded in every folder, as Git does, and so are the source's own patterns.
Nothing outside of the root is ever looked at, whatever symbolic links say.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path

from pathspec import GitIgnoreSpec

from detent.documents.formats import format_of
from detent.sources.files.settings import FolderSettings
from detent.sources.source import PartlyUnseen

FILE, IMAGE, DIRECTORY = "File", "ImageFile", "Directory"
"""The labels of a folder's entries."""

IGNORE_FILES = (".gitignore", ".detentignore")
_LARGEST_IGNORE_FILE = 1_000_000
NEVER = frozenset({".git", ".hg", ".svn", ".detent"})
"""Folders of other programs, or of Detent itself: they are not even named."""

_ESCAPED = re.compile(rb"\\x(5c|[89a-f][0-9a-f])")
_LIKE_ESCAPED = re.compile(rb"\\(?=x(?:5c|[89a-f][0-9a-f]))")
_LONGEST_KEY = 2000
TOO_LONG = "Its path is too long."
_SPECIAL = {
    stat.S_IFIFO: "It is a named pipe.",
    stat.S_IFSOCK: "It is a socket.",
    stat.S_IFBLK: "It is a device.",
    stat.S_IFCHR: "It is a device.",
}


class FolderAway(PartlyUnseen):
    """The folder of a source, or one in it, cannot be seen, so nothing can be said about what is in it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder: its path from the root, what the file system says of it, and why nothing but its name is
    taken, if so. `status` is that of what a symbolic link leads to."""

    path: str
    status: os.stat_result | None
    reason: str = ""

    @property
    def is_folder(self) -> bool:
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    @property
    def key(self) -> str:
        return key_of(self.path)

    @property
    def label(self) -> str:
        if self.is_folder:
            return DIRECTORY
        return IMAGE if format_of(self.path).name == "image" else FILE


def _open_itself(path: str, flags: int) -> int:
    """Open a file, but not what a symbolic link leads to; and without waiting for a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _of_its_repository(root: Path) -> list[Path]:
    """The folders above this one that are of the same Git repository, the nearest first."""
    for number, folder in enumerate((root, *root.parents)):
        if (folder / ".git").exists():
            return list(root.parents[:number])
    return []


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _name(listed: tuple[os.DirEntry[str], bool]) -> str:
    return listed[0].name


def key_of(path: str) -> str:
    """The key of a path. Bytes that are no UTF-8 are written as `\\xff`, and what looks like that with `\\x5c` for its
    backslash, so that no two paths have the same. One that would be too long for a key ends with a number."""
    key = _LIKE_ESCAPED.sub(rb"\\x5c", os.fsencode(path)).decode("utf-8", errors="backslashreplace")
    if len(key.encode()) <= _LONGEST_KEY:
        return key
    return f"{key[:400]}…{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def path_of(key: str) -> str:
    """The path whose key this is. Nothing that a key may have in it leads to another folder."""
    return os.fsdecode(_ESCAPED.sub(lambda escaped: bytes([int(escaped[1], 16)]), key.encode()))


class Folder:
    """One root, with what of it is wanted."""

    def __init__(self, settings: FolderSettings) -> None:
        self.root = settings.root
        self._settings = settings
        self._leads_to: Path | None = None
        self._ignored = lru_cache(maxsize=4096)(self._read_ignored)

    @property
    def reading(self) -> str:
        """The settings that decide what is made of a file."""
        return f"{self._settings.passage_size}/{self._settings.most_bytes}"

    def name(self, path: str) -> str:
        """The name of a file or folder."""
        return key_of(self.root.name if path == "." else path.rpartition("/")[2])

    def walk(self) -> Iterator[tuple[Entry, list[Entry]]]:
        """The root and everything in it that is not ignored, each with what is in it; folders before that. If one of
        these cannot be read, that is raised in the end: all others have been named then."""
        if not self.root.is_dir():
            raise FolderAway(f"The folder {self.root} is not there.")
        left = [Entry(".", self.root.stat())]
        away: dict[str, FolderAway] = {}
        while left:
            entry = left.pop()
            inside: list[Entry] = []
            if entry.is_folder and not entry.reason:
                try:
                    inside = self.entries(entry.path)
                except FolderAway as error:
                    if entry.path == ".":
                        raise
                    away[entry.key] = error
            yield entry, inside
            left += reversed(inside)
        if away:
            raise FolderAway(str(next(iter(away.values()))), unseen=tuple(away))

    def entries(self, path: str) -> list[Entry]:
        """The entries of a folder that are not ignored, by name."""
        try:
            with os.scandir(self.at(path)) as listed:
                found = sorted(((each, each.is_dir(follow_symlinks=False)) for each in listed), key=_name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            reason = f"The folder {self.at(path)} cannot be read: {error.strerror or error}."
            raise FolderAway(f"{reason} What is known of it stays; --exclude leaves it out.") from error
        base = "" if path == "." else f"{path}/"
        kept = [each for each, is_folder in found if not self._is_ignored(base, each.name, is_folder)]
        entries = [self._entry(f"{base}{each.name}", partial(each.stat, follow_symlinks=False)) for each in kept]
        return [entry for entry in entries if self._is_included(entry)]

    def entry(self, path: str) -> Entry:
        """The entry of one path, as the file system shows it."""
        return self._entry(path, self.at(path).lstat)

    def _entry(self, path: str, look: Callable[[], os.stat_result]) -> Entry:
        try:
            own = look()
            if not stat.S_ISLNK(own.st_mode):
                return Entry(path, own, self._reason(path, own))
            return self._linked(path, self.at(path))
        except OSError as error:
            return Entry(path, None, f"It cannot be looked at: {error.strerror or error}.")

    def has(self, descriptor: int) -> bool:
        """Tell whether an open file is in this folder, whatever has become of its path since."""
        return Path(f"/proc/self/fd/{descriptor}").readlink().is_relative_to(self._resolved_root())

    def at(self, path: str) -> Path:
        return self.root if path == "." else self.root / path

    def _linked(self, path: str, full: Path) -> Entry:
        """A symbolic link counts as what it leads to, if that is a file of this folder; others are only named."""
        try:
            target = full.resolve(strict=True)
        except (OSError, RuntimeError):  # RuntimeError: links in a circle, in older versions of Python
            return Entry(path, None, "It is a symbolic link that leads nowhere.")
        if not target.is_relative_to(self._resolved_root()):
            return Entry(path, None, "It is a symbolic link that leads out of the folder.")
        status = target.stat()
        if stat.S_ISDIR(status.st_mode):
            return Entry(path, None, "It is a symbolic link to a folder, which is taken where it is.")
        return Entry(path, status, self._reason(path, status))

    def _resolved_root(self) -> Path:
        """The folder to which the root leads. Resolving it takes longer than reading a file, so it is kept until it
        changes."""
        if self._leads_to is None or not _is_same(self.root, self._leads_to):
            self._leads_to = self.root.resolve()
        return self._leads_to

    def _reason(self, path: str, status: os.stat_result) -> str:
        """The reason why nothing but the name of an entry is taken; "" if more is."""
        if path_of(key_of(path)) != path:
            return TOO_LONG
        if path != "." and path.rpartition("/")[2].startswith(".") and not self._settings.hidden:
            return "It is hidden."
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            return _SPECIAL.get(stat.S_IFMT(status.st_mode), "It is no ordinary file.")
        return ""

    def _is_included(self, entry: Entry) -> bool:
        """Tell whether the source's own patterns include it. Folders are searched for what may be in them."""
        if self._excluding.match_file(f"{entry.path}/" if entry.is_folder else entry.path):
            return False
        return entry.is_folder or self._including is None or self._including.match_file(entry.path)

    @cached_property
    def _including(self) -> GitIgnoreSpec | None:
        return GitIgnoreSpec.from_lines(self._settings.include) if self._settings.include else None

    @cached_property
    def _excluding(self) -> GitIgnoreSpec:
        return GitIgnoreSpec.from_lines(self._settings.exclude)

    def _is_ignored(self, base: str, name: str, is_folder: bool) -> bool:
        """The nearest folder whose ignore files say something about it decides."""
        if name in NEVER:
            return True
        path = f"{base}{name}/" if is_folder else f"{base}{name}"
        folder = base
        while True:
            ignored = self._ignored(folder)
            if ignored is not None:
                verdict = ignored.check_file(path[len(folder) :]).include
                if verdict is not None:
                    return bool(verdict)
            if not folder:
                return self._is_ignored_above(path)
            folder = folder.rstrip("/").rpartition("/")[0]
            folder = f"{folder}/" if folder else ""

    def _is_ignored_above(self, path: str) -> bool:
        verdicts = (ignored.check_file(f"{below}{path}").include for below, ignored in self._ignored_above)
        return next((bool(verdict) for verdict in verdicts if verdict is not None), False)

    @cached_property
    def _ignored_above(self) -> list[tuple[str, GitIgnoreSpec]]:
        """The ignore files of folders above the root, in the same repository: the path from there to the root, and
        their patterns. Folders that ignore the root itself are left out: it was asked for by name."""
        above = []
        for folder in _of_its_repository(self.root):
            below = f"{self.root.relative_to(folder).as_posix()}/"
            ignored = self._read_ignored(folder)
            if ignored is not None and not ignored.match_file(below):
                above.append((below, ignored))
        return above

    def _read_ignored(self, folder: str | Path) -> GitIgnoreSpec | None:
        """The patterns of a folder's ignore files."""
        lines: list[str] = []
        for name in IGNORE_FILES:
            try:
                with open(self.root / folder / name, "rb", opener=_open_itself) as file:
                    data = file.read(_LARGEST_IGNORE_FILE + 1)
                if len(data) <= _LARGEST_IGNORE_FILE:
                    lines += data.decode("utf-8", errors="replace").splitlines()
            except OSError:
                continue
        return GitIgnoreSpec.from_lines(lines) if lines else None
