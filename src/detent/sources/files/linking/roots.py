"""The roots of projects: the folder in which a project begins, its name, and the modules at its top. Where a name leads
depends on these.

It is looked up on the disk when it is first asked for, and kept: a `Roots` shows the folder at one moment, and is made
anew for the next. Symbolic links are not followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from detent.sources.files.folder import Entry, Folder, FolderAway
from detent.sources.files.linking.paths import folder_of

_LARGEST_MARKER = 1_000_000

Importable = Callable[[Entry], str]
"""Tells the name by which an entry of a folder can be imported; "" if it cannot be."""


@dataclass(frozen=True)
class Root:
    """The top of a project. `folder` is its path from the source's root, "" for that itself, and `name` what its
    marker calls it. `places` are the modules at its top, each with the folders in which it is."""

    folder: str
    name: str = ""
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """A short text that is the same only if all of this is."""
        places = "\n".join(f"{name}\t{' '.join(folders)}" for name, folders in sorted(self.places.items()))
        return hashlib.sha256(f"{self.folder}\n{self.name}\n{places}".encode(errors="replace")).hexdigest()[:16]


class Roots:
    """The roots of the projects in one folder. Each question to it has a name, as each is answered once."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._base = str(folder.root)
        self._tops: dict[tuple[str, str], str] = {}
        self._roots: dict[tuple[str, ...], Root] = {}
        self._names: dict[tuple[str, str], Sequence[str]] = {}

    def root(self, key: tuple[str, ...], make: Callable[[], Root]) -> Root:
        """The root with this key, made when it is first asked for."""
        if key not in self._roots:
            self._roots[key] = make()
        return self._roots[key]

    def marked(self, question: str, path: str, markers: Sequence[str]) -> str:
        """The nearest folder around a file that has one of the markers; the source's root if none has."""
        return self.climb(question, path, lambda folder: any(self.is_file(under(folder, each)) for each in markers))

    def climb(self, question: str, path: str, is_top: Callable[[str], bool]) -> str:
        """The nearest folder around a file of which something is true; the source's root if it is true of none."""
        passed, folder = [], folder_of(path)
        while folder and (question, folder) not in self._tops and not is_top(folder):
            passed.append(folder)
            folder = folder_of(folder)
        top = self._tops.get((question, folder), folder)
        self._tops.update({(question, each): top for each in (*passed, folder)})
        return top

    def places(self, question: str, folders: Sequence[str], importable: Importable) -> dict[str, tuple[str, ...]]:
        """The names that can be imported from some folders, each with the folders in which it is."""
        places: dict[str, tuple[str, ...]] = {}
        for folder in dict.fromkeys(folders):
            for name in self.names(question, folder, importable):
                places[name] = (*places.get(name, ()), folder)
        return places

    def names(self, question: str, folder: str, importable: Importable) -> Sequence[str]:
        """The names that can be imported from a folder."""
        key = question, folder
        if key not in self._names:
            named = (importable(entry) for entry in self._entries(folder) if not entry.reason)
            self._names[key] = tuple(dict.fromkeys(filter(None, named)))
        return self._names[key]

    def has(self, folder: str, endings: tuple[str, ...]) -> bool:
        """Tell whether a file with one of these endings is in a folder."""
        try:
            with os.scandir(self._folder.at(folder)) as found:
                return any(each.name.endswith(endings) for each in found)
        except OSError:
            return False

    def text(self, path: str) -> str:
        """The text of a small file; "" if it is none."""
        try:
            if self.is_file(path) and self._folder.at(path).stat().st_size <= _LARGEST_MARKER:
                return self._folder.at(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            pass
        return ""

    def is_file(self, path: str) -> bool:
        return self._is(stat.S_ISREG, path)

    def _entries(self, folder: str) -> Iterator[Entry]:
        """The entries of a folder; none if it is none, or cannot be read."""
        if not folder or self._is(stat.S_ISDIR, folder):
            try:
                yield from self._folder.entries(folder or ".")
            except FolderAway:
                return

    def _is(self, mode: Callable[[int], bool], path: str) -> bool:
        try:
            return mode(os.lstat(f"{self._base}/{path}").st_mode)
        except (OSError, ValueError):
            return False


def under(folder: str, name: str) -> str:
    """The path of what has this name in a folder."""
    return f"{folder}/{name}" if folder else name
