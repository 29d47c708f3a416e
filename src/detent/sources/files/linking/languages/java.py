"""Java: a class is in the file of its name, in the folder of its package. Where these begin, the file's own tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from detent.documents.parsed import Import, Parsed, Use
from detent.sources.files.linking.consuming import Aliases, Candidate, Elsewhere, member
from detent.sources.files.linking.gathering import IMPORTS, Gathered
from detent.sources.files.linking.paths import folder_of, joined
from detent.sources.files.linking.roots import Roots

_PACKAGE = re.compile(r"^[ \t]*package[ \t]+([\w.]+)[ \t]*;", re.MULTILINE)
_TWINS = ("src/main/java", "src/test/java")
_UMBRELLAS = frozenset({"org.apache", "org.eclipse", "com.google", "com.microsoft", "com.amazonaws", "io.github"})
"""Beginnings that many libraries share; it takes one name more to tell which is meant."""

_LANGUAGE = re.compile(
    "Object|String|StringBuilder|System|Math|Integer|Long|Double|Float|Boolean|Character|Byte|Short|Number|Thread|Void|"
    "Runnable|Iterable|Comparable|CharSequence|AutoCloseable|Throwable|Error|Exception|RuntimeException|Override|"
    "IllegalArgumentException|IllegalStateException|UnsupportedOperationException|Deprecated|FunctionalInterface|"
    "SuppressWarnings|SafeVarargs|Record|Enum|Class"
)
"""Classes of java.lang, which no package of a project is likely to have too."""


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file imports. The classes of its own package are visible without that."""
    packages = _Packages.of(gathered.path, parsed.text)
    for each in parsed.imports:
        _note(gathered, packages, each)
    aliases = Aliases(parsed.imports)

    def elsewhere(use: Use) -> Iterator[Candidate]:
        imports, names = aliases.find(use.name)
        for each in imports:
            if packages.has(_names(each)):
                yield from packages.candidates([*_names(each), *names])
        if not imports and len(names) <= 2 and _is_class(names[0]) and not _LANGUAGE.fullmatch(names[0]):
            yield from packages.candidates([*packages.own, *names])

    return elsewhere


@dataclass(frozen=True, slots=True)
class _Packages:
    """`own` are the names of the file's package, and `roots` the folders in which packages begin."""

    own: Sequence[str]
    roots: Sequence[str]

    @classmethod
    def of(cls, path: str, text: str) -> _Packages:
        """From the path of a file, and from the text that says which package it is of."""
        written = _PACKAGE.search(text)
        own = [name for name in written[1].split(".") if name] if written else []
        folder = f"/{folder_of(path)}"
        tail = "".join(f"/{name}" for name in own)
        if not folder.endswith(tail):
            return cls(own, ())
        root = folder[: len(folder) - len(tail)].strip("/")
        for here, there in (_TWINS, _TWINS[::-1]):
            if f"/{root}".endswith(f"/{here}"):
                return cls(own, (root, root.removesuffix(here) + there))
        return cls(own, (root,))

    def has(self, names: Sequence[str]) -> bool:
        """Tell whether a name is one of this project: its package begins as the file's own does."""
        return bool(self.own) and list(names[:2])[: len(self.own)] == list(self.own[:2])

    def folders(self, names: Sequence[str]) -> Iterator[str]:
        found = (joined(root, "/".join(names)) for root in self.roots)
        return (folder for folder in found if folder)

    def candidates(self, names: Sequence[str]) -> Iterator[Candidate]:
        """The candidates for a full name: its first capital letter is that of the class that has a file."""
        at = next((place for place, name in enumerate(names) if _is_class(name)), len(names) - 1)
        for file in self.folders([*names[:at], f"{names[at]}.java"]):
            yield from member(file, names[at:])


def _note(gathered: Gathered, packages: _Packages, each: Import) -> None:
    """Note one import: of a class, of a package with all its classes, or of a library."""
    names = _names(each)
    if "" in names:
        return
    if not packages.has(names):
        gathered.library("java", _library(names))
    elif each.name == "*" and not any(map(_is_class, names)):
        for folder in packages.folders(names):
            gathered.directory("", IMPORTS, folder)
    else:
        for candidate in packages.candidates(names):
            gathered.file("", IMPORTS, candidate.file)


def _names(each: Import) -> list[str]:
    written = each.module if each.name in {"", "*"} else f"{each.module}.{each.name}"
    return written.split(".")


def _is_class(name: str) -> bool:
    return name[:1].isupper()


def _library(names: Sequence[str]) -> str:
    first = [name for name in names if not _is_class(name)] or list(names)
    return ".".join(first[: 3 if ".".join(first[:2]) in _UMBRELLAS else 2])
