"""Go: a package is a folder, so that an import leads to that. A name of a package goes by the folder, and each file
says what it defines: `Dial` of the folder `net` is `net/dial.go#Dial`. So it is found by the other files of the folder
and, if it begins with a capital letter, by those that import it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from detent.documents.parsed import Parsed, Part, Use
from detent.sources.files.linking.consuming import Aliases, Candidate, Elsewhere, member
from detent.sources.files.linking.fronts import visible
from detent.sources.files.linking.gathering import IMPORTS, Gathered
from detent.sources.files.linking.paths import folder_of, joined
from detent.sources.files.linking.roots import Root, Roots, under

_MODULE = re.compile(r'^[ \t]*module[ \t]+"?([^\s"]+)', re.MULTILINE)
_PACKAGE = re.compile(r"^package[ \t]+(\w+)", re.MULTILINE)
_UNNAMED = frozenset({"main", "init", "_"})
"""Functions that nothing calls by their names."""

_BUILT_IN = re.compile(
    "any|append|bool|byte|cap|clear|close|comparable|complex|complex64|complex128|copy|delete|error|float32|float64|imag|"
    "u?int|u?int8|u?int16|u?int32|u?int64|uintptr|len|make|max|min|new|panic|print|println|real|recover|rune|string"
)
"""Types and functions of the language itself."""


def root(roots: Roots, path: str) -> Root:
    """Its `name` is the module's path."""
    top = roots.marked("go", path, ("go.mod",))
    return roots.root(("go", top), lambda: Root(top, _module(roots, top)))


def _module(roots: Roots, top: str) -> str:
    found = _MODULE.search(roots.text(under(top, "go.mod")))
    return found[1] if found else ""


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file imports: folders of its own module, and other packages; and what it adds to its own."""
    own = root(roots, gathered.path)
    folders = {each.module: _folder(own, each.module) for each in parsed.imports}
    for module, folder in folders.items():
        if folder is not None:
            gathered.directory("", IMPORTS, folder)
        elif not _is_own(own, module) and not module.startswith(("/", ".")):
            gathered.library("go", module)
    package = _package(gathered.path, parsed.text)
    if package and not gathered.path.endswith("_test.go"):
        _define(gathered, package, parsed.parts)
    aliases = Aliases(parsed.imports)

    def elsewhere(use: Use) -> Iterator[Candidate]:
        imports, names = aliases.find(use.name)
        for each in imports:
            folder = folders[each.module]
            if folder is not None and names and names[0][:1].isupper():
                yield from member(folder or ".", names)
        if package and not imports and not _BUILT_IN.fullmatch(names[0]):
            yield Candidate(package, ".".join(names))

    return elsewhere


def _define(gathered: Gathered, package: str, parts: Sequence[Part]) -> None:
    """Say what a file adds to its package."""
    for part in visible(parts):
        if part.key not in _UNNAMED:
            gathered.scope_alias(package, part.key, gathered.path, part.key)


def _is_own(root: Root, module: str) -> bool:
    return bool(root.name) and f"{module}/".startswith(f"{root.name}/")


def _folder(root: Root, module: str) -> str | None:
    """The folder of a package of the own module; None if it is none of these."""
    return joined(root.folder, module[len(root.name) :]) if _is_own(root, module) else None


def _package(path: str, text: str) -> str:
    """The place by which the names of a file's package go; "" if that is not known. A program may be in the folder of
    another package, and a test may be of a package of its own, which sees nothing without importing it."""
    written = _PACKAGE.search(text)
    if written is None or (path.endswith("_test.go") and written[1].endswith("_test")):
        return ""
    folder = folder_of(path) or "."
    return f"{folder}:main" if written[1] == "main" else folder
