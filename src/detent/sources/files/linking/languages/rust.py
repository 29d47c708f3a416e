"""Rust: from paths of modules to the files in which they would be.

A module is known here by the folder in which its inner modules are: that of `src/net.rs`, and of `src/net/mod.rs`, is
`src/net`. So `super` is the folder above, and a module that is written out in another's file is a folder that is none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from detent.documents.code.languages.rust import LANGUAGE
from detent.documents.code.places import Places
from detent.documents.parsed import Import, Parsed, Part, Use
from detent.sources.files.linking.consuming import Aliases, Candidate, Elsewhere, member
from detent.sources.files.linking.gathering import IMPORTS, MOST_CANDIDATES, Gathered
from detent.sources.files.linking.paths import folder_of, joined, stem_of
from detent.sources.files.linking.roots import Root, Roots, under
from detent.sources.files.linking.scopes import Scopes

_CRATES = frozenset({"tests", "examples", "benches"})
"""Folders of which each file is a crate of its own."""


@dataclass(frozen=True, slots=True)
class _Space:
    """A module that is written out in the file, from the line `start` to before `end`."""

    start: int
    end: int
    title: str


@dataclass(frozen=True, slots=True)
class _Meant:
    """A module, and what in it is meant: nothing for the module itself."""

    module: str
    names: Sequence[str] = ()


def root(roots: Roots, path: str) -> Root:
    """Its `name` is how the crate is called in code."""
    top = roots.marked("rust", path, ("Cargo.toml",))
    return roots.root(("rust", top), lambda: Root(top, _crate(roots, top)))


def _crate(roots: Roots, top: str) -> str:
    try:
        data = tomllib.loads(roots.text(under(top, "Cargo.toml")))
    except (tomllib.TOMLDecodeError, RecursionError):
        return ""
    for table in (data.get("lib"), data.get("package")):
        if isinstance(table, dict) and isinstance(name := table.get("name"), str):
            return name.replace("-", "_")
    return ""


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file uses of its own crate, and of others."""
    scopes = Scopes(LANGUAGE, parsed.parts)
    crate = _Crate(gathered.path, root(roots, gathered.path), scopes, parsed.imports)
    spaces = dict(_spaces(parsed.parts, parsed.imports))
    for each in parsed.imports:
        names, space = _names(each), spaces.get(each.line, "")
        if library := crate.library(names, space):
            gathered.library("rust", library)
        elif (meant := crate.find(names, space, of_module=each.name in {"", "*"})) is not None:
            for file in islice(crate.imported(meant), MOST_CANDIDATES):
                gathered.file("", IMPORTS, file)
    aliases = Aliases(parsed.imports)

    def elsewhere(use: Use) -> Iterator[Candidate]:
        imports, names = aliases.find(use.name)
        for each in imports:
            yield from crate.candidates([*_names(each), *names], spaces.get(each.line, ""))
        # A path that begins with `self` cannot be told from a field of the method's own object.
        if not imports and len(names) > 1 and names[0] != "self":
            yield from crate.candidates(names, scopes.space(use.part))

    return elsewhere


