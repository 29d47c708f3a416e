"""Python: from modules to the files in which they would be.

Whether `pkg.mod` is the file `pkg/mod.py` or the package `pkg/mod/__init__.py` is not known where it is imported. A
reference goes to the file, and the package says that it is meant by that: it is its folder's front.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from detent.documents.code.languages import name_of
from detent.documents.parsed import Import, Parsed, Use
from detent.sources.files.folder import Entry
from detent.sources.files.linking.consuming import Aliases, Candidate, Elsewhere, member
from detent.sources.files.linking.fronts import speak_for, take_over
from detent.sources.files.linking.gathering import IMPORTS, MOST_CANDIDATES, Gathered
from detent.sources.files.linking.paths import ending_of, folder_of, joined, stem_of
from detent.sources.files.linking.roots import Root, Roots, under

_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg")
_FRONT = "__init__.py"
_MOST_STARS = 3
_ALWAYS_THERE = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class _Module:
    """A module by its path without an ending. `any_name`: what is in it may be called as classes are, and still be a
    module, as it is far more seldom deep in a project."""

    stem: str
    any_name: bool = False

    def inner(self, name: str) -> _Module | None:
        """The module of this name that may be in it."""
        if not name.isidentifier() or not (self.any_name or name == name.lower()):
            return None
        return _Module(f"{self.stem}/{name}" if self.stem else name)


def root(roots: Roots, path: str) -> Root:
    """Its `places` are the modules that can be imported from the file at this path: those beside its outermost package,
    and those at the root and in its `src`."""
    top = top_of(roots, path)
    beside = roots.climb("package", path, lambda folder: not roots.is_file(under(folder, _FRONT)))
    return roots.root(("python", top, beside), lambda: Root(top, "", modules(roots, [beside, top, under(top, "src")])))


def top_of(roots: Roots, path: str) -> str:
    """The folder in which the project of a file begins."""
    return roots.marked("python", path, _MARKERS)


def modules(roots: Roots, folders: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The modules and packages in some folders."""

    def importable(entry: Entry) -> str:
        folder, _, name = entry.key.rpartition("/")
        if not entry.is_folder:
            return stem_of(name) if name_of(ending_of(name)) == "python" else ""
        # What is in `src` needs no file of its own to be a package: nothing else is there.
        in_src = folder.rpartition("/")[2] == "src"
        return name if in_src or roots.has(entry.path, (".py", ".pyi")) else ""

    return roots.places("python", folders, importable)


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file imports, and what a package is known by."""
    modules = _Modules(gathered.path, roots)
    for each in parsed.imports:
        _note(gathered, each, modules)
    if gathered.path.rpartition("/")[2] == _FRONT:
        _speak(gathered, parsed, modules)
    aliases = Aliases(parsed.imports)
    with_a_star = [each for each in parsed.imports if each.name == "*"][:_MOST_STARS]

    def elsewhere(use: Use) -> Iterator[Candidate]:
        imports, names = aliases.find(use.name)
        if not imports and not names[0].startswith("_") and names[0] not in _ALWAYS_THERE:
            imports = with_a_star
        for each in imports:
            for module in modules.find(each.module) or ():
                yield from modules.candidates(module, each.name.strip("*"), names)

    return elsewhere


def _note(gathered: Gathered, each: Import, modules: _Modules) -> None:
    """Note what is imported. A name may be a module, or something in one."""
    found = modules.find(each.module)
    if found is not None:
        for file in islice(modules.imported(found, each.name), MOST_CANDIDATES):
            gathered.file("", IMPORTS, file)
    elif each.module != "__future__":
        gathered.library("python", each.module.partition(".")[0])


class _Modules:
    """The places of the modules that one file imports."""

    def __init__(self, path: str, roots: Roots) -> None:
        self._path, self._folder = path, folder_of(path)
        self._own = self._folder if path.rpartition("/")[2] == _FRONT else path.removesuffix(".py")
        self._places = root(roots, path).places

    def find(self, written: str) -> Sequence[_Module] | None:
        """The places of a module; None if it is not of this project, nothing if it can be nowhere."""
        names = written.lstrip(".").split(".")
        dots = len(written) - len(written.lstrip("."))
        if names == [""] and dots:
            folder = joined(self._folder, "../" * (dots - 1))
            return [] if folder is None else [_Module(folder, any_name=True)]
        if not all(name.isidentifier() for name in names):
            return []
        below = "/".join(names)
        if dots:
            stem = joined(self._folder, "../" * (dots - 1) + below)
            return [] if stem is None else [_Module(stem)]
        if names[0] not in self._places:
            return None
        folders = self._places[names[0]]
        return [_Module(f"{folder}/{below}" if folder else below, any_name=len(names) == 1) for folder in folders]

    def file(self, module: _Module) -> str:
        """The file of a module, or the one in whose place there may be a package."""
        if module.stem == self._own:
            return self._path
        return f"{module.stem}.py" if module.stem else _FRONT

    def imported(self, found: Sequence[_Module], name: str) -> Iterator[str]:
        """The files that are imported with a name of a module."""
        for module in found:
            yield self.file(module)
            if (inner := module.inner(name)) is not None:
                yield self.file(inner)

    def candidates(self, module: _Module, name: str, names: Sequence[str]) -> Iterator[Candidate]:
        """The candidates for `names` after an import: of `name` of a module, or of the module if that is empty."""
        first, *rest = [name, *names] if name else names or [""]
        if not first:
            return
        yield from member(self.file(module), [first, *rest])
        if rest and (inner := module.inner(first)) is not None:
            yield Candidate(self.file(inner), ".".join(rest))


def _speak(gathered: Gathered, parsed: Parsed, modules: _Modules) -> None:
    """Say what a package is known by, and which names of its modules are names of its own."""
    folder = folder_of(gathered.path)
    stand_in = f"{folder}.py" if folder else ""
    if stand_in:
        speak_for(gathered, stand_in, parsed.parts)
    defined = {part.key for part in parsed.parts}
    for each in _at_the_top(parsed):
        found = [modules.file(module) for module in modules.find(each.module) or ()]
        is_named = each.name.isidentifier() and each.alias.isidentifier() and each.alias not in defined
        if is_named and len(found) == 1 and found[0] != gathered.path:
            take_over(gathered, each.alias, found[0], each.name, stand_in)


def _at_the_top(parsed: Parsed) -> Iterator[Import]:
    """The imports of the file itself, without those that a function makes for its own use."""
    inside = [range(part.first, part.last + 1) for part in parsed.parts if not part.parent]
    return (each for each in parsed.imports if not any(each.line in lines for lines in inside))
