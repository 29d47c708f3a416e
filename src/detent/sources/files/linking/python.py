"""Python: from modules to the files in which they would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from detent.sources.files.linking.consuming import Aliases, Candidate, Elsewhere, member
from detent.sources.files.linking.gathering import IMPORTS, MOST_CANDIDATES, Gathered
from detent.sources.files.linking.paths import folder_of, joined
from detent.sources.files.linking.roots import Roots
from detent.sources.files.parsing.parsed import Import, Parsed, Use


@dataclass(frozen=True, slots=True)
class _Module:
    """A module by its path without an ending. `is_folder`: it is known to be a package."""

    stem: str
    is_folder: bool = False

    @property
    def files(self) -> list[str]:
        if not self.stem:
            return ["__init__.py"]
        package = f"{self.stem}/__init__.py"
        return [package] if self.is_folder else [f"{self.stem}.py", package]

    def inner(self, name: str) -> _Module:
        return _Module(f"{self.stem}/{name}" if self.stem else name)


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file imports. A name that is imported may be a module, or something in one."""
    modules = _Modules(gathered.path, roots)
    for each in parsed.imports:
        found = modules.find(each.module)
        if found is None:
            if each.module != "__future__":
                gathered.library("python", each.module.partition(".")[0])
            continue
        for file in islice(_files(each, found), MOST_CANDIDATES):
            gathered.file("", IMPORTS, file)
    aliases = Aliases(parsed.imports)

    def elsewhere(use: Use) -> Iterator[Candidate]:
        imports, names = aliases.find(use.name)
        for each in imports:
            for module in modules.find(each.module) or ():
                yield from _candidates(module, each.name, names)

    return elsewhere


class _Modules:
    """Where the modules are that one file imports."""

    def __init__(self, path: str, roots: Roots) -> None:
        self._folder = folder_of(path)
        self._places = roots.python(path).places

    def find(self, written: str) -> Sequence[_Module] | None:
        """The places of a module; None if it is not of this project, nothing if it can be nowhere."""
        names = written.lstrip(".").split(".")
        dots = len(written) - len(written.lstrip("."))
        if names == [""] and dots:
            folder = joined(self._folder, "../" * (dots - 1))
            return [] if folder is None else [_Module(folder, is_folder=True)]
        if not all(name.isidentifier() for name in names):
            return []
        below = "/".join(names)
        if dots:
            stem = joined(self._folder, "../" * (dots - 1) + below)
            return [] if stem is None else [_Module(stem)]
        if names[0] not in self._places:
            return None
        return [_Module(f"{folder}/{below}" if folder else below) for folder in self._places[names[0]]]


def _files(each: Import, found: Sequence[_Module]) -> Iterator[str]:
    for module in found:
        yield from module.files
        if each.name.isidentifier():
            yield from module.inner(each.name).files


def _candidates(module: _Module, name: str, names: Sequence[str]) -> Iterator[Candidate]:
    """What `names` mean after what was imported: `name` of a module, or the module itself if that is empty."""
    if not name and not names:
        return
    for file in module.files:
        yield from member(file, [name, *names] if name else names)
    below = module.inner(name) if name else module.inner(names[0])
    rest = names if name else names[1:]
    if rest:
        for file in below.files:
            yield Candidate(file, ".".join(rest))
