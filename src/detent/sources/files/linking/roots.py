"""What must be known of other files to tell where a name leads: in which folder a project begins, how it is called, and
which modules are at its top.

It is looked up on the disk when it is first asked for, and kept: a `Roots` shows the folder at one moment, and is made
anew for the next. Symbolic links are not followed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from detent.sources.files.folder import Entry, Folder, FolderAway
from detent.sources.files.linking.paths import ending_of, folder_of, stem_of

_LARGEST_MARKER = 1_000_000
_GO_MODULE = re.compile(r'^[ \t]*module[ \t]+"?([^\s"]+)', re.MULTILINE)
_MARKERS = {
    "python": ("pyproject.toml", "setup.py", "setup.cfg"),
    "javascript": ("package.json",),
    "go": ("go.mod",),
    "rust": ("Cargo.toml",),
    "ruby": ("Gemfile", "Rakefile"),
}
_ENDINGS = {
    "python": "py pyi",
    "javascript": "js jsx mjs cjs ts tsx mts cts",
    "go": "go",
    "rust": "rs",
    "ruby": "rb",
    "documents": "md markdown mdown mkd mdx rst rest html htm xhtml",
}
_BY_ENDING = {ending: ecosystem for ecosystem, endings in _ENDINGS.items() for ending in endings.split()}


@dataclass(frozen=True)
class Root:
    """Where a project begins. `folder` is its path from the source's root, "" for that itself, and `name` what its
    marker calls it. `places` are the modules at its top, each with the folders in which it is."""

    folder: str
    name: str = ""
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """What is the same only if all of this is."""
        places = "\n".join(f"{name}\t{' '.join(folders)}" for name, folders in sorted(self.places.items()))
        return hashlib.sha256(f"{self.folder}\n{self.name}\n{places}".encode(errors="replace")).hexdigest()[:16]


class Roots:
    """The roots of the projects in one folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._base = str(folder.root)
        self._nearest: dict[tuple[str, str], str] = {}
        self._packages: dict[str, str] = {}
        self._roots: dict[tuple[str, ...], Root] = {}
        self._names: dict[tuple[str, str], Sequence[str]] = {}

    @classmethod
    def of(cls, folder: Folder) -> Self:
        return cls(folder)

    def fingerprint(self, path: str) -> str:
        """A short text that is another one when the file at this path may have other links for what is known here."""
        find = {
            "python": self.python,
            "javascript": self.javascript,
            "go": self.go,
            "rust": self.rust,
            "ruby": self.ruby,
            "documents": self.documents,
        }.get(_BY_ENDING.get(ending_of(path), ""))
        return find(path).fingerprint if find is not None else ""

    def documents(self, path: str) -> Root:
        """Its `places` are the Python modules at the root and in its `src`, as documents call them."""
        root = self._root_of("python", folder_of(path))
        places = (root, _under(root, "src"))
        return self._root(("documents", root), lambda: Root(root, "", self._places(places, "python")))

    def python(self, path: str) -> Root:
        """Its `places` are the modules that can be imported from the file at this path: those beside its outermost
        package, and those at the root and in its `src`."""
        folder = folder_of(path)
        root, beside = self._root_of("python", folder), self._beside_package(folder)
        places = (beside, root, _under(root, "src"))
        return self._root(("python", root, beside), lambda: Root(root, "", self._places(places, "python")))

    def javascript(self, path: str) -> Root:
        """Its `places` are the folders at the root and in its `src`, which some projects import by plain names."""
        root = self._root_of("javascript", folder_of(path))
        places = (root, _under(root, "src"))
        return self._root(("javascript", root), lambda: Root(root, "", self._places(places, "javascript")))

    def go(self, path: str) -> Root:
        """Its `name` is the module's path."""
        root = self._root_of("go", folder_of(path))
        return self._root(("go", root), lambda: Root(root, self._go_module(root)))

    def rust(self, path: str) -> Root:
        """Its `name` is how the crate is called in code."""
        root = self._root_of("rust", folder_of(path))
        return self._root(("rust", root), lambda: Root(root, self._crate(root)))

    def ruby(self, path: str) -> Root:
        """Its `places` are what is at the top of `lib`, and of the folders in `app`."""
        root = self._root_of("ruby", folder_of(path))
        return self._root(("ruby", root), lambda: Root(root, "", self._places(self._loaded(root), "ruby")))

    def _loaded(self, root: str) -> list[str]:
        """The folders in which Ruby's constants are looked for."""
        app = _under(root, "app")
        return [_under(root, "lib"), *(_under(app, name) for name in self._names_in(app, "ruby"))]

    def _root(self, key: tuple[str, ...], make: Callable[[], Root]) -> Root:
        if key not in self._roots:
            self._roots[key] = make()
        return self._roots[key]

    def _root_of(self, ecosystem: str, folder: str) -> str:
        """The nearest folder with a marker, from this one outward; the source's root if there is none."""
        passed = []
        while folder and (ecosystem, folder) not in self._nearest:
            passed.append(folder)
            if any(self._is_file(_under(folder, marker)) for marker in _MARKERS[ecosystem]):
                break
            folder = folder_of(folder)
        root = self._nearest.get((ecosystem, folder), folder)
        self._nearest.update({(ecosystem, each): root for each in passed})
        return root

    def _beside_package(self, folder: str) -> str:
        """The folder that has the outermost Python package in which a folder is; without one, that folder itself."""
        passed = [folder]
        while folder and folder not in self._packages and self._is_file(_under(folder, "__init__.py")):
            passed.append(folder)
            folder = folder_of(folder)
        outermost = self._packages.get(folder, folder)
        self._packages.update(dict.fromkeys(passed, outermost))
        return outermost

    def _places(self, folders: Sequence[str], ecosystem: str) -> dict[str, tuple[str, ...]]:
        places: dict[str, tuple[str, ...]] = {}
        for folder in dict.fromkeys(folders):
            for name in self._names_in(folder, ecosystem):
                places[name] = (*places.get(name, ()), folder)
        return places

    def _names_in(self, folder: str, ecosystem: str) -> Sequence[str]:
        """What in a folder can be imported by its name."""
        key = ecosystem, folder
        if key not in self._names:
            entries = [each for each in self._entries(folder) if not each.reason]
            self._names[key] = tuple(dict.fromkeys(self._importable(entries, folder, ecosystem)))
        return self._names[key]

    def _entries(self, folder: str) -> Sequence[Entry]:
        """What is in a folder; nothing if it is none, or cannot be read."""
        if folder and not self._is(stat.S_ISDIR, folder):
            return ()
        try:
            return self._folder.entries(folder or ".")
        except FolderAway:
            return ()

    def _importable(self, entries: Sequence[Entry], folder: str, ecosystem: str) -> Iterator[str]:
        for entry in entries:
            name = entry.key.rpartition("/")[2]
            if entry.is_folder:
                # What is in `src` needs no file of its own to be a package: nothing else is there.
                in_src = folder.rpartition("/")[2] == "src"
                if ecosystem != "python" or in_src or self._has_python(entry.path):
                    yield name
            elif ecosystem != "javascript" and _BY_ENDING.get(ending_of(name)) == ecosystem:
                yield stem_of(name)

    def _has_python(self, folder: str) -> bool:
        try:
            with os.scandir(self._folder.at(folder)) as found:
                return any(each.name.endswith((".py", ".pyi")) for each in found)
        except OSError:
            return False

    def _go_module(self, root: str) -> str:
        found = _GO_MODULE.search(self._text(_under(root, "go.mod")))
        return found[1] if found else ""

    def _crate(self, root: str) -> str:
        try:
            data = tomllib.loads(self._text(_under(root, "Cargo.toml")))
        except (tomllib.TOMLDecodeError, RecursionError):
            return ""
        for table in (data.get("lib"), data.get("package")):
            if isinstance(table, dict) and isinstance(name := table.get("name"), str):
                return name.replace("-", "_")
        return ""

    def _text(self, path: str) -> str:
        """What is in a small file; nothing if it is none."""
        try:
            if self._is_file(path) and self._folder.at(path).stat().st_size <= _LARGEST_MARKER:
                return self._folder.at(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            pass
        return ""

    def _is_file(self, path: str) -> bool:
        return self._is(stat.S_ISREG, path)

    def _is(self, mode: Callable[[int], bool], path: str) -> bool:
        try:
            return mode(os.lstat(f"{self._base}/{path}").st_mode)
        except (OSError, ValueError):
            return False


def _under(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