class _Crate:
    """The crate in which one file is. `space` is always the module in the file from which a path is followed."""

    def __init__(self, path: str, root: Root, scopes: Scopes, imports: Sequence[Import]) -> None:
        self._path, self._scopes, self._name = path, scopes, root.name
        self._library = joined(root.folder, "src") or ""
        self._base, is_top = _base(path, root.folder)
        folder, stem = folder_of(path), stem_of(path)
        self._own = folder if is_top or stem == "mod" else (joined(folder, stem) or stem)
        self._inner = {each.alias for each in imports if each.module.startswith("self::") and not each.name}

    def library(self, names: Sequence[str], space: str) -> str:
        """The name of the other crate to which a path leads; "" if it leads to none."""
        first = names[0]
        if first in {"crate", "self", "super", "Self", "", self._name} or self._is_inner(first, space):
            return ""
        return first if first.isidentifier() and not first[0].isupper() else ""

    def find(self, names: Sequence[str], space: str, *, of_module: bool = False) -> _Meant | None:
        """Follow a path through modules to something in the last of them, or to that itself."""
        start = self._start(names, space)
        if start is None:
            return None
        module, rest = start
        at = next((place for place, name in enumerate(rest) if name[:1].isupper()), len(rest) - (not of_module))
        below = joined(module, "/".join(rest[: max(at, 0)]))
        return None if below is None else _Meant(below, rest[max(at, 0) :])

    def imported(self, meant: _Meant) -> Iterator[str]:
        """The files to which a `use` leads; its last name may be that of a module, too."""
        yield from self._files(meant.module)
        if len(meant.names) == 1 and not meant.names[0][:1].isupper():
            yield from self._files(joined(meant.module, meant.names[0]) or "")

    def candidates(self, names: Sequence[str], space: str) -> Iterator[Candidate]:
        """The scopes to which a path leads, in the module's own file or where the module is written out."""
        meant = self.find(names, space)
        if meant is None or not meant.names:
            return
        for file in self._files(meant.module):
            yield from member(file, meant.names)
        around, _, name = meant.module.rpartition("/")
        if meant.module not in {self._own, self._base, self._library, ""}:
            for file in self._files(around):
                yield Candidate(file, ".".join([name, *meant.names]))

    def _start(self, names: Sequence[str], space: str) -> tuple[str, Sequence[str]] | None:
        """The module at which a path starts, and the names after it."""
        here = joined(self._own, space.replace(".", "/")) or ""
        first, rest = names[0], names[1:]
        if first == "crate":
            return None if self._base is None else (self._base, rest)
        if first == "self":
            return here, rest
        if first == "super":
            return self._above(here, rest)
        if self._is_inner(first, space):
            return here, names
        return (self._library, rest) if first == self._name and first else None

    def _above(self, here: str, rest: Sequence[str]) -> tuple[str, Sequence[str]] | None:
        while here and here != self._base:
            here = folder_of(here)
            if not rest or rest[0] != "super":
                return here, rest
            rest = rest[1:]
        return None

    def _files(self, module: str) -> list[str]:
        """The files in which a module may be."""
        if module == self._own:
            return [self._path]
        if module == self._library:
            return [f"{module}/lib.rs", f"{module}/main.rs"]
        return [] if module in {self._base, ""} else [f"{module}.rs", f"{module}/mod.rs"]

    def _is_inner(self, name: str, space: str) -> bool:
        """Tell whether a module or a type of the file itself has this name."""
        return name in self._inner or name in self._scopes or (space != "" and f"{space}.{name}" in self._scopes)


def _base(path: str, root: str) -> tuple[str | None, bool]:
    """The folder in which the modules of a file's crate are, None if that is not known; and whether the file is the
    crate's top."""
    inside = path[len(root) + 1 :] if root else path
    first, *others = inside.split("/")
    if first == "src" and others[:1] == ["bin"] and len(others) > 1:
        return joined(root, "src/bin"), len(others) == 2
    if first == "src" and others:
        return joined(root, "src"), others in (["lib.rs"], ["main.rs"])
    if first in _CRATES and others:
        return joined(root, first), len(others) == 1
    return None, stem_of(path) in {"lib", "main", "build"}


def _names(each: Import) -> list[str]:
    """`r#type` is the name `type`."""
    written = each.module if each.name in {"", "*"} else f"{each.module}::{each.name}"
    return [name.removeprefix("r#") for name in written.removeprefix("::").split("::")]


def _spaces(parts: Sequence[Part], imports: Sequence[Import]) -> Iterator[tuple[int, str]]:
    """For each line with an import, the module that is written out around it."""
    spaces = Places(
        [_Space(part.first, part.last + 1, part.title) for part in parts if part.properties.get("kind") == "module"]
    )
    for line in sorted({each.line for each in imports}):
        found = spaces.at(line)
        if found is not None:
            yield line, found.title
